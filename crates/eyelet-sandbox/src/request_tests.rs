//! The names of the settings.

use expect_test::expect;

use super::*;

#[test]
fn settings_parse_from_what_they_display() {
    let choices =
        [TierChoice::Best, TierChoice::Only(Tier::Namespaces), TierChoice::Only(Tier::Landlock)];
    assert_eq!(choices.map(|choice| choice.to_string()), ["best", "namespaces", "landlock"]);
    for choice in choices {
        assert_eq!(choice.to_string().parse(), Ok(choice));
    }
    for network in [Network::Off, Network::On] {
        assert_eq!(network.to_string().parse(), Ok(network));
    }
    for strictness in [Strictness::Ordinary, Strictness::Strict] {
        assert_eq!(strictness.to_string().parse(), Ok(strictness));
    }
}

#[test]
fn an_unknown_setting_error_lists_the_names() {
    let errors = [
        "x".parse::<Network>().map(|_| ()),
        "x".parse::<Strictness>().map(|_| ()),
        "x".parse::<Tier>().map(|_| ()),
        "x".parse::<TierChoice>().map(|_| ()),
    ];
    let errors =
        errors.map(|error| error.map_or_else(|error| error.to_string(), |()| String::new()));
    expect![[r#"
        unknown variant `x`, expected `off` or `on`
        unknown variant `x`, expected `ordinary` or `strict`
        unknown variant `x`, expected `namespaces` or `landlock`
        unknown variant `x`, expected `namespaces` or `landlock`, or `best`"#]]
    .assert_eq(&errors.join("\n"));
}
