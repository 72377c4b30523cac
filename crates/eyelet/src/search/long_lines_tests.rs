use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;

use super::*;

/// Literals that follow each other, overlap, and are at both ends of lines and pieces.
#[test]
fn every_read_size_gives_the_same_result() {
    let patterns =
        ["abb", "ab|ba+b|aab", "a[ab]b", "(?i)ABBA", "abab$", r"\babb", "b", "^ab", "aaaaaaaab"];
    let mut random = fastrand::Rng::with_seed(3);
    for pattern in patterns {
        let lines = LongLines::new(pattern).unwrap();
        let matcher = RegexMatcher::new_line_matcher(pattern).unwrap();
        for _ in 0..400 {
            let alphabet = if random.bool() { b"aaab\n" } else { b"ab  \n" };
            let length = random.usize(..60);
            let text: Vec<u8> = (0..length).map(|_| alphabet[random.usize(..5)]).collect();
            let expected = text
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .any(|line| matcher.is_match(line).unwrap());
            let mut buffer = vec![0; 1 + random.usize(..20)];
            for origin in [Origin::Named, Origin::Walked] {
                let answer = lines.search(text.as_slice(), origin, &mut buffer).unwrap();
                let text = String::from_utf8_lossy(&text);
                assert_eq!(answer, Some(expected), "{pattern} in {text:?} by {}", buffer.len());
            }
        }
    }
}

/// A NUL ends a line of a named file, and the search of a walked file.
#[test]
fn a_nul_in_skipped_bytes_is_detected() {
    let lines = LongLines::new("abb").unwrap();
    let search = |text: &[u8], origin| lines.search(text, origin, &mut [0; 16]).unwrap();
    assert!(lines.prefixes.is_some());
    let text = b"xxxxxxxxxxxxxxxxxxxxxx\0xxxxxxxxxxxabbxxxxxxxxxxxxxxx";
    assert_eq!(search(text, Origin::Named), Some(true));
    assert_eq!(search(text, Origin::Walked), Some(false));
    assert_eq!(search(b"xxxxxxxxxxxxa\0bbxxxxx", Origin::Named), Some(false));
}
