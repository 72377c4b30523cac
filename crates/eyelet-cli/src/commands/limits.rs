//! `eyelet limits`: prints the limits of the tools, from the library's list.

use std::fmt::Write as _;
use std::process::ExitCode;

use eyelet::limits::{ALL_TOOLS, Limit, SERVER};
use eyelet::{ToolRouter, grouped};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::print;

const EVERY_TOOL: &str = "every tool";
const THE_SERVER: &str = "the server";

pub(crate) fn run(as_json: bool, as_markdown: bool) -> Result<ExitCode, Failure> {
    let rows = rows();
    print::lines(&match (as_json, as_markdown) {
        (true, _) => format!("{:#}", json(&rows)),
        (false, true) => markdown(&rows),
        (false, false) => table(&rows),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A limit and the tool that it belongs to.
struct Row {
    tool: &'static str,
    limit: Limit,
}

fn rows() -> Vec<Row> {
    let everyone = ALL_TOOLS.iter().map(|limit| Row { tool: EVERY_TOOL, limit: *limit });
    let definitions = ToolRouter::new().definitions();
    let own = definitions.into_iter().flat_map(|definition| {
        definition.limits.into_iter().map(move |limit| Row { tool: definition.name, limit })
    });
    let server = SERVER.iter().map(|limit| Row { tool: THE_SERVER, limit: *limit });
    everyone.chain(own).chain(server).collect()
}

fn table(rows: &[Row]) -> String {
    let amounts: Vec<_> = rows.iter().map(|row| amount(&row.limit)).collect();
    let what = rows.iter().map(|row| row.limit.what.len()).max().unwrap_or_default();
    let wide = amounts.iter().map(String::len).max().unwrap_or_default();
    let mut text = String::new();
    let mut tool = "";
    for (row, amount) in rows.iter().zip(&amounts) {
        if row.tool != tool {
            tool = row.tool;
            let _ = writeln!(text, "{tool}");
        }
        let Limit { what: name, beyond, .. } = row.limit;
        let _ = writeln!(text, "  {name:what$}  {amount:wide$}  {beyond}");
    }
    text
}

fn json(rows: &[Row]) -> Value {
    let object = |row: &Row| {
        let Limit { what, value, unit, beyond, .. } = row.limit;
        json!({ "tool": row.tool, "what": what, "value": value, "unit": unit, "beyond": beyond })
    };
    rows.iter().map(object).collect()
}

fn markdown(rows: &[Row]) -> String {
    let mut text = String::from("| tool | what | limit | when exceeded |\n|---|---|---|---|\n");
    for Row { tool, limit } in rows {
        let tool = match *tool {
            EVERY_TOOL | THE_SERVER => (*tool).to_owned(),
            name => format!("`{name}`"),
        };
        let (what, beyond) = (limit.what, limit.beyond);
        let _ = writeln!(text, "| {tool} | {what} | {} | {beyond} |", amount(limit));
    }
    text
}

/// Such as `51,200 bytes`; multiples of a mebibyte or gibibyte in these units.
fn amount(limit: &Limit) -> String {
    const MEBIBYTE: u64 = 1024 * 1024;
    const GIBIBYTE: u64 = 1024 * MEBIBYTE;
    let value = limit.value;
    if limit.unit == "bytes" && value > 0 {
        for (size, name) in [(GIBIBYTE, "GiB"), (MEBIBYTE, "MiB")] {
            if value.is_multiple_of(size) {
                return format!("{} {name}", value / size);
            }
        }
    }
    format!("{} {}", grouped(value), limit.unit)
}
