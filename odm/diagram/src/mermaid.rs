//! The diagram in the language of Mermaid.

use crate::{Diagram, LineKind};

impl Diagram {
    /// The diagram as a flow chart: a box for each node without its fields, an arrow with a label for each line.
    pub fn mermaid(&self) -> String {
        let mut lines = vec!["flowchart LR".to_owned()];
        for (at, node) in self.boxes.iter().enumerate() {
            let below: String = node
                .below
                .iter()
                .map(|below| format!("<br/>{}", escaped(below)))
                .collect();
            lines.push(format!("    d{at}[\"{}{below}\"]", escaped(&node.name)));
        }
        for line in &self.lines {
            let arrow = match line.kind {
                LineKind::Reference => "-->",
                LineKind::TwoWay => "<-->",
                LineKind::Copy => "-.->",
            };
            lines.push(format!(
                "    d{} {arrow}|\"{}\"| d{}",
                line.from.node,
                escaped(&line.label),
                line.to.node
            ));
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
