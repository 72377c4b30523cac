//! `eyelet stats --html`: the page, also in a real browser.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::json;
use testkit::TempTree;
use testkit::cli::eyelet;

use crate::stats::tree;

/// Writes the page of a record and returns it.
fn page(tree: &TempTree) -> String {
    assert_eq!(eyelet(tree, ["stats", "calls", "--html", "page.html"]), "exit 0\n");
    fs::read_to_string(tree.path().join("page.html")).unwrap()
}

/// What would run or load something in a page that does not escape it.
fn hostile_texts(address: &str) -> [String; 5] {
    [
        format!("<script src=\"http://{address}/script\"></script>"),
        "</title></style><script>document.title = 'changed'; throw 'ran'</script>".to_owned(),
        format!("\"><img src=http://{address}/image onerror=\"document.title = 'changed'\">"),
        format!("<link rel=stylesheet href=http://{address}/style>"),
        "&lt;b&gt; ' onload='alert(1)' {{ \u{202e}\u{1b}]0;x\u{7}".to_owned(),
    ]
}

/// A record that has each text wherever text is.
fn hostile_tree(address: &str) -> TempTree {
    let tree = TempTree::new("");
    let mut record = String::new();
    for text in hostile_texts(address) {
        let path = format!("/{text}");
        for call in [
            json!({"tool": text, "path": path, "error": text, "tokens": 7}),
            json!({"tool": "bash", "path": path, "command": text, "refusals": [text], "tokens": 9}),
            json!({"tool": "read", "path": path, "range": [1, 2]}),
            json!({"tool": "read", "path": path, "range": [1, 2]}),
            json!({"tool": "grep_files", "path": path, "found": 0}),
        ] {
            let mut call = call;
            call["time"] = json!("2026-11-18T20:05:17.123Z");
            record.push_str(&format!("{call}\n"));
        }
    }
    tree.file("calls", record);
    tree
}

#[test]
fn page_has_the_numbers_of_the_report() {
    let page = page(&tree());
    for expected in [
        "10 calls put about <strong>9,278 tokens</strong>",
        "<strong>207.6 kB</strong>",
        "<p class=\"number\">9,278</p>",
        "<code>curl https://registry.example/index</code>",
        "sandbox blocked: connect registry.example:443",
        "<span class=\"range\">:1-200</span>",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
}

#[test]
fn page_loads_and_runs_nothing() {
    let page = page(&tree());
    assert!(page.contains(
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\""
    ));
    for forbidden in ["<script", "<img", "<iframe", "src=", "url(", "@import", " on"] {
        let tags = page.split('<').filter_map(|part| part.split_once('>')).map(|(tag, _)| tag);
        let tags: String = tags.map(|tag| format!("<{tag}>")).collect();
        assert!(!tags.contains(forbidden), "{forbidden}");
    }
    // The only address is the empty icon.
    assert_eq!(page.matches("href=").count(), 1);
    assert!(page.contains("href=\"data:,\""));
    let (_, style) = page.split_once("<style>").unwrap();
    let (style, _) = style.split_once("</style>").unwrap();
    assert!(!style.contains("url(") && !style.contains("@import"));
}

#[test]
fn page_escapes_the_record() {
    let page = page(&hostile_tree("host.invalid"));
    assert!(
        !page.contains("<script") && !page.contains("<img") && page.matches("<link").count() == 1
    );
    assert!(
        page.contains("<code>&lt;script src=&quot;http://host.invalid/script&quot;&gt;"),
        "{page}"
    );
    assert!(page.contains("&amp;lt;b&amp;gt;"));
    assert!(page.contains(r"\u{202e}\u{1b}]0;x\u{7}"));
    assert_eq!(page.chars().find(|next| eyelet::is_escaped(*next) && *next != '\n'), None);
}

#[test]
fn page_replaces_a_file_and_is_private() {
    let tree = tree();
    page(&tree);
    let out = tree.path().join("page.html");
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&out, "x".repeat(1_000_000)).unwrap();
    assert!(page(&tree).ends_with("</html>"));
}

#[test]
fn page_of_an_empty_record_says_so() {
    let tree = TempTree::new("");
    tree.file("calls", "");
    let page = page(&tree);
    assert!(page.contains("No calls in calls: the record is empty."));
    assert!(!page.contains("class=\"card\""));
}

/// What a browser did with a page.
struct Visit {
    dom: String,
    /// Errors of scripts and of the Content-Security-Policy.
    console: Vec<String>,
    screenshot: Vec<u8>,
}

/// Opens a page in Chromium; `scheme` is 0 for dark and 1 for light.
fn visit(tree: &TempTree, page: &Path, scheme: u8) -> Visit {
    let screenshot = tree.path().join("screenshot.png");
    let run = |action: &str| {
        let profile = tree.dir("profile");
        let output = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--window-size=1280,2000"])
            .args(["--enable-logging=stderr", "--log-level=0"])
            .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(action)
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::remove_dir_all(profile).unwrap();
        output
    };
    let output = run("--dump-dom");
    run(&format!("--screenshot={}", screenshot.display()));
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let console = log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
    Visit {
        dom: String::from_utf8(output.stdout).unwrap(),
        console: console.collect(),
        screenshot: fs::read(screenshot).unwrap(),
    }
}

/// A web server that has no page and remembers what it was asked for.
struct WebServer {
    address: SocketAddr,
    requests: Receiver<String>,
}

impl WebServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::channel();
        // It ends with the test program.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = String::new();
                // A browser may connect and send nothing.
                let _ = BufReader::new(&stream).read_line(&mut request);
                let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
                let _ = sender.send(request.trim_end().to_owned());
            }
        });
        WebServer { address, requests }
    }

    /// The requests so far.
    fn requests(&self) -> Vec<String> {
        const LAST: &str = "GET /last";
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(format!("{LAST}\n").as_bytes()).unwrap();
        self.requests.iter().take_while(|request| request != LAST).collect()
    }
}

#[test]
#[ignore = "extended: needs chromium"]
fn chromium_shows_the_page_in_both_colour_schemes() {
    if testkit::lacks("chromium") {
        return;
    }
    let tree = tree();
    page(&tree);
    let file = tree.path().join("page.html");
    let [dark, light] = [0, 1].map(|scheme| visit(&tree, &file, scheme));
    for visit in [&dark, &light] {
        assert!(visit.dom.contains("<p class=\"number\">9,278</p>"), "{}", visit.dom);
        assert!(visit.dom.contains("<code>cargo test</code>"), "{}", visit.dom);
        assert_eq!(visit.console, [""; 0]);
    }
    assert_ne!(dark.screenshot, light.screenshot);
}

#[test]
#[ignore = "extended: needs chromium"]
fn chromium_requests_and_runs_nothing_of_a_hostile_record() {
    if testkit::lacks("chromium") {
        return;
    }
    let server = WebServer::start();
    let address = server.address.to_string();
    let tree = hostile_tree(&address);
    page(&tree);
    let safe = visit(&tree, &tree.path().join("page.html"), 1);
    assert!(safe.dom.contains("<title>Context report</title>"), "{}", safe.dom);
    for element in ["<script", "<img"] {
        assert!(!safe.dom.contains(element), "{}", safe.dom);
    }
    assert_eq!(safe.console, [""; 0]);
    assert_eq!(server.requests(), [""; 0]);
    // These checks fail for a page that does not escape the same texts.
    let page = tree.file("unsafe.html", hostile_texts(&address).concat());
    let unsafe_visit = visit(&tree, &page, 1);
    assert!(unsafe_visit.dom.contains("<title>changed</title>"), "{}", unsafe_visit.dom);
    assert!(unsafe_visit.dom.contains("<script"));
    assert_ne!(unsafe_visit.console, [""; 0]);
    let requests = server.requests();
    assert!(requests.iter().any(|request| request.starts_with("GET /image")), "{requests:?}");
}
