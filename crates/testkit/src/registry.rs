//! A local server with one package for each package manager.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::tree::TempTree;

/// Serves the files of a directory over HTTP, on a port of the loopback interface. Paths below `/private/` require
/// credentials, which nobody has.
pub struct Registry {
    files: TempTree,
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Registry {
    /// Starts a server without packages.
    pub fn start() -> Self {
        let files = TempTree::new("");
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (folder, seen) = (files.path().to_owned(), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let (folder, seen) = (folder.clone(), Arc::clone(&seen));
                // A client that disconnects does not matter.
                std::thread::spawn(move || drop(answer(stream, &folder, &seen)));
            }
        });
        Registry { files, port, requests }
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// The address without the scheme, as npm names a registry.
    pub fn host(&self, path: &str) -> String {
        format!("127.0.0.1:{}/{path}", self.port)
    }

    /// All requests so far, with their headers.
    pub fn requests(&self) -> String {
        self.requests.lock().expect("no request panics").join("\n")
    }

    /// Adds the npm package `@own/tiny` to the registry at `npm/`.
    pub fn add_npm(&self) {
        let package = json!({"name": "@own/tiny", "version": "1.0.0", "main": "index.js"});
        self.files.file("source/package/package.json", package.to_string());
        self.files.file("source/package/index.js", "module.exports = 'tiny';\n");
        self.pack("package", "files/tiny-1.0.0.tgz");
        let mut version = package.clone();
        version["dist"] = json!({"tarball": self.url("files/tiny-1.0.0.tgz")});
        let document = json!({
            "name": "@own/tiny",
            "dist-tags": {"latest": "1.0.0"},
            "versions": {"1.0.0": version},
        });
        self.files.file("npm/@own/tiny", document.to_string());
    }

    /// Adds the wheel `tiny-wheel` to the index at `simple/`. Needs Python.
    pub fn add_wheel(&self) {
        let info = "tiny_wheel-1.0.dist-info";
        self.files.file("wheel/tiny_wheel.py", "NAME = 'tiny'\n");
        self.files.file(
            format!("wheel/{info}/METADATA"),
            "Metadata-Version: 2.1\nName: tiny-wheel\nVersion: 1.0\n",
        );
        self.files.file(
            format!("wheel/{info}/WHEEL"),
            "Wheel-Version: 1.0\nGenerator: testkit\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        );
        self.files.file(
            format!("wheel/{info}/RECORD"),
            format!("tiny_wheel.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n"),
        );
        self.zip("wheel", ".", "files/tiny_wheel-1.0-py3-none-any.whl");
        let link = "<a href=\"/files/tiny_wheel-1.0-py3-none-any.whl\">tiny_wheel</a>";
        self.files.file("simple/tiny-wheel/index.html", link);
    }

    /// Adds the crate `tinycrate` to the sparse registry at `crates/`.
    pub fn add_crate(&self) {
        self.files.file(
            "source/tinycrate-1.0.0/Cargo.toml",
            "[package]\nname = \"tinycrate\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
        );
        self.files.file(
            "source/tinycrate-1.0.0/src/lib.rs",
            "pub fn name() -> &'static str { \"tiny\" }\n",
        );
        self.pack("tinycrate-1.0.0", "crates/dl/tinycrate/1.0.0/download");
        let sum =
            output(Command::new("sha256sum").arg(self.at("crates/dl/tinycrate/1.0.0/download")));
        let sum = sum.split_whitespace().next().expect("sha256sum prints the sum");
        let line = json!({
            "name": "tinycrate", "vers": "1.0.0", "deps": [], "cksum": sum, "features": {},
            "yanked": false,
        });
        self.files.file("crates/config.json", json!({"dl": self.url("crates/dl")}).to_string());
        self.files.file("crates/ti/ny/tinycrate", format!("{line}\n"));
    }

    /// Adds the module `own.example/tiny` to the Go proxy at `go/`. Needs Python.
    pub fn add_module(&self) {
        let module = "module own.example/tiny\n\ngo 1.18\n";
        let versions = "go/own.example/tiny/@v";
        let source = "module/own.example/tiny@v1.0.0";
        self.files.file(format!("{source}/go.mod"), module);
        self.files.file(format!("{source}/tiny.go"), "package tiny\n\nconst Name = \"tiny\"\n");
        self.files.file(format!("{versions}/list"), "v1.0.0\n");
        self.files.file(format!("{versions}/v1.0.0.mod"), module);
        let info = json!({"Version": "v1.0.0", "Time": "2024-01-01T00:00:00Z"});
        self.files.file(format!("{versions}/v1.0.0.info"), info.to_string());
        self.zip("module", "own.example", &format!("{versions}/v1.0.0.zip"));
    }

    /// Adds a repository with one commit, to be cloned from `repository.git`.
    pub fn add_repository(&self) {
        let git = |folder: &str, arguments: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(self.files.dir(folder))
                .args(arguments)
                .env("HOME", self.files.beside());
            for role in ["AUTHOR", "COMMITTER"] {
                git.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "a@b");
            }
            output(&mut git)
        };
        git("source/repository", &["init", "-q", "-b", "main"]);
        self.files.file("source/repository/file", "tiny\n");
        git("source/repository", &["add", "."]);
        git("source/repository", &["commit", "-qm", "first"]);
        git("source/repository", &["clone", "-q", "--bare", ".", "../../repository.git"]);
        git("repository.git", &["update-server-info"]);
    }

    fn at(&self, path: &str) -> PathBuf {
        self.files.path().join(path)
    }

    /// Packs `source/NAME` into a compressed archive.
    fn pack(&self, name: &str, to: &str) {
        self.files.file(to, "");
        let (source, to) = (self.at("source"), self.at(to));
        output(Command::new("tar").arg("-czf").arg(to).arg("-C").arg(source).arg(name));
    }

    /// Packs everything in `folder` that starts with `name`.
    fn zip(&self, folder: &str, name: &str, to: &str) {
        self.files.file(to, "");
        let script = "import os, sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w') as archive:\n\
            \x20 for folder, _, files in os.walk(sys.argv[2]):\n\
            \x20   for file in files:\n      archive.write(os.path.join(folder, file))\n";
        let mut python = Command::new("python3");
        python.current_dir(self.at(folder)).args(["-c", script]).arg(self.at(to)).arg(name);
        output(&mut python);
    }
}

/// The stdout of a command that has to succeed.
fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program is installed");
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn answer(
    mut stream: TcpStream,
    folder: &Path,
    requests: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?.take(64 * 1024));
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    requests.lock().expect("no request panics").push(head.clone());
    let path = head.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default().trim_start_matches('/');
    let path = path.replace("%2f", "/").replace("%2F", "/").replace("%40", "@");
    let file = folder.join(&path);
    let file = if file.is_dir() { file.join("index.html") } else { file };
    let (status, body) = match fs::read(file) {
        _ if path.starts_with("private/") => ("401 Unauthorized", Vec::new()),
        _ if path.contains("..") => ("403 Forbidden", Vec::new()),
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let kind = if path.starts_with("simple/") { "text/html" } else { "application/octet-stream" };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    if !head.starts_with("HEAD") {
        stream.write_all(&body)?;
    }
    Ok(())
}
