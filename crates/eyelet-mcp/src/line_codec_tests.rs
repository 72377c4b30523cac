use super::*;

fn lines(chunks: &[&[u8]]) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |line: Line<'_>| {
        found.push(match line {
            Line::Whole(line) if line.len() > 100 => format!("{} bytes", line.len()),
            Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
            Line::TooLong => "too long".to_owned(),
        });
    };
    let mut decoder = LineDecoder::default();
    for chunk in chunks {
        decoder.push(chunk, &mut add);
    }
    decoder.finish(&mut add);
    found
}

#[test]
fn lines_are_complete_wherever_the_chunks_end() {
    assert_eq!(lines(&[b"a\nb", b"c\n", b"", b"\nd"]), ["a", "bc", "", "d"]);
    assert_eq!(lines(&[b"a\n"]), ["a"]);
    assert_eq!(lines(&[]), [""; 0]);
}

#[test]
fn a_line_above_the_limit_is_reported_once_and_skipped() {
    let long = vec![b'x'; MAX_LINE_BYTES];
    let whole = format!("{MAX_LINE_BYTES} bytes");
    assert_eq!(lines(&[&long, b"\nnext\n"]), [whole.as_str(), "next"]);
    assert_eq!(lines(&[&long, b"x\nnext\n"]), ["too long", "next"]);
    assert_eq!(lines(&[&long, b"x", &long, &long, b"\nnext"]), ["too long", "next"]);
    assert_eq!(lines(&[&long, b"x", &long]), ["too long"]);
}
