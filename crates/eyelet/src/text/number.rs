//! Numbers in sentences.

/// Renders a number with commas between groups of three digits. Use this only for counts: models
/// copy line numbers and offsets into arguments, which must not contain commas.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and its noun: `1 file`, `5,310 files`.
pub(crate) fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

/// Renders a size in bytes, rounded: `212 bytes`, `1.2 MB`.
pub fn rounded_size(bytes: u64) -> String {
    let mut size = bytes as f64;
    let mut unit = None;
    for larger in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        // The next smaller value would be shown as 1000.0.
        if size < if unit.is_none() { 1000.0 } else { 999.95 } {
            break;
        }
        size /= 1000.0;
        unit = Some(larger);
    }
    match unit {
        Some(unit) => format!("{size:.1} {unit}"),
        None => counted(bytes, "byte", "bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::rounded_size;

    #[test]
    fn a_size_has_one_decimal_and_the_largest_unit_that_fits() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1000, "1.0 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (1_234_567, "1.2 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(rounded_size(bytes), shown);
        }
    }
}
