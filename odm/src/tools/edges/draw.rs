//! The parts of the models that a diagram shows. `odm-diagram` draws them.

use crate::OnDelete;
use crate::model::copy::Consistency;
use crate::tools::edges::{
    BucketNode, CopyEdge, CopyKind, DocumentNode, Edges, FieldNode, ReferenceEdge, ReferenceKind,
};
use odm_diagram::{Diagram, Field, FieldKind, Line, LineKind, Node, Port};

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
        self.diagram().mermaid()
    }

    /// The diagram as an SVG image: a box for each document with its fields, embedded structs and bounds, a line for each
    /// reference (with two heads if it is two-way), a dashed line from source to copy. Fields that the library writes are
    /// in italics.
    ///
    /// | in the image | means |
    /// | --- | --- |
    /// | a box | a document, with its collection below the name of its struct |
    /// | a row | a stored field: its name, its type and its bounds |
    /// | a frame in a box | an embedded struct, or the items of an array of them |
    /// | `[Address] ≤ 10` | an array of at most 10 |
    /// | `?` | the field may be `null` |
    /// | `→ people`, a solid line | a reference |
    /// | `= parts.name`, a dashed line | a copy of a field |
    /// | `[first 10 of reviews by -date]`, a dashed line | a subset of the children |
    /// | `avg(reviews.stars)`, a dashed line | a computed field |
    ///
    /// Defaults are left out: `on_delete = restrict` (in two-way references `pull` or `nullify`), and copies without a
    /// `consistency`.
    ///
    /// It is at most 700 pixels wide, with text of 12. It can be read in light and in dark mode, and needs nothing else: no
    /// font, no script. Rows and lines say more where the pointer rests.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(odm: Odm) -> std::io::Result<()> {
    /// std::fs::write("models.svg", odm.edges().svg())?;
    /// # Ok(()) }
    /// ```
    pub fn svg(&self) -> String {
        self.diagram().svg()
    }

    pub(super) fn diagram(&self) -> Diagram {
        let node = |document: &DocumentNode| Node {
            name: document.name.to_owned(),
            below: document.below(),
            fields: self.fields(document, &document.fields, "", false),
        };
        Diagram {
            title: self.title(),
            description: self.to_string().replace('\n', "; "),
            boxes: self.documents.iter().map(node).collect(),
            lines: self.lines(),
        }
    }

    /// `Person and Task: fields, references and copies`.
    fn title(&self) -> String {
        let names: Vec<&str> = self.documents.iter().map(|document| document.name).collect();
        match names.as_slice() {
            [] => "No documents".to_owned(),
            [name] => format!("{name}: fields, references and copies"),
            [names @ .., last] => format!("{} and {last}: fields, references and copies", names.join(", ")),
        }
    }

    fn fields(
        &self,
        document: &DocumentNode,
        fields: &[FieldNode],
        prefix: &str,
        derived: bool,
    ) -> Vec<Field> {
        let field = |field: &FieldNode| {
            let path = format!("{prefix}{}", field.name);
            let reference = self.references_of(document).find(|edge| edge.field == path);
            let copy = self.copies_of(document).find(|edge| edge.field == path);
            let (text, words, kind) = match (reference, copy) {
                (Some(edge), _) => (edge.row(), edge.to_string(), FieldKind::Reference),
                (None, Some(edge)) => (edge.row(&field.shape), edge.to_string(), FieldKind::Derived),
                (None, None) if derived || field.by_library => {
                    (field.shape.clone(), String::new(), FieldKind::Derived)
                }
                (None, None) => (field.shape.clone(), String::new(), FieldKind::Plain),
            };
            // How a number is stored is not shown: what it is a number of is.
            let computed = copy.is_some_and(|edge| matches!(edge.kind, CopyKind::Computed { .. }));
            let fields = if computed {
                Vec::new()
            } else {
                let derived = derived || kind == FieldKind::Derived;
                self.fields(document, &field.fields, &format!("{path}."), derived)
            };
            Field {
                name: field.name.clone(),
                text,
                words,
                kind,
                fields,
            }
        };
        fields.iter().map(field).collect()
    }

    fn lines(&self) -> Vec<Line> {
        let port = |node: usize, field: Option<&str>| Port {
            node,
            field: field.map(str::to_owned),
        };
        let mut lines = Vec::new();
        for edge in self.references.iter().filter(|edge| !self.is_second_side(edge)) {
            let Some(holder) = self.document(edge.holder) else {
                continue;
            };
            let kind = match edge.inverse {
                Some(_) => LineKind::TwoWay,
                None => LineKind::Reference,
            };
            for target in edge.targets.iter().filter_map(|target| self.document(target)) {
                lines.push(Line {
                    from: port(holder, Some(&edge.field)),
                    to: port(target, Some(edge.inverse.as_deref().unwrap_or(edge.by))),
                    kind,
                    label: self.label(edge),
                    words: format!("{}.{}: {edge}", edge.holder, edge.field),
                });
            }
        }
        for edge in &self.copies {
            let (Some(holder), Some(source)) = (self.document(edge.holder), self.document(edge.source))
            else {
                continue;
            };
            let of = match &edge.kind {
                CopyKind::Field { source, .. } => Some(*source),
                CopyKind::Subset { .. } => None,
                CopyKind::Computed { of, .. } => *of,
            };
            lines.push(Line {
                from: port(source, of),
                to: port(holder, Some(&edge.field)),
                kind: LineKind::Copy,
                label: format!("{}: {}", edge.field, edge.short()),
                words: format!("{}.{}: {edge}", edge.holder, edge.field),
            });
        }
        lines
    }

    /// `tasks: many ≤ 500 / owner: one`, with both sides of a two-way reference.
    fn label(&self, edge: &ReferenceEdge) -> String {
        let other = edge.inverse.as_ref().filter(|inverse| **inverse != edge.field);
        let back = other.and_then(|inverse| {
            let mut others = self.references.iter();
            others.find(|other| edge.targets.contains(&other.holder) && other.field == *inverse)
        });
        let back = back.map(|other| format!(" / {}: {}", other.field, other.short()));
        format!("{}: {}{}", edge.field, edge.short(), back.unwrap_or_default())
    }

    fn document(&self, collection: &str) -> Option<usize> {
        self.documents
            .iter()
            .position(|document| document.collection == collection)
    }

    /// Of the two sides of a two-way reference the second: the first one is drawn for both.
    fn is_second_side(&self, edge: &ReferenceEdge) -> bool {
        let Some(inverse) = &edge.inverse else {
            return false;
        };
        let is_first = |other: &ReferenceEdge| {
            edge.targets.contains(&other.holder)
                && other.field == *inverse
                && other.inverse.as_ref() == Some(&edge.field)
        };
        let at = self.references.iter().position(|other| other == edge);
        at.is_some_and(|at| self.references.iter().take(at).any(is_first))
    }
}

impl DocumentNode {
    /// What stands below its name.
    fn below(&self) -> Vec<String> {
        let append_only = self.append_only.then(|| "append-only".to_owned());
        let bucket = self.bucket.as_ref().map(BucketNode::short);
        let more = append_only.into_iter().chain(bucket);
        [self.collection.to_owned()].into_iter().chain(more).collect()
    }
}

impl BucketNode {
    /// `comments: 50 per bucket`: for diagrams.
    fn short(&self) -> String {
        let per = self.per.map(|per| format!(", by {per}")).unwrap_or_default();
        format!("{}: {} per bucket{per}", self.items, self.size)
    }
}

impl ReferenceEdge {
    /// `many ≤ 500`: for diagrams, where the line says the rest, and defaults are left out.
    fn short(&self) -> String {
        let mut words = match self.kind {
            ReferenceKind::One => "one".to_owned(),
            ReferenceKind::Many => "many".to_owned(),
            ReferenceKind::Parent if self.only => "parent of one".to_owned(),
            ReferenceKind::Parent => "parent".to_owned(),
        };
        if self.optional {
            words.push_str(" or none");
        }
        if let Some(max) = self.max {
            words.push_str(&format!(" ≤ {max}"));
        }
        words + &self.rule()
    }

    /// `, on_delete = cascade`, unless the rule is the one that applies where none is declared.
    fn rule(&self) -> String {
        let default = match (self.kind, self.inverse.is_some()) {
            (ReferenceKind::Many, true) => OnDelete::Pull,
            (_, true) if self.optional => OnDelete::Nullify,
            _ => OnDelete::Restrict,
        };
        if self.on_delete == default {
            return String::new();
        }
        format!(", on_delete = {}", self.on_delete)
    }

    /// `[→ tasks] ≤ 500, on_delete = cascade`.
    fn row(&self) -> String {
        let by = match self.by {
            "_id" => String::new(),
            by => format!(".{by}"),
        };
        let target = format!("→ {}{by}", self.targets.join(" | "));
        let mut text = match self.kind {
            ReferenceKind::Many => format!("[{target}]"),
            _ => target,
        };
        if self.optional {
            text.push('?');
        }
        if let Some(max) = self.max {
            text.push_str(&format!(" ≤ {max}"));
        }
        if self.only {
            text.push_str(", unique");
        }
        text + &self.rule()
    }
}

impl CopyEdge {
    /// `avg(stars), consistency = atomic`: for diagrams.
    fn short(&self) -> String {
        let what = match &self.kind {
            CopyKind::Field { source, through } => format!("copy of {source} through {through}"),
            CopyKind::Subset {
                limit, last, order, ..
            } => {
                let end = if *last { "last" } else { "first" };
                format!("{end} {limit} by {order}")
            }
            CopyKind::Computed { operation, of, .. } => match of {
                Some(of) => format!("{operation}({of})"),
                None => format!("{operation}({})", self.source),
            },
        };
        what + &self.mode()
    }

    /// `, consistency = atomic`, unless it is the mode that applies where none is declared.
    fn mode(&self) -> String {
        if self.consistency == Consistency::Auto {
            return String::new();
        }
        format!(", consistency = {}", self.consistency)
    }

    /// `= parts.name`, `first 10 of reviews by -date`, `avg(reviews.stars)`.
    fn row(&self, shape: &str) -> String {
        let (what, filtered) = match &self.kind {
            CopyKind::Field { source, .. } => (format!("= {}.{source}", self.source), false),
            CopyKind::Subset {
                limit,
                last,
                order,
                fields,
                filtered,
                ..
            } => {
                let end = if *last { "last" } else { "first" };
                let what = if shape.starts_with('[') {
                    format!("[{end} {limit} of {} by {order}]", self.source)
                } else {
                    // A field of one child.
                    format!("{end}({}.{}) by {order}", self.source, fields.join(", "))
                };
                (what, *filtered)
            }
            CopyKind::Computed {
                operation,
                of,
                filtered,
                ..
            } => {
                let of = of.map(|of| format!(".{of}")).unwrap_or_default();
                (format!("{operation}({}{of})", self.source), *filtered)
            }
        };
        let condition = if filtered { ", if it matches" } else { "" };
        format!("{what}{condition}{}", self.mode())
    }
}
