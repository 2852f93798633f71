//! Draws boxes of fields and the lines between them: [`Diagram::svg`] as an image, [`Diagram::mermaid`] for a page that knows
//! [Mermaid](https://mermaid.js.org).
//!
//! It knows no model: `odm::edges` says what stands in the boxes and which lines there are. It may change in any release.

mod layout;
mod mermaid;
mod rows;
mod svg;

/// The content of a diagram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagram {
    /// Its title, which a reader of the screen says.
    pub title: String,
    /// The same as the picture in words.
    pub description: String,
    /// Its boxes.
    pub boxes: Vec<Node>,
    /// The lines between them.
    pub lines: Vec<Line>,
}

/// A box.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What stands below the name.
    pub below: Vec<String>,
    /// Its fields, in their order.
    pub fields: Vec<Field>,
}

/// A field of a box, or of another field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type, or what it refers to or is derived from.
    pub text: String,
    /// The same in whole words, where there is more to say.
    pub words: String,
    /// Its colour.
    pub kind: FieldKind,
    /// The fields that are embedded in it.
    pub fields: Vec<Field>,
}

/// The kind of a field, which its colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// The application writes it.
    Plain,
    /// A reference.
    Reference,
    /// The library writes it.
    Derived,
}

/// A line from one box to another, or back to the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Where it begins.
    pub from: Port,
    /// Where it ends.
    pub to: Port,
    /// How it is drawn.
    pub kind: LineKind,
    /// A short text beside it.
    pub label: String,
    /// The same in whole words.
    pub words: String,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// With one head.
    Reference,
    /// With a head at each end.
    TwoWay,
    /// Dashed, with one head.
    Copy,
}

/// The end of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// The position of its box.
    pub node: usize,
    /// The path of its field, with dots; without one the line ends at the head of the box. Where the box does not show the
    /// field, the line ends at the field that it is embedded in.
    pub field: Option<String>,
}

#[cfg(test)]
mod tests;
