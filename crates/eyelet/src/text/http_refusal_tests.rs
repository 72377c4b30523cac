use super::find;

#[test]
fn the_status_of_a_refused_request_is_found() {
    for (line, status) in [
        ("npm error code E401", 401),
        ("npm error 403 403 Forbidden - GET https://npm.example/tiny", 403),
        ("ERROR: HTTP error 401 while getting https://pypi.example/simple/tiny/", 401),
        ("WARNING: 401 Error, Credentials not correct for https://pypi.example/simple/tiny/", 401),
        (
            "  failed to get successful HTTP response from `https://crates.example/ti/ny/tiny`, got 401",
            401,
        ),
        (
            "fatal: unable to access 'https://git.example/a/': The requested URL returned error: 403",
            403,
        ),
        (
            "fatal: could not read Username for 'https://git.example': terminal prompts disabled",
            401,
        ),
        ("curl: (22) The requested URL returned error: 401", 401),
        ("  no token found for `own`, please run `cargo login --registry own`", 401),
        ("  authenticated registries require a credential-provider to be configured", 401),
        ("  File \"/v/pip/_internal/network/auth.py\", line 393, in handle_401", 401),
        ("go: reading https://go.example/tiny/@v/list: 403 Forbidden", 403),
    ] {
        assert_eq!(find(line), Some(status), "{line}");
    }
}

#[test]
fn other_numbers_are_no_status() {
    for line in [
        "src/http.c:401: error: expected ';'",
        "at line 403, in main",
        "connect to http://localhost:401/ failed",
        "HTTP/1.1 404 Not Found",
        "",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}
