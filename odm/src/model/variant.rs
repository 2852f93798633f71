//! Paths into the variants of enums: what stands in a variant, and the tag that says that a document has it.
//!
//! A variant is a step of a path, so the path itself says which variants have to hold. Two variants may have fields of one name:
//! every condition on what is in a variant is on the tag too.

use crate::model::meta::{Body, Bounds, EnumShape, FieldMeta, Shape, Tagging, VariantMeta};
use crate::model::path::{Fielded, Holds, Joined, Single, Step, VariantOf, Varied, Way};
use crate::model::tree::Tree;
use crate::model::value::Compared;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, doc};
use std::marker::PhantomData;

/// The fields of variant number `V` of `E`, as of a struct of their own.
pub struct Variant<E, const V: usize>(PhantomData<fn() -> E>);

impl<E: Varied, const V: usize> Fielded for Variant<E, V> {
    const FIELDS: &'static [FieldMeta] = match E::SHAPE.variants[V].body {
        Body::Struct(of) => of.fields,
        _ => &[],
    };
}

/// Into variant number `V` of the enum `E` at `P`: to its content.
pub struct In<P, E, const V: usize>(PhantomData<fn() -> (P, E)>);

impl<P: Step, E: Varied, const V: usize> In<P, E, V> {
    const VARIANT: &'static VariantMeta = &E::SHAPE.variants[V];
    /// The content, under the name that it has beside the tag or in the place of one.
    const CONTENT: FieldMeta = {
        let (name, flatten) = match E::SHAPE.tagging {
            Tagging::External => (Self::VARIANT.name, false),
            Tagging::Adjacent(_, content) => (content, false),
            Tagging::Internal(_) | Tagging::Untagged => ("", true),
        };
        match Self::VARIANT.body {
            Body::Newtype(field) => FieldMeta {
                rust: Self::VARIANT.name,
                name,
                aliases: &[],
                required: true,
                flatten,
                ..*field
            },
            _ => FieldMeta {
                shape: shape::<E, V>,
                bounds: Bounds::NONE,
                flatten,
                ..FieldMeta::opaque(Self::VARIANT.name, name, E::SHAPE.name)
            },
        }
    };
    const JOINED: Joined = Joined::new(P::PATH, Self::CONTENT.name, Self::CONTENT.flatten);
}

/// The shape of the content of a variant that is no newtype.
fn shape<E: Varied, const V: usize>() -> Shape {
    match E::SHAPE.variants.get(V).map(|variant| variant.body) {
        Some(Body::Struct(of)) => Shape::Struct(of),
        Some(Body::Newtype(field)) => Shape::Bounded(field),
        Some(Body::Tuple(_)) => Shape::Any,
        Some(Body::Unit) | None => Shape::Null,
    }
}

impl<P: Step, E: Varied, const V: usize> Step for In<P, E, V> {
    const PATH: &'static str = {
        let joined: &'static Joined = &Self::JOINED;
        joined.as_str()
    };
    const ARRAYS: u32 = P::ARRAYS;
    const INNERMOST: Option<&'static str> = P::INNERMOST;
    const FIELD: Option<&'static FieldMeta> = Some(&Self::CONTENT);
    const WAY: Option<&'static Way> = Some(&Way {
        above: P::WAY,
        field: Some(&Self::CONTENT),
        variant: Some(VariantOf {
            of: E::SHAPE,
            meta: Self::VARIANT,
        }),
    });
    type Many<X: Send> = P::Many<X>;

    fn expression(from: &str, then: &mut dyn FnMut(String) -> Bson) -> Bson {
        P::expression(from, &mut |parent| {
            let content = &Self::CONTENT;
            then(match (content.flatten, parent.as_str()) {
                (true, _) => parent,
                (false, "$") => format!("${}", content.name),
                (false, _) => format!("{parent}.{}", content.name),
            })
        })
    }

    fn assemble<X: Send>(tree: &Tree, leaf: &mut dyn FnMut(&Tree) -> Result<X>) -> Result<Self::Many<X>> {
        P::assemble(tree, leaf)
    }
}

impl<T: Compared + ?Sized, P, E, const V: usize> Holds<T> for In<P, E, V> {
    type As = T::As;
    type Stored = T;
}

impl<P: Single, E: Varied, const V: usize> Single for In<P, E, V> {}

/// Stands for a variant of an enum with `#[serde(untagged)]`: nothing in a document says which variant it has, so no path leads into
/// one.
pub struct AnUntaggedEnumHasNoPaths<E>(PhantomData<fn() -> E>);

impl<E> AnUntaggedEnumHasNoPaths<E> {
    /// The only value.
    pub const NEW: Self = AnUntaggedEnumHasNoPaths(PhantomData);
}

impl<E> Clone for AnUntaggedEnumHasNoPaths<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for AnUntaggedEnumHasNoPaths<E> {}

/// An enum with a tag.
#[diagnostic::on_unimplemented(
    message = "`{E}` is `#[serde(untagged)]`: nothing in a document says which variant it has, so none can be asked for",
    label = "an untagged enum",
    note = "give it a tag, `#[serde(tag = \"kind\")]`, or leave out `untagged`: serde marks the variant by its name then",
    note = "or ask for the whole value: `|d| d.field.eq(value)`"
)]
pub trait Tagged<E> {
    /// The condition.
    fn is<R>() -> R;
}

/// A path that leads into no variant.
#[diagnostic::on_unimplemented(
    message = "this path leads into a variant of an enum, which a document may have or not",
    note = "references in variants are not joined: load them by `odm.load(…)`, or by `find` with their ids",
    note = "copies, computed fields, buckets and links name fields that every document has: give the value a field outside of the enum"
)]
pub trait OutsideOfVariants {}

/// A field in what stands above it; of the document itself, and of a flattened value, the name is empty.
fn join(above: &str, name: &str) -> String {
    match (above, name) {
        ("", name) => name.to_owned(),
        (above, "") => above.to_owned(),
        (above, name) => format!("{above}.{name}"),
    }
}

/// An enum in a document, with the variant that it is to have.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    of: &'static EnumShape,
    variant: &'static VariantMeta,
    /// The dotted name of the enum, empty for a document that is one.
    pub(crate) at: String,
    /// Whether its parts stand in its parent, so that a variant without content has a name there too.
    inside: bool,
    /// Whether nothing is asked of its content: then it may have a name that it had before.
    pub(crate) is_alone: bool,
}

impl Expected {
    /// The names that it may be stored by. What stands in it has the first of them on its way, where there is no tag.
    fn names(&self) -> Vec<&'static str> {
        let is_on_the_way = self.of.tagging == Tagging::External && !self.is_alone;
        let aliases = self.variant.aliases.iter().filter(|_| !is_on_the_way);
        std::iter::once(self.variant.name).chain(aliases.copied()).collect()
    }

    /// Whether it is stored as the name of its variant, and nothing else.
    fn is_text(&self) -> bool {
        self.of.tagging == Tagging::External && matches!(self.variant.body, Body::Unit) && !self.inside
    }

    /// The field that says which variant there is, as far as it is one field.
    pub(crate) fn tag(&self) -> String {
        match self.of.tagging {
            Tagging::Internal(tag) | Tagging::Adjacent(tag, _) => join(&self.at, tag),
            Tagging::External if self.at.is_empty() => self.variant.name.to_owned(),
            Tagging::External | Tagging::Untagged => self.at.clone(),
        }
    }

    /// The condition that it has the variant: the one place that says so.
    pub(crate) fn condition(&self) -> Document {
        let names = self.names();
        if self.of.tagging == Tagging::External && !self.is_text() {
            let there = |name: &&str| doc! { join(&self.at, name): { "$exists": true } };
            let mut any: Vec<Document> = names.iter().map(there).collect();
            return match any.as_mut_slice() {
                [one] => std::mem::take(one),
                _ => doc! { "$or": any },
            };
        }
        match names.as_slice() {
            [one] => doc! { self.tag(): { "$eq": *one } },
            names => doc! { self.tag(): { "$in": names } },
        }
    }

    /// The same in an expression.
    pub(crate) fn expression(&self) -> Bson {
        let of = |name: &str| Bson::from(format!("${name}"));
        if self.of.tagging == Tagging::External && !self.is_text() {
            let there = |name| doc! { "$ne": [{ "$type": of(&join(&self.at, name)) }, "missing"] };
            let any: Vec<Document> = self.names().into_iter().map(there).collect();
            return doc! { "$or": any }.into();
        }
        let is = |name: &str| doc! { "$eq": [of(&self.tag()), { "$literal": name }] };
        let any: Vec<Document> = self.names().into_iter().map(is).collect();
        doc! { "$or": any }.into()
    }

    /// The error, where what is stored in [`tag`](Expected::tag) says that there is another variant.
    pub(crate) fn refusal(&self, collection: &'static str, id: &Bson, stored: Option<&Bson>) -> Option<Error> {
        let found = match stored {
            // Of a value whose parts stand in its parent it is the content.
            Some(_) if self.of.tagging == Tagging::External && self.at.is_empty() => return None,
            Some(Bson::Document(content)) => content.keys().next().cloned(),
            Some(Bson::String(name)) => Some(name.clone()),
            _ => None,
        };
        if found.as_deref().is_some_and(|found| self.names().contains(&found)) {
            return None;
        }
        Some(Error::OtherVariant {
            collection,
            id: Box::new(id.clone()),
            field: match self.at.as_str() {
                "" => self.tag(),
                at => at.to_owned(),
            },
            expected: self.variant.name,
            found,
        })
    }
}

/// The part of a way from the document, or from an array's item, to the next array of which an item has to have a variant.
#[derive(Debug, Default)]
pub(crate) struct Level {
    /// The array in whose items it begins, by its name from the level above; `None` for the document.
    pub(crate) array: Option<String>,
    /// The variants that must be there, with names from where the level begins.
    pub(crate) expected: Vec<Expected>,
}

/// The variants that must be there on a way, level by level. An array without a variant behind it begins none.
pub(crate) fn levels(way: Option<&'static Way>) -> Vec<Level> {
    let mut steps = Vec::new();
    let mut next = way;
    while let Some(way) = next {
        steps.push(way);
        next = way.above;
    }
    let mut levels = vec![Level::default()];
    let (mut at, mut array) = (String::new(), None);
    let mut inside = false;
    for way in steps.into_iter().rev() {
        let Some(field) = way.field else {
            array = Some(at.clone());
            inside = false;
            continue;
        };
        if let Some(VariantOf { of, meta }) = way.variant {
            if let Some(array) = array.take() {
                let rest = at.strip_prefix(array.as_str()).unwrap_or_default();
                at = rest.trim_start_matches('.').to_owned();
                levels.push(Level {
                    array: Some(array),
                    expected: Vec::new(),
                });
            }
            if let Some(last) = levels.last_mut() {
                last.expected.push(Expected {
                    of,
                    variant: meta,
                    at: at.clone(),
                    inside,
                    is_alone: false,
                });
            }
        }
        if !field.flatten {
            at = join(&at, field.name);
        }
        inside = field.flatten;
    }
    levels
}
