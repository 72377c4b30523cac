//! What a client does: calls of every tool, right and wrong ones, each with the answer that must come.

mod commands;

use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use testkit::TempTree;
use testkit::mcp_client::WRONG_ARGUMENTS;
use testkit::workspace::marker;

use crate::client::{Answer, BurstState, Client, Outcome, Pacer, Request, is_busy};
use crate::files::{LINES, SOURCES};

/// How many commands a server runs at once.
const MAX_COMMANDS: usize = 8;
/// Error codes of JSON-RPC.
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// Why a client did not finish what it began.
pub(crate) enum Stop {
    /// The server has too many calls, and said so.
    Busy,
    /// A promise does not hold.
    Broken(String),
}

impl From<String> for Stop {
    fn from(message: String) -> Stop {
        Stop::Broken(message)
    }
}

type Done<T = ()> = Result<T, Stop>;

/// A client at work in a tree.
pub(crate) struct Visit<'v, C> {
    pub(crate) client: &'v C,
    pub(crate) tree: &'v TempTree,
    pub(crate) pacer: &'v Pacer,
    pub(crate) random: Rng,
}

/// Something that a client does, and how often, relative to the others.
type Deed<'v, C> = (u32, fn(&mut Visit<'v, C>) -> Done);

fn deeds<'v, C: Client>() -> [Deed<'v, C>; 22] {
    [
        (200, Visit::read_a_small_file),
        (160, Visit::list_the_top),
        (60, Visit::read_a_page),
        (40, Visit::list_all_pages),
        (60, Visit::find_files),
        (60, Visit::search),
        (30, Visit::search_for_nothing),
        (15, Visit::read_an_image),
        (15, Visit::read_other_encodings),
        (60, Visit::send_wrong_arguments),
        (30, Visit::leave_the_root),
        (15, Visit::use_the_protocol_wrongly),
        (30, Visit::use_other_methods),
        (60, Visit::run_a_command),
        (25, Visit::fail_a_command),
        (20, Visit::write_a_file),
        (15, Visit::print_long_output),
        (4, Visit::time_out),
        (4, Visit::start_and_stop_a_job),
        (4, Visit::continue_as_a_job),
        (40, Visit::cancel),
        (1, Visit::send_a_burst),
    ]
}

impl<'v, C: Client> Visit<'v, C> {
    /// Does one thing, chosen at random.
    pub(crate) fn next(&mut self) {
        let deeds = deeds::<'v, C>();
        let total = deeds.iter().map(|(weight, _)| weight).sum();
        let mut number = self.random.u32(0..total);
        let chosen = deeds.iter().find(|(weight, _)| {
            let is_chosen = number < *weight;
            number = number.saturating_sub(*weight);
            is_chosen
        });
        if let Some((_, deed)) = chosen {
            self.report(*deed);
        }
    }

    /// Does everything once, and runs as many commands at once as the server allows: each of its threads keeps a
    /// descriptor.
    pub(crate) fn all(&mut self) {
        let sleep = Request::call("bash", &json!({"command": "sleep 1"}).to_string());
        let commands: Vec<_> = (0..2 * MAX_COMMANDS).map(|_| self.client.send(&sleep)).collect();
        for command in commands {
            let answer = command.and_then(|pending| self.client.answer(pending));
            self.client.tally().check(answer.map(drop));
        }
        for (_, deed) in deeds::<'v, C>() {
            self.report(deed);
        }
    }

    fn report(&mut self, deed: fn(&mut Self) -> Done) {
        match deed(self) {
            // The answer is counted.
            Ok(()) | Err(Stop::Busy) => {}
            Err(Stop::Broken(message)) => self.client.tally().broken(message),
        }
    }

    fn call(&self, tool: &str, arguments: &Value) -> Done<Answer> {
        self.pacer.wait(1);
        Ok(self.client.request(&Request::call(tool, &arguments.to_string()))?)
    }

    /// The text of a call that must succeed and contain this.
    fn text(&self, tool: &str, arguments: &Value, part: &str) -> Done<String> {
        text_of(self.call(tool, arguments)?, &format!("{tool} {arguments}"), part)
    }

    /// A call that must fail with this message.
    fn error(&self, tool: &str, arguments: &str, part: &str) -> Done {
        self.pacer.wait(1);
        match self.client.request(&Request::call(tool, arguments))?.outcome {
            Outcome::ToolError(message) if message.contains(part) => Ok(()),
            Outcome::ToolError(message) if is_busy(&message) => Err(Stop::Busy),
            other => Err(Stop::Broken(format!("{tool} {arguments}: not `{part}`: {other:?}"))),
        }
    }

    /// Like [`Visit::text`], for a call whose duration counts.
    fn small(&self, tool: &str, arguments: &Value, part: &str) -> Done {
        self.pacer.wait(1);
        let beside = self.client.beside();
        let answer = self.client.request(&Request::call(tool, &arguments.to_string()))?;
        let time = answer.time.as_secs_f64() * 1000.0;
        text_of(answer, &format!("{tool} {arguments}"), part)?;
        self.client.tally().counts().small_calls.entry(beside).or_default().push(time);
        Ok(())
    }

    /// A small read or list.
    pub(crate) fn small_call(&mut self) {
        if self.random.bool() {
            self.report(Visit::read_a_small_file);
        } else {
            self.report(Visit::list_the_top);
        }
    }

    /// Does something that needs no session, chosen at random.
    pub(crate) fn next_without_session(&mut self) {
        let deeds = Self::WITHOUT_SESSION;
        let number = self.random.usize(0..deeds.len());
        self.report(deeds[number]);
    }

    /// Does everything once that needs no session.
    pub(crate) fn all_without_session(&mut self) {
        Self::WITHOUT_SESSION.into_iter().for_each(|deed| self.report(deed));
    }

    const WITHOUT_SESSION: [fn(&mut Self) -> Done; 7] = [
        Visit::read_a_small_file,
        Visit::list_the_top,
        Visit::read_a_page,
        Visit::search,
        Visit::leave_the_root,
        Visit::run_a_command,
        Visit::print_long_output,
    ];

    fn read_a_small_file(&mut self) -> Done {
        self.small("read", &json!({"path": "notes.txt"}), "one line of notes")
    }

    fn list_the_top(&mut self) -> Done {
        self.small("list_dir", &json!({"dir_path": self.tree.str(), "depth": 1}), "notes.txt")
    }

    fn read_a_page(&mut self) -> Done {
        let offset = self.random.usize(1..=LINES);
        let limit = self.random.usize(1..=500);
        let part = format!("line {offset} of a large file");
        self.text("read", &json!({"path": "large.txt", "offset": offset, "limit": limit}), &part)?;
        let tail = json!({"path": "large.txt", "tail": 3, "numbers": true});
        self.text("read", &tail, &format!("line {LINES} of a large file")).map(drop)
    }

    fn list_all_pages(&mut self) -> Done {
        let (mut offset, mut found) = (1, 0);
        loop {
            let arguments =
                json!({"dir_path": self.tree.at("src"), "offset": offset, "limit": 20, "depth": 3});
            let text = self.text("list_dir", &arguments, "Absolute path: ")?;
            found += text.lines().filter(|line| line.trim_start().starts_with("item_")).count();
            let Some((_, next)) = text.rsplit_once("next offset ") else { break };
            offset = next.trim().parse().map_err(|_| format!("list_dir: no offset in {text}"))?;
        }
        match found {
            SOURCES => Ok(()),
            _ => Err(Stop::Broken(format!("list_dir: {found} of {SOURCES} files on all pages"))),
        }
    }

    fn find_files(&mut self) -> Done {
        let number = self.random.usize(0..SOURCES);
        let part = format!("item_{number}.rs");
        self.text("find_files", &json!({"pattern": "**/*.rs"}), &part)?;
        self.text("find_files", &json!({"pattern": part}), &part).map(drop)
    }

    fn search(&mut self) -> Done {
        let number = self.random.usize(0..SOURCES);
        let pattern = format!("needle {number}$");
        let show = ["files", "lines", "count"][self.random.usize(0..3)];
        let arguments = json!({"pattern": pattern, "show": show});
        self.text("grep_files", &arguments, &format!("item_{number}.rs")).map(drop)
    }

    fn search_for_nothing(&mut self) -> Done {
        self.text("grep_files", &json!({"pattern": "no such text"}), "No matches found").map(drop)
    }

    fn read_an_image(&mut self) -> Done {
        let scaled = json!({"path": "image.png", "region": "0,0,100,100"});
        let arguments = if self.random.bool() { json!({"path": "image.png"}) } else { scaled };
        self.text("read", &arguments, "image/png").map(drop)
    }

    fn read_other_encodings(&mut self) -> Done {
        self.text("read", &json!({"path": "utf16.txt"}), "wide text")?;
        self.text("read", &json!({"path": "data.bin"}), "00 00 00 00").map(drop)
    }

    fn send_wrong_arguments(&mut self) -> Done {
        let (arguments, part) = WRONG_ARGUMENTS[self.random.usize(0..WRONG_ARGUMENTS.len())];
        self.error("read", arguments, part)?;
        let wrong = [
            ("grep_files", r#"{"pattern":"("}"#, "regex parse error"),
            ("list_dir", r#"{"dir_path":"src"}"#, "must be an absolute path"),
            ("bash", r#"{"command":""}"#, "command"),
            ("jobs", r#"{"job":999}"#, "does not exist"),
            ("read", r#"{"path":"no such file"}"#, "no such file"),
        ];
        let (tool, arguments, part) = wrong[self.random.usize(0..wrong.len())];
        self.error(tool, arguments, part)
    }

    fn leave_the_root(&mut self) -> Done {
        let path =
            ["/etc/hostname", "/usr/../etc/passwd", "/proc/self/environ"][self.random.usize(0..3)];
        self.error("read", &json!({ "path": path }).to_string(), "outside the roots")
    }

    fn use_the_protocol_wrongly(&mut self) -> Done {
        self.pacer.wait(3);
        self.client.send_garbage()?;
        let mut no_tool = Request::call("no_such_tool", "{}");
        // It is no call of a tool.
        no_tool.tool = None;
        let no_method = Request::new("no/such", &json!({}));
        for (request, code, part) in [
            (no_tool, INVALID_PARAMS, "unknown tool"),
            (no_method, METHOD_NOT_FOUND, "not supported"),
        ] {
            match self.client.request(&request)?.outcome {
                Outcome::ProtocolError(is, message) if is == code && message.contains(part) => {}
                other => return Err(Stop::Broken(format!("{request:?}: {other:?}"))),
            }
        }
        Ok(())
    }

    fn use_other_methods(&mut self) -> Done {
        self.pacer.wait(1);
        let (method, part) = [("ping", ""), ("tools/list", "grep_files")][self.random.usize(0..2)];
        let answer = self.client.request(&Request::new(method, &json!({})))?;
        text_of(answer, method, part).map(drop)
    }

    fn cancel(&mut self) -> Done {
        self.pacer.wait(1);
        let sleep = format!("setsid sleep {marker} & sleep {marker}", marker = marker());
        let (tool, arguments) = match self.random.u8(0..4) {
            // Over HTTP, a cancel may arrive before its call.
            0 => ("bash", json!({"command": sleep, "timeout_secs": 20})),
            1 => ("grep_files", json!({"pattern": "needle"})),
            2 => ("list_dir", json!({"dir_path": self.tree.str(), "depth": 9})),
            _ => ("read", json!({"path": "large.txt", "tail": 2000})),
        };
        let pending = self.client.send(&Request::call(tool, &arguments.to_string()))?;
        if tool == "bash" {
            std::thread::sleep(Duration::from_millis(self.random.u64(0..200)));
        }
        Ok(self.client.cancel(pending)?)
    }

    /// Sends more calls at once than the queue holds. Each is answered, some with `busy`.
    fn send_a_burst(&mut self) -> Done {
        let size = self.client.burst_size();
        self.pacer.wait(size);
        let request = Request::call("find_files", &json!({"pattern": "*.rs"}).to_string());
        self.client.burst(BurstState::Begins);
        let pending: Vec<_> = (0..size).map(|_| self.client.send(&request)).collect();
        let mut broken = Vec::new();
        for pending in pending {
            let answer = pending.and_then(|pending| self.client.answer(pending));
            match answer
                .map_err(Stop::Broken)
                .and_then(|answer| text_of(answer, "find_files", ".rs"))
            {
                Ok(_) | Err(Stop::Busy) => {}
                Err(Stop::Broken(message)) => broken.push(message),
            }
        }
        self.client.burst(BurstState::Ends);
        self.client.tally().counts().bursts += 1;
        if broken.is_empty() { Ok(()) } else { Err(Stop::Broken(broken.join("; "))) }
    }
}

/// The text of an answer that must be a result with this part.
fn text_of(answer: Answer, what: &str, part: &str) -> Done<String> {
    match answer.outcome {
        Outcome::Text(text) if text.contains(part) => Ok(text),
        Outcome::ToolError(message) if is_busy(&message) => Err(Stop::Busy),
        other => {
            let seen: String = format!("{other:?}").chars().take(600).collect();
            Err(Stop::Broken(format!("{what}: not `{part}`: {seen}")))
        }
    }
}
