//! Paths into the variants of enums: what stands in a variant, and the tag that says that a document has it.
//!
//! A variant is a step of a path, so the path itself says which variants have to hold. Two variants may have fields of one name:
//! every condition on what is in a variant is on the tag too.

use crate::model::meta::options::{InVariant, together};
use crate::model::meta::{Body, Bounds, EnumShape, FieldMeta, Shape, Tagging, VariantMeta};
use crate::model::path::{
    Fielded, Holds, Joined, LeadsToOneValue, NoPart, Single, Step, VariantOf, Varied, Way,
};
use crate::model::shape;
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
                shape: content::<E, V>,
                bounds: Bounds::NONE,
                flatten,
                ..FieldMeta::opaque(Self::VARIANT.name, name, E::SHAPE.name)
            },
        }
    };
    const JOINED: Joined = Joined::new(P::PATH, Self::CONTENT.name, Self::CONTENT.flatten);
}

/// The shape of the content of a variant that is no newtype.
fn content<E: Varied, const V: usize>() -> Shape {
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
    type Part = P::Below<NoPart>;
    type Below<X> = P::Below<X>;

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

#[doc(hidden)]
#[diagnostic::do_not_recommend]
impl<T: Compared + ?Sized, P, E, const V: usize> Holds<T> for In<P, E, V> {
    type As = T::As;
    type Stored = T;
}

#[doc(hidden)]
#[diagnostic::do_not_recommend]
impl<P: Single, E: Varied, const V: usize> Single for In<P, E, V> {}
#[diagnostic::do_not_recommend]
impl<P: LeadsToOneValue, E: Varied, const V: usize> LeadsToOneValue for In<P, E, V> {}

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
    note = "give it a tag, `#[embed(tag = \"kind\")]`, or leave out `untagged`: the name of the variant stands around its content then",
    note = "or ask for the whole value: `|d| d.field.eq(value)`"
)]
pub trait Tagged<E> {
    /// The condition.
    fn is<R>() -> R;
}

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
    at: String,
    /// Whether its parts stand in its parent, so that a variant without content has a name there too.
    inside: bool,
}

impl Expected {
    /// Whether it is stored as the name of its variant, and nothing else.
    fn is_text(&self) -> bool {
        self.of.tagging == Tagging::External && matches!(self.variant.body, Body::Unit) && !self.inside
    }

    /// The stored name of the variant.
    pub(crate) fn name(&self) -> &'static str {
        self.variant.name
    }

    /// The name of the enum in messages.
    pub(crate) fn label(&self) -> String {
        match self.at.as_str() {
            "" => self.tag(),
            at => at.to_owned(),
        }
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
        if self.of.tagging == Tagging::External && !self.is_text() {
            return doc! { join(&self.at, self.name()): { "$exists": true } };
        }
        doc! { self.tag(): { "$eq": self.name() } }
    }

    /// The same in an expression.
    pub(crate) fn expression(&self) -> Bson {
        let of = |name: &str| Bson::from(format!("${name}"));
        if self.of.tagging == Tagging::External && !self.is_text() {
            let there = of(&join(&self.at, self.name()));
            return doc! { "$ne": [{ "$type": there }, "missing"] }.into();
        }
        doc! { "$eq": [of(&self.tag()), { "$literal": self.name() }] }.into()
    }

    /// The error, where what is stored in [`tag`](Expected::tag) says that there is another variant.
    pub(crate) fn refusal(
        &self,
        collection: &'static str,
        id: &Bson,
        stored: Option<&Bson>,
    ) -> Option<Error> {
        let found = match stored {
            // Of a value whose parts stand in its parent it is the content.
            Some(_) if self.of.tagging == Tagging::External && self.at.is_empty() => return None,
            Some(Bson::Document(content)) if content.contains_key(self.name()) => return None,
            Some(Bson::Document(content)) if !self.inside => content.keys().next().cloned(),
            Some(Bson::String(name)) => Some(name.clone()),
            _ => None,
        };
        if found.as_deref() == Some(self.name()) {
            return None;
        }
        Some(Error::OtherVariant {
            collection,
            id: Box::new(id.clone()),
            field: self.label(),
            expected: self.variant.name,
            found,
        })
    }
}

/// The part of a way from the document, or from an array's item, to the next array of which an item has to have a variant.
#[derive(Debug, Default)]
pub(crate) struct VariantLevel {
    /// The array in whose items it begins, by its name from the level above; `None` for the document.
    pub(crate) array: Option<String>,
    /// The variants that must be there, with names from where the level begins.
    pub(crate) expected: Vec<Expected>,
}

/// The variants that must be there on a way, level by level. An array without a variant behind it begins none.
pub(crate) fn levels(way: Option<&'static Way>) -> Vec<VariantLevel> {
    let mut steps = Vec::new();
    let mut next = way;
    while let Some(way) = next {
        steps.push(way);
        next = way.above;
    }
    let mut levels = vec![VariantLevel::default()];
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
                levels.push(VariantLevel {
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

/// The innermost variant that documents have to have for a path to lead somewhere. That of an array's items is none of the documents.
pub const fn of_documents<P: Step>() -> Option<InVariant> {
    let (mut next, mut found) = (P::WAY, None);
    while let Some(way) = next {
        if way.field.is_none() {
            found = None;
        } else if found.is_none() {
            found = way.variant;
        }
        next = way.above;
    }
    match found {
        Some(VariantOf { of, meta }) => Some(InVariant {
            of: of.name,
            variant: meta.name,
            condition: of_document::<P>,
        }),
        None => None,
    }
}

fn of_document<P: Step>() -> Document {
    let level = levels(P::WAY).into_iter().next().unwrap_or_default();
    let conditions = level.expected.iter().map(Expected::condition);
    conditions.reduce(together).unwrap_or_default()
}

/// That the variants on a way are there, in an expression; `None` where none is, or where what is in it is missing without it.
pub(crate) fn expression(way: Option<&'static Way>) -> Option<Bson> {
    let (mut all, mut above) = (Vec::new(), String::new());
    for level in levels(way) {
        above = join(&above, level.array.as_deref().unwrap_or_default());
        for expected in level.expected {
            let is_implied = expected.of.tagging == Tagging::External && !way.is_some_and(Way::has_default);
            let at = join(&above, &expected.at);
            all.extend((!is_implied).then(|| Expected { at, ..expected }.expression()));
        }
    }
    match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some(doc! { "$and": all }.into()),
    }
}

/// The structs within a variant, and its content, that need not be there around what a way ends at: their dotted names.
pub(crate) fn around(way: Option<&'static Way>) -> Vec<String> {
    let mut steps = Vec::new();
    let mut next = way;
    while let Some(way) = next {
        steps.extend(way.field.map(|field| (field, way.variant.is_some())));
        next = way.above;
    }
    let (mut at, mut found, mut is_within) = (String::new(), Vec::new(), false);
    for (field, is_variant) in steps.iter().skip(1).rev() {
        is_within |= is_variant;
        if !field.flatten {
            at = join(&at, field.name);
            if is_within && (!field.required || shape::may_be_null(shape::of_field(field))) {
                found.push(at.clone());
            }
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod fixture {
    //! An order with an enum, and an array of them.

    use super::*;
    use crate::expansion_fixture::FIELD;
    use crate::model::path::{At, Each, Root};

    pub(crate) struct Order;
    pub(crate) struct Status;
    pub(crate) struct Parcel;

    const fn field(name: &'static str, shape: fn() -> Shape) -> FieldMeta {
        FieldMeta { name, shape, ..FIELD }
    }

    impl Fielded for Order {
        const FIELDS: &'static [FieldMeta] = &[
            field("status", || Shape::Enum(Status::SHAPE)),
            field("steps", || Shape::Array(|| Shape::Enum(Status::SHAPE))),
            field("parcel", || Shape::Enum(Parcel::SHAPE)),
        ];
    }

    const fn variant(name: &'static str, body: Body) -> VariantMeta {
        VariantMeta {
            name,
            json: None,
            body,
        }
    }

    const SHIPPED: &crate::model::meta::StructShape = &crate::model::meta::StructShape {
        ty: None,
        name: "Shipped",
        fields: &[
            field("tracking", || Shape::String),
            field("place", || Shape::Optional(|| Shape::Struct(SHIPPED))),
        ],
        deny_unknown: false,
    };

    impl Varied for Status {
        const SHAPE: &'static EnumShape = &EnumShape {
            ty: None,
            name: "Status",
            tagging: Tagging::Internal("kind"),
            variants: &[
                variant("Draft", Body::Unit),
                variant("Shipped", Body::Struct(SHIPPED)),
            ],
        };
    }

    impl Varied for Parcel {
        const SHAPE: &'static EnumShape = &EnumShape {
            ty: None,
            name: "Parcel",
            tagging: Tagging::External,
            variants: &[
                variant("Unknown", Body::Unit),
                variant("Sealed", Body::Struct(SHIPPED)),
            ],
        };
    }

    pub(crate) type Shipped = In<At<Root, Order, 0>, Status, 1>;
    pub(crate) type Tracking = At<Shipped, Variant<Status, 1>, 0>;
    pub(crate) type Step = In<Each<At<Root, Order, 1>>, Status, 1>;
    pub(crate) type OfStep = At<Step, Variant<Status, 1>, 0>;
    pub(crate) type Unknown = In<At<Root, Order, 2>, Parcel, 0>;
    pub(crate) type Sealed = In<At<Root, Order, 2>, Parcel, 1>;
    pub(crate) type Place = At<At<Sealed, Variant<Parcel, 1>, 1>, Variant<Parcel, 1>, 0>;
}

#[cfg(test)]
mod tests {
    use super::fixture::*;
    use super::{Expected, around, expression, levels, of_documents};
    use crate::Error;
    use crate::model::path::{Step as _, Way};
    use mongodb::bson::{Bson, Document, doc};

    fn only(way: Option<&'static Way>) -> Expected {
        let mut all = levels(way).into_iter().flat_map(|level| level.expected);
        let only = all.next().expect("a variant");
        assert!(all.next().is_none());
        only
    }

    #[test]
    fn a_way_says_which_variants_there_must_be() {
        assert_eq!(
            (Tracking::PATH, Place::PATH),
            ("status.tracking", "parcel.Sealed.place.tracking")
        );
        let condition = |way| only(way).condition();
        assert_eq!(
            condition(Tracking::WAY),
            doc! { "status.kind": { "$eq": "Shipped" } }
        );
        assert_eq!(
            condition(Place::WAY),
            doc! { "parcel.Sealed": { "$exists": true } }
        );
        let step = levels(OfStep::WAY);
        assert_eq!(step[1].array.as_deref(), Some("steps"));
        assert_eq!(
            step[1].expected[0].condition(),
            doc! { "kind": { "$eq": "Shipped" } }
        );
        assert_eq!(
            condition(Sealed::WAY),
            doc! { "parcel.Sealed": { "$exists": true } }
        );
        assert_eq!(condition(Unknown::WAY), doc! { "parcel": { "$eq": "Unknown" } });
    }

    #[test]
    fn an_index_goes_by_what_documents_have() {
        let filter =
            |variant: Option<crate::model::meta::options::InVariant>| variant.map(|of| (of.condition)());
        let expected: Document = doc! { "status.kind": { "$eq": "Shipped" } };
        assert_eq!(filter(of_documents::<Tracking>()), Some(expected));
        assert!(of_documents::<OfStep>().is_none());
    }

    #[test]
    fn another_variant_is_null_to_an_expression() {
        let is = doc! { "$eq": ["$status.kind", { "$literal": "Shipped" }] };
        assert_eq!(expression(Tracking::WAY), Some(is.into()));
        let is = doc! { "$eq": ["$steps.kind", { "$literal": "Shipped" }] };
        assert_eq!(expression(OfStep::WAY), Some(is.into()));
        // It is missing then.
        assert_eq!(expression(Place::WAY), None);
    }

    #[test]
    fn a_struct_in_a_variant_may_be_missing() {
        assert_eq!(around(Place::WAY), ["parcel.Sealed.place"]);
        assert!(around(Tracking::WAY).is_empty());
    }

    #[test]
    fn the_error_names_the_variant_that_is_there() {
        let refusal =
            |way, stored: Option<Bson>| only(way).refusal("orders", &Bson::Int32(1), stored.as_ref());
        assert!(refusal(Tracking::WAY, Some("Shipped".into())).is_none());
        assert!(refusal(Place::WAY, Some(doc! { "Sealed": {} }.into())).is_none());
        for (way, stored, has) in [
            (Tracking::WAY, Some("Draft".into()), Some("Draft")),
            (Tracking::WAY, None, None),
            (Place::WAY, Some("Unknown".into()), Some("Unknown")),
            (Place::WAY, Some(doc! { "Closed": {} }.into()), Some("Closed")),
            (Place::WAY, Some(Bson::Null), None),
        ] {
            let Some(Error::OtherVariant { found, .. }) = refusal(way, stored) else {
                panic!("{has:?}");
            };
            assert_eq!(found.as_deref(), has);
        }
    }
}
