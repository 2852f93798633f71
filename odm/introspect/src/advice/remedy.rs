//! What mends a fault: attributes of odm, a step of a migration, or commands.

use super::names;
use serde::Serialize;

/// What mends a fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Remedy {
    /// What to do, as a sentence.
    pub words: String,
    /// The code for it, in the order in which it is used.
    pub code: Vec<Code>,
}

/// Code of one language.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Code {
    /// Its language.
    pub language: Language,
    /// Its text, without a line break at the end.
    pub text: String,
}

/// The language of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Rust: structs with attributes, or the function of a step.
    Rust,
    /// `mongosh`.
    Shell,
    /// The terminal.
    Terminal,
}

impl Remedy {
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            code: Vec::new(),
        }
    }

    fn with(mut self, language: Language, text: String) -> Self {
        self.code.push(Code { language, text });
        self
    }

    pub(super) fn rust(self, text: String) -> Self {
        self.with(Language::Rust, text)
    }

    /// The function of a step, with these lines.
    pub(super) fn step(self, lines: &[String]) -> Self {
        let lines = lines.join("\n    ");
        self.with(
            Language::Rust,
            format!("pub async fn up(step: &Step) -> odm::Result<()> {{\n    {lines}\n}}"),
        )
    }

    pub(super) fn shell(self, text: String) -> Self {
        self.with(Language::Shell, text)
    }

    pub(super) fn terminal(self, text: impl Into<String>) -> Self {
        self.with(Language::Terminal, text.into())
    }
}

/// Text in quotes, as Rust and JavaScript have it.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// The collection in `mongosh`.
pub fn shell_collection(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit() || c == '_');
    if plain {
        format!("db.{name}")
    } else {
        format!("db.getCollection({})", quoted(name))
    }
}

/// The model of a collection with the fields of a remedy; the others are left out.
pub fn model(collection: &str, options: &[String], fields: &str) -> String {
    let mut attribute = format!("collection = {}", quoted(collection));
    for option in options {
        attribute.push_str(", ");
        attribute.push_str(option);
    }
    let attribute = format!("#[document({attribute})]");
    format!(
        "#[derive(Document, Clone, Debug, PartialEq)]\n{attribute}\npub struct {} {{\n{}\n    // the other fields\n}}",
        names::type_name(collection),
        indented(fields),
    )
}

/// A struct that is embedded, with all of its attributes but `Embed`.
pub fn embedded(name: &str, attributes: &[String], fields: &str) -> String {
    let mut text = "#[derive(Embed, Clone, Debug, PartialEq)]\n".to_owned();
    for attribute in attributes {
        text.push_str(attribute);
        text.push('\n');
    }
    format!("{text}pub struct {name} {{\n{}\n}}", indented(fields))
}

/// The struct that holds a field: that of the collection, or the one of the embedded document that the path leads through.
pub fn holder(collection: &str, path: &str, fields: &str) -> String {
    let parent = names::parent(path);
    if parent.is_empty() {
        model(collection, &[], fields)
    } else {
        let name = names::embedded_name(collection, parent);
        let own = embedded(&name, &[], &format!("{fields}\n// the other fields"));
        format!("/// `{parent}` of `{collection}`.\n{own}")
    }
}

fn indented(lines: &str) -> String {
    let lines: Vec<String> = lines.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

/// A field with its attributes, a line each; with its stored name, where it isn't the one in Rust.
pub fn field(path: &str, attributes: &[String], rust: &str) -> String {
    let mut lines = attributes.to_vec();
    let (name, stored) = (names::field_name(path), names::stored_name(path));
    if name.trim_start_matches("r#") != stored && !(stored == "_id" && name == "id") {
        lines.push(format!("#[field(name = {})]", quoted(stored)));
    }
    lines.push(format!("pub {name}: {rust},"));
    lines.join("\n")
}

/// `#[reference]` with these options.
pub fn reference_attribute(options: &[String]) -> String {
    if options.is_empty() {
        "#[reference]".to_owned()
    } else {
        format!("#[reference({})]", options.join(", "))
    }
}

/// The least bound of a size that people would choose: with a half on top, and round.
pub fn bound(greatest: u64) -> u64 {
    let wanted = (greatest + greatest / 2).max(10);
    let mut unit = 1;
    while wanted / unit >= 100 {
        unit *= 10;
    }
    wanted.div_ceil(unit) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_round() {
        assert_eq!(bound(3), 10);
        assert_eq!(bound(17), 25);
        assert_eq!(bound(1_800), 2_700);
        assert_eq!(bound(1_234), 1_900);
    }

    #[test]
    fn names_that_are_no_identifiers_are_quoted() {
        assert_eq!(shell_collection("orders"), "db.orders");
        assert_eq!(shell_collection("a-b"), "db.getCollection(\"a-b\")");
        assert_eq!(
            field("x.createdAt", &["#[index]".to_owned()], "DateTime"),
            "#[index]\n#[field(name = \"createdAt\")]\npub created_at: DateTime,"
        );
        assert_eq!(field("_id", &[], "i32"), "pub id: i32,");
    }
}
