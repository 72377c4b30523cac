use super::*;

/// The line after `print` was called for each character; `\r` and `\t` act as in a terminal.
fn printed(text: &str) -> TerminalLine {
    let mut line = TerminalLine::default();
    for character in text.chars() {
        match character {
            '\r' => line.carriage_return(),
            '\t' => assert_eq!(line.tab(), Place::Line),
            character => assert_eq!(line.print(character), Place::Line),
        }
    }
    line
}

fn text(mut line: TerminalLine) -> String {
    let mut text = String::new();
    line.finish(&mut text);
    text
}

#[test]
fn tabs_move_the_cursor_and_stay_in_the_text() {
    assert_eq!(text(printed("a\tb")), "a\tb");
    assert_eq!(text(printed("a\tb\rX")), "X\tb");
    // A tab does not overwrite.
    assert_eq!(text(printed("abcdefghij\r\tX")), "abcdefghXj");
    assert_eq!(text(printed("abc\r\tX")), "abc\tX");
    assert_eq!(printed("abc\r\tX").redraws(), 0);
    // Text in the columns of a tab replaces it by spaces.
    assert_eq!(text(printed("a\tb\rXYZ")), "XYZ     b");
}

#[test]
fn wide_characters_have_two_columns() {
    assert_eq!(text(printed("你好\rab")), "ab好");
    assert_eq!(text(printed("你好!\rabc")), "abc !");
    assert_eq!(text(printed("abcd\r你")), "你cd");
    let mut line = printed("你好");
    line.move_to(1);
    assert_eq!(line.print('x'), Place::Line);
    assert_eq!(text(line), " x好");
}

#[test]
fn accents_belong_to_the_character_before_them() {
    assert_eq!(text(printed("e\u{301}a\rX")), "Xa");
    assert_eq!(text(printed("ae\u{301}\rX")), "Xe\u{301}");
    assert_eq!(text(printed("\u{301}a")), "\u{301}a");
    let mut line = printed("ae\u{301}");
    line.move_to(1);
    line.erase_to_end();
    assert_eq!(text(line), "a");
}

#[test]
fn trailing_blanks_stay_but_columns_without_text_do_not() {
    assert_eq!(text(printed("a  ")), "a  ");
    let mut line = printed("abc");
    line.erase_to_start();
    assert_eq!(text(line), "");
    let mut line = printed("abc");
    line.move_to(1);
    line.erase_to_start();
    assert_eq!(text(line), "  c");
    let mut line = printed("abc");
    line.erase_all();
    assert_eq!(line.print('d'), Place::Line);
    assert_eq!(text(line), "   d");
}

#[test]
fn only_an_erase_that_removes_text_is_a_redraw() {
    let mut line = printed("abc");
    line.erase_to_end();
    line.carriage_return();
    assert_eq!(line.redraws(), 0);
    line.erase_to_end();
    line.erase_all();
    line.carriage_return();
    assert_eq!(line.redraws(), 1);
    line.erase_all();
    line.carriage_return();
    assert_eq!(line.redraws(), 1);
}

#[test]
fn marks_use_bounded_memory() {
    let mut line = TerminalLine::default();
    let beyond = (0..MAX_COLUMNS).filter(|_| line.print('\u{301}') == Place::Beyond).count();
    assert_eq!(beyond, MAX_COLUMNS / 2);
    assert_eq!(text(line).len(), MAX_COLUMNS);
}
