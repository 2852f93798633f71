//! Commands as lines of the page.

use odm::bson::{Bson, Document};
use odm::mongodb::event::{EventHandler, command::CommandEvent};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

/// What stands above the shapes.
const HEAD: &str = "\
# The shapes of commands

`ODM_WRITE_BOOK=1` with `costs commands_have` writes this page. A line is a command: its name and collection; `retryable` (with a
`txnNumber`), `begins` a transaction or is sent `within` one; read concern, write concern and read preference, where they are
sent; the number of documents or statements; and the names in their conditions, those of `$and` and `$or` among them. The client's own
write concern is `w: 1`, its read concern `available`, its read preference `secondaryPreferred`; the options of a handle have
`w: 1, j`, `majority` and `nearest`.
";

/// The commands that a client has sent.
#[derive(Clone, Default)]
pub struct Sent(Arc<Mutex<Vec<Document>>>);

impl Sent {
    pub fn take(&self) -> Vec<Document> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    pub fn handler(&self) -> EventHandler<CommandEvent> {
        let sent = self.0.clone();
        EventHandler::callback(move |event| {
            if let CommandEvent::Started(started) = event
                && !["endSessions", "hello", "isMaster", "killCursors", "ping"]
                    .contains(&started.command_name.as_str())
            {
                sent.lock().unwrap().push(started.command);
            }
        })
    }
}

/// An operation in one deployment.
struct Shape {
    deployment: &'static str,
    lines: Vec<String>,
}

/// The shapes of all operations, in the order in which they were executed first.
#[derive(Default)]
pub struct Shapes(Vec<(&'static str, Vec<Shape>)>);

impl Shapes {
    pub fn add(
        &mut self,
        operation: &'static str,
        deployment: &'static str,
        sent: &[Document],
        made: &odm::Result<()>,
    ) {
        let mut lines: Vec<String> = sent.iter().map(line).collect();
        if let Err(error) = made {
            let error = format!("{error:?}");
            let kind = error.split(|c: char| !c.is_alphanumeric()).next();
            lines.push(format!("error {}", kind.unwrap_or_default()));
        }
        let shape = Shape { deployment, lines };
        match self.0.iter_mut().find(|(known, _)| *known == operation) {
            Some((_, shapes)) => shapes.push(shape),
            None => self.0.push((operation, vec![shape])),
        }
    }

    pub fn page(&self) -> String {
        let mut page = HEAD.to_owned();
        for (operation, shapes) in &self.0 {
            let _ = write!(page, "\n## {operation}\n\n```text\n");
            for (at, shape) in shapes.iter().enumerate() {
                let same = shapes.iter().take(at).find(|before| before.lines == shape.lines);
                let _ = match same {
                    Some(same) => writeln!(page, "{}: as {}", shape.deployment, same.deployment),
                    None => write!(page, "{}:\n{}", shape.deployment, runs(&shape.lines)),
                };
            }
            page += "```\n";
        }
        page
    }
}

/// The lines, equal ones behind each other as one.
fn runs(lines: &[String]) -> String {
    lines
        .chunk_by(|a, b| a == b)
        .map(|run| match run {
            [line] => format!("  {line}\n"),
            run => format!("  {}, {} times\n", run[0], run.len()),
        })
        .collect()
}

/// The operations whose shapes differ: as the page has them, and as they were found.
pub fn differences(page: &str, found: &str) -> String {
    let of = |page: &str| -> Vec<String> { page.split("\n## ").map(str::to_owned).collect() };
    let (page, found) = (of(page), of(found));
    let differ = |one: &[String], other: &[String], sign: &str| -> String {
        let only = one.iter().filter(|operation| !other.contains(operation));
        only.map(|operation| format!("{sign} {operation}\n")).collect()
    };
    format!(
        "{}{}",
        differ(&page, &found, "the page:"),
        differ(&found, &page, "sent:")
    )
}

/// A command as a line.
fn line(command: &Document) -> String {
    let (name, target) = command
        .iter()
        .next()
        .map_or(("", &Bson::Null), |(name, target)| (name.as_str(), target));
    let mut line = match target {
        Bson::String(collection) => format!("{name} {collection}"),
        _ => name.to_owned(),
    };
    let is_within = command.contains_key("autocommit");
    if command.get_bool("startTransaction").unwrap_or(false) {
        line += ", begins";
    } else if is_within {
        line += ", within";
    } else if command.contains_key("txnNumber") {
        line += ", retryable";
    }
    let document = |name: &str| command.get_document(name).ok();
    if let Some(level) = document("readConcern").and_then(|concern| concern.get_str("level").ok()) {
        let _ = write!(line, ", read {level}");
    }
    if let Some(concern) = document("writeConcern") {
        let w = concern.get("w").map_or_else(String::new, |w| match w {
            Bson::String(w) => w.clone(),
            w => format!("w: {w}"),
        });
        let journal = if concern.get_bool("j").unwrap_or(false) {
            ", j"
        } else {
            ""
        };
        let _ = write!(line, ", write {w}{journal}");
    }
    // To a server that is named directly the driver sends `primaryPreferred` for the primary.
    let preference = document("$readPreference").and_then(|preference| preference.get_str("mode").ok());
    if let Some(preference) = preference.filter(|mode| !mode.starts_with("primary")) {
        let _ = write!(line, ", {preference}");
    }
    if command.get_bool("bypassDocumentValidation").unwrap_or(false) {
        line += ", past the validator";
    }
    if !command.get_bool("ordered").unwrap_or(true) {
        line += ", unordered";
    }
    if command.contains_key("comment") {
        line += ", comment";
    }
    line + &statements(name, command)
}

/// The number of statements, and the names in their conditions.
fn statements(name: &str, command: &Document) -> String {
    let list = |name: &str| -> Vec<&Document> {
        let list = command.get_array(name).map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Bson::as_document).collect()
    };
    let conditions = |statements: Vec<&Document>| {
        let number = statements.len();
        let by = statements
            .iter()
            .filter_map(|statement| statement.get_document("q").ok());
        let by: BTreeSet<String> = by.map(names_of).collect();
        let many = statements.iter().any(|statement| {
            statement.get_bool("multi").unwrap_or(false) || statement.get("limit") == Some(&Bson::Int32(0))
        });
        let of = if many { " of many" } else { "" };
        let upsert = statements
            .iter()
            .any(|statement| statement.get_bool("upsert").unwrap_or(false));
        let upsert = if upsert { ", upsert" } else { "" };
        let by: Vec<String> = by.into_iter().collect();
        format!(": {number}{of}{upsert} by {}", by.join("; "))
    };
    match name {
        "insert" => format!(": {}", list("documents").len()),
        "update" => conditions(list("updates")),
        "delete" => conditions(list("deletes")),
        "find" | "findAndModify" => {
            let condition = command.get_document("filter").or(command.get_document("query"));
            format!(": by {}", condition.map(names_of).unwrap_or_default())
        }
        "aggregate" => {
            let stages = list("pipeline")
                .into_iter()
                .filter_map(|stage| stage.iter().next());
            let stages = stages.map(|(name, stage)| match (name.as_str(), stage) {
                ("$match", Bson::Document(condition)) => format!("$match {}", names_of(condition)),
                ("$lookup" | "$unionWith", Bson::Document(of)) => {
                    format!(
                        "{name} {}",
                        of.get_str("from").or(of.get_str("coll")).unwrap_or_default()
                    )
                }
                (name, _) => name.to_owned(),
            });
            format!(": {}", stages.collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    }
}

/// The names of the fields in a condition, in the order of the alphabet.
fn names_of(condition: &Document) -> String {
    fn add<'c>(condition: &'c Document, names: &mut BTreeSet<&'c str>) {
        for (name, value) in condition {
            match (name.as_str(), value) {
                ("$and" | "$or" | "$nor", Bson::Array(all)) => {
                    all.iter()
                        .filter_map(Bson::as_document)
                        .for_each(|one| add(one, names));
                }
                (name, _) => drop(names.insert(name)),
            }
        }
    }
    let mut names = BTreeSet::new();
    add(condition, &mut names);
    if names.is_empty() {
        return "nothing".to_owned();
    }
    names.into_iter().collect::<Vec<_>>().join(" ")
}
