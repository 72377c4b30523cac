use super::*;

fn lines(pieces: &[&[u8]]) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |line: Line<'_>| {
        found.push(match line {
            Line::Whole(line) if line.len() > 100 => format!("{} bytes", line.len()),
            Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
            Line::TooLong => "too long".to_owned(),
        });
    };
    let mut splitter = Splitter::default();
    for piece in pieces {
        splitter.push(piece, &mut add);
    }
    splitter.finish(&mut add);
    found
}

#[test]
fn lines_come_whole_however_the_stream_is_cut() {
    assert_eq!(lines(&[b"a\nb", b"c\n", b"", b"\nd"]), ["a", "bc", "", "d"]);
    assert_eq!(lines(&[b"a\n"]), ["a"]);
    assert_eq!(lines(&[]), [""; 0]);
}

#[test]
fn a_line_above_the_limit_is_told_once_and_the_next_one_comes() {
    let long = vec![b'x'; MAX_LINE_BYTES];
    let whole = format!("{MAX_LINE_BYTES} bytes");
    assert_eq!(lines(&[&long, b"\nnext\n"]), [whole.as_str(), "next"]);
    assert_eq!(lines(&[&long, b"x\nnext\n"]), ["too long", "next"]);
    assert_eq!(lines(&[&long, b"x", &long, &long, b"\nnext"]), ["too long", "next"]);
    assert_eq!(lines(&[&long, b"x", &long]), ["too long"]);
}
