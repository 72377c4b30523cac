use super::{LineSplitter, MAX_PATH_BYTES};

#[test]
fn lines_are_complete_however_the_stream_is_split() {
    let mut stream = b"one\n\ntwo\n".to_vec();
    stream.extend(vec![b'x'; MAX_PATH_BYTES + 1]);
    stream.extend(b"\nlast\nunfinished");
    for size in [1, 2, 3, 1000, stream.len()] {
        let mut lines = LineSplitter::default();
        let mut found = Vec::new();
        for piece in stream.chunks(size) {
            lines.feed(piece, |line| found.push(String::from_utf8_lossy(line).into_owned()));
        }
        assert_eq!(found, ["one", "", "two", "last"]);
    }
}
