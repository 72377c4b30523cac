//! The names of the reply forms.

use super::*;

#[test]
fn each_reply_form_parses_from_what_it_displays() {
    for (form, name) in ReplyForm::ALL.iter().zip(ReplyForm::NAMES) {
        assert_eq!(form.to_string(), *name);
        assert_eq!(name.parse().as_ref(), Ok(form));
    }
    let error = "xml".parse::<ReplyForm>().map_err(|error| error.to_string());
    let expected = "unknown reply form `xml`, expected one of text, envelope, structured";
    assert_eq!(error, Err(expected.to_owned()));
}
