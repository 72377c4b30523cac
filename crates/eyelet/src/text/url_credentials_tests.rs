use super::has_credentials;

#[test]
fn user_names_and_passwords_in_addresses_are_credentials() {
    for value in [
        "https://me:secret@pypi.example/simple",
        "https://token@pypi.example/simple",
        "me:secret@proxy.example:3128",
        "http://me:sec/ret@proxy.example",
        "https://one.example/simple https://me:secret@two.example/simple",
        "https://one.example,https://me:secret@two.example|direct",
        "\"http://me:secret@proxy.example\"",
    ] {
        assert!(has_credentials(value), "{value}");
    }
}

#[test]
fn addresses_without_a_user_are_no_credentials() {
    for value in [
        "https://pypi.example:8443/simple",
        "http://[::1]:3128",
        "http://[::1]/@own/package",
        "https://npm.example/@own/",
        "https://npm.example:8443/@own/",
        "localhost,127.0.0.1,.example.org",
        "https://proxy.golang.example,direct",
        "/etc/ssl/certs/own.pem",
        "true",
        "",
    ] {
        assert!(!has_credentials(value), "{value}");
    }
}
