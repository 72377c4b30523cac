//! YAML, as far as lines go: an entry is put into a table that is written one key a line. No crate
//! writes YAML and keeps what stands around it well enough; who calls this reads the result with a
//! parser and compares, so that anything written otherwise is refused and never spoilt.

use std::ops::Range;

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value};

use super::change::Change;
use crate::clients::entry::{Field, NAME};

pub(super) fn read(text: &str) -> Result<Value, String> {
    let documents =
        Yaml::load_from_str(text).map_err(|error| format!("it is not YAML: {error}"))?;
    match documents.as_slice() {
        [] => Ok(Value::Null),
        [document] => value(document),
        [_, _, ..] => Err("it holds several YAML documents".to_owned()),
    }
}

fn value(yaml: &Yaml) -> Result<Value, String> {
    Ok(match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(flag)) => Value::Bool(*flag),
        Yaml::Value(Scalar::Integer(number)) => Value::from(*number),
        Yaml::Value(Scalar::FloatingPoint(number)) => Value::from(number.into_inner()),
        Yaml::Value(Scalar::String(text)) => Value::from(text.as_ref()),
        Yaml::Sequence(values) => values.iter().map(value).collect::<Result<_, _>>()?,
        Yaml::Mapping(values) => {
            let mut object = Map::new();
            for (key, inside) in values {
                let key = value(key)?;
                let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                object.insert(key, value(inside)?);
            }
            Value::Object(object)
        }
        Yaml::Tagged(tag, inside) => {
            Value::from(vec![Value::from(tag.to_string()), value(inside)?])
        }
        Yaml::Representation(..) | Yaml::Alias(_) | Yaml::BadValue => {
            return Err("it is YAML that cannot be understood".to_owned());
        }
    })
}

pub(super) fn merge(text: &str, change: &Change) -> Result<String, String> {
    let mut lines = Lines::of(text);
    let whole = 0..lines.lines.len();
    let Some(servers) = lines.key(change.servers, &whole, "") else {
        let at = lines.lines.len();
        lines.insert(at, vec![format!("{}:", change.servers)]);
        lines.insert(at + 1, entry(change, "  "));
        return Ok(lines.text());
    };
    lines.open(servers.start);
    let inside = servers.start + 1..servers.end;
    let indent = lines.indent(&inside).unwrap_or_else(|| "  ".to_owned());
    let Some(there) = lines.key(NAME, &inside, &indent) else {
        let at = lines.end(&inside);
        lines.insert(at, entry(change, &indent));
        return Ok(lines.text());
    };
    let mut inside = there.start + 1..there.end;
    let deeper = lines.indent(&inside).unwrap_or_else(|| format!("{indent}  "));
    for field in &change.fields {
        let line = vec![rendered(field, &deeper)];
        if let Some(old) = lines.key(field.key, &inside, &deeper) {
            let old = old.start..lines.end(&old);
            inside.end = inside.end + 1 - old.len();
            lines.replace(old, line);
        } else {
            let at = lines.end(&inside);
            inside.end += 1;
            lines.insert(at, line);
        }
    }
    Ok(lines.text())
}

fn entry(change: &Change, indent: &str) -> Vec<String> {
    let deeper = format!("{indent}  ");
    let fields = change.fields.iter().map(|field| rendered(field, &deeper));
    std::iter::once(format!("{indent}{NAME}:")).chain(fields).collect()
}

/// What JSON says, YAML says as well; plain words need no quotes.
fn rendered(field: &Field, indent: &str) -> String {
    let plain = |text: &&str| {
        let is_word = text.chars().all(|letter| letter.is_ascii_lowercase());
        is_word && !matches!(*text, "" | "true" | "false" | "null" | "yes" | "no" | "on" | "off")
    };
    let value = match &field.value {
        Value::String(text) if plain(&text.as_str()) => text.clone(),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(Value::to_string).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            field.value.to_string()
        }
    };
    format!("{indent}{}: {value}", field.key)
}

/// A file as its lines, each with its ending.
struct Lines {
    lines: Vec<String>,
    ending: &'static str,
}

impl Lines {
    fn of(text: &str) -> Self {
        let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Lines { lines: text.split_inclusive('\n').map(str::to_owned).collect(), ending }
    }

    fn text(&self) -> String {
        self.lines.concat()
    }

    /// The lines of a key at that indentation: its own, and those below it.
    fn key(&self, key: &str, among: &Range<usize>, indent: &str) -> Option<Range<usize>> {
        let is_key = |line: &String| {
            let line = line.strip_prefix(indent)?;
            let rest = [key.to_owned(), format!("\"{key}\""), format!("'{key}'")]
                .iter()
                .find_map(|key| line.strip_prefix(key.as_str())?.strip_prefix(':'))?;
            rest.chars().next().is_none_or(char::is_whitespace).then_some(())
        };
        let place =
            self.lines.get(among.clone())?.iter().position(|line| is_key(line).is_some())?;
        let start = among.start + place;
        let is_next = |line: &String| says_something(line) && depth(line) <= indent.len();
        let after = self.lines.get(start + 1..among.end)?.iter().position(is_next);
        Some(start..after.map_or(among.end, |after| start + 1 + after))
    }

    /// The indentation of the first line that says something.
    fn indent(&self, among: &Range<usize>) -> Option<String> {
        let line = self.lines.get(among.clone())?.iter().find(|line| says_something(line))?;
        Some(" ".repeat(depth(line)))
    }

    /// After the last line that says something.
    fn end(&self, among: &Range<usize>) -> usize {
        let lines = self.lines.get(among.clone()).unwrap_or_default();
        let last = lines.iter().rposition(|line| says_something(line));
        last.map_or(among.start, |last| among.start + last + 1)
    }

    /// Makes a key that holds nothing, such as `key: {}`, one that lines may follow.
    fn open(&mut self, place: usize) {
        let Some(line) = self.lines.get_mut(place) else { return };
        let nothing = [": {}", ": null", ": ~"];
        if let Some(nothing) = nothing.iter().find(|nothing| line.trim_end().ends_with(*nothing)) {
            *line = line.replacen(nothing, ":", 1);
        }
    }

    fn insert(&mut self, at: usize, new: Vec<String>) {
        self.replace(at..at, new);
    }

    fn replace(&mut self, old: Range<usize>, new: Vec<String>) {
        if let Some(before) = old.start.checked_sub(1).and_then(|place| self.lines.get_mut(place))
            && !before.ends_with('\n')
        {
            before.push_str(self.ending);
        }
        let ending = self.ending;
        self.lines.splice(old, new.into_iter().map(|line| line + ending));
    }
}

fn says_something(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
