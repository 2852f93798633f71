//! What JSON is made of: the types that are documents of their own there, with the shapes of their values.

use crate::Document;
use crate::model::document::NamedDocument;
use crate::model::shape::{Shape, ShapeFn, full_name};

/// A type with a JSON of its own, by its declared shape: a document, its `New…` struct and its patch, a struct or enum that derives
/// `Embed`, a projection.
///
/// ```
/// # use samples::model::*;
/// fn has_json<T: odm::types::Described>() {}
/// has_json::<Person>();
/// has_json::<Address>();
/// has_json::<Named>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no JSON by a declared shape",
    note = "documents have one, their `New…` structs and patches, structs that derive `Embed`, projections, and lists of these"
)]
pub trait Described {
    /// The paths of its fields, by which a value is given beside the JSON.
    #[doc(hidden)]
    type Paths;
    /// The paths.
    #[doc(hidden)]
    fn json_paths() -> Self::Paths;
    /// Its shape.
    #[doc(hidden)]
    fn described() -> Description;
}

/// The shape of a type, and how much of it a value has.
#[derive(Clone, Debug)]
pub struct Description {
    /// The name of the type, with those of its parameters.
    pub name: String,
    /// The shape; of a projection and a `New…` struct that of the document.
    pub shape: ShapeFn,
    /// The fields that a value has.
    pub part: Part,
}

/// The fields of a shape that a value has.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// All.
    Whole,
    /// Those that the application supplies to insert a document, with or without the `_id`.
    New {
        /// Whether the application supplies the `_id`.
        id: bool,
    },
    /// Those with these stored names.
    Fields(fn() -> Vec<&'static str>),
}

impl<T: Document> Described for T {
    type Paths = T::Paths;

    fn json_paths() -> T::Paths {
        T::paths()
    }

    fn described() -> Description {
        Description {
            name: name_of::<T>(T::META.name),
            shape: whole::<T>,
            part: Part::Whole,
        }
    }
}

fn name_of<T>(name: &str) -> String {
    full_name(name, Some(std::any::type_name::<T>))
}

/// The shape of whole documents of this type.
fn whole<T: NamedDocument>() -> Shape {
    T::META.whole()
}

impl Description {
    /// Of a struct or an enum that is embedded.
    pub fn embedded<T>(name: &str, shape: fn() -> Shape) -> Description {
        Description {
            name: name_of::<T>(name),
            shape,
            part: Part::Whole,
        }
    }

    /// Of the struct that inserts a document.
    pub fn new<N, T: Document>(name: &str, id: bool) -> Description {
        Description {
            name: name_of::<N>(name),
            shape: whole::<T>,
            part: Part::New { id },
        }
    }

    /// Of some fields of a document.
    pub fn fields<P, T: NamedDocument>(name: &str, fields: fn() -> Vec<&'static str>) -> Description {
        Description {
            name: name_of::<P>(name),
            shape: whole::<T>,
            part: Part::Fields(fields),
        }
    }
}
