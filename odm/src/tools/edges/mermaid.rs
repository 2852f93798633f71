//! The diagram in the language of Mermaid.

use crate::tools::edges::Edges;

impl Edges {
    /// The diagram as a flow chart of [Mermaid](https://mermaid.js.org), which GitHub and mdBook show: a box for each
    /// document, a line for each reference (with two heads if it is two-way), a dotted line from source to copy.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(odm: Odm) {
    /// println!("```mermaid\n{}```", odm.edges().mermaid());
    /// # }
    /// ```
    pub fn mermaid(&self) -> String {
        let mut lines = vec!["flowchart LR".to_owned()];
        for (at, document) in self.documents.iter().enumerate() {
            let more: String = document
                .more()
                .iter()
                .map(|more| format!("<br/>{}", escaped(more)))
                .collect();
            lines.push(format!(
                "    d{at}[\"{}<br/>{}{more}\"]",
                escaped(document.name),
                escaped(document.collection)
            ));
        }
        for edge in &self.references {
            if self.is_second_side(edge) {
                continue;
            }
            let Some(from) = self.document(edge.holder) else {
                continue;
            };
            let (arrow, label) = match &edge.inverse {
                Some(inverse) if *inverse == edge.field => {
                    ("<-->", format!("{}: {}", edge.field, edge.short()))
                }
                Some(inverse) => {
                    let back = self
                        .references
                        .iter()
                        .find(|other| edge.targets.contains(&other.holder) && other.field == *inverse)
                        .map(|other| format!(" / {inverse}: {}", other.short()));
                    let label = format!("{}: {}{}", edge.field, edge.short(), back.unwrap_or_default());
                    ("<-->", label)
                }
                None => ("-->", format!("{}: {}", edge.field, edge.short())),
            };
            for to in edge.targets.iter().filter_map(|target| self.document(target)) {
                lines.push(format!("    d{from} {arrow}|\"{}\"| d{to}", escaped(&label)));
            }
        }
        for edge in &self.copies {
            let Some(to) = self.document(edge.holder) else {
                continue;
            };
            let label = format!("{}: {}", edge.field, edge.short());
            if let Some(from) = self.document(edge.source) {
                lines.push(format!("    d{from} -.->|\"{}\"| d{to}", escaped(&label)));
            }
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

/// Mermaid reads markup and Markdown in a quoted text, and writes any character as `#number;`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_alphanumeric() || " .,:-_=()≤/".contains(c) => escaped.push(c),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push_str(&format!("#{};", u32::from(c))),
        }
    }
    escaped
}
