//! Copies of copies: whether a field is a copy of itself in the end, as far as `#[denormalize(from = reference.field)]` tells.
//!
//! Every document has [`CopiesOf`] for the positions of its fields, as constants that name those of the documents that are copied
//! from. Only the constant of a field that is asked for is computed, so documents may copy from each other.

use super::message::about;
use super::reference::before;
use crate::model::path::{At, Path, StoredAs};
use crate::model::shape::same;
use crate::model::size::Message;
use std::marker::PhantomData;

/// A number of steps that are still followed: a type, since a constant that needs itself is an error in the compiler's own words.
pub trait Steps {
    /// One fewer.
    type Fewer: Steps;
    /// Whether none is left.
    const NONE: bool = false;
}

/// No further step.
pub struct Last;
/// One step more than `S`.
pub struct One<S>(PhantomData<S>);

impl Steps for Last {
    type Fewer = Last;
    const NONE: bool = true;
}
impl<S: Steps> Steps for One<S> {
    type Fewer = S;
}

type Four<S> = One<One<One<One<S>>>>;
/// The steps from a field to that which it is a copy of in the end.
pub type AllSteps = Four<Four<Four<Four<Last>>>>;
const GREATEST: usize = 16;

/// A field on the way from a copy to its source.
#[derive(Clone, Copy)]
struct Field {
    /// The place of the derive: two documents may have one name. A macro may make several at one place.
    place: &'static str,
    owner: &'static str,
    name: &'static str,
}

const NO_FIELD: Field = Field {
    place: "",
    owner: "",
    name: "",
};

/// The fields on the way from a copy to its source.
#[derive(Clone, Copy)]
pub struct Way {
    fields: [Field; GREATEST],
    len: usize,
}

impl Way {
    /// Of a field that is no copy.
    pub const END: Way = Way {
        fields: [NO_FIELD; GREATEST],
        len: 0,
    };

    /// Of a copy, before the way of its source.
    pub const fn of(place: &'static str, owner: &'static str, name: &'static str, source: Way) -> Way {
        let mut way = Way {
            fields: [NO_FIELD; GREATEST],
            len: 1,
        };
        way.fields[0] = Field { place, owner, name };
        while way.len < GREATEST && way.len <= source.len {
            way.fields[way.len] = source.fields[way.len - 1];
            way.len += 1;
        }
        way
    }

    /// The number of fields until the first one comes again.
    const fn circle(&self) -> Option<usize> {
        let mut i = 1;
        while i < self.len {
            let (first, other) = (&self.fields[0], &self.fields[i]);
            if same(other.name, first.name)
                && same(other.owner, first.owner)
                && same(other.place, first.place)
            {
                return Some(i);
            }
            i += 1;
        }
        None
    }
}

/// The way from the field at a position of a document.
pub trait CopiesOf<const FIELD: usize, S> {
    /// It ends at once where the field is no copy.
    const WAY: Way = Way::END;
}

/// The way from the field that a path ends in.
pub trait EndsIn<S> {
    /// As of the document with this field.
    const WAY: Way;
}

impl<P, T: CopiesOf<I, S>, const I: usize, S> EndsIn<S> for At<P, T, I> {
    const WAY: Way = T::WAY;
}

impl<P: EndsIn<S>, T, S> EndsIn<S> for StoredAs<P, T> {
    const WAY: Way = P::WAY;
}

/// The way from the source of a copy, which the path names; it ends where no step is left.
pub const fn way<S: Steps, R, T, P: EndsIn<S::Fewer>, C>(_: fn() -> Path<R, T, P, C>) -> Way {
    if S::NONE {
        Way::END
    } else {
        follow::<P, S::Fewer>()
    }
}

/// A function of its own, since the constants that a function names are computed as soon as it is called.
const fn follow<P: EndsIn<S>, S>() -> Way {
    P::WAY
}

/// A copy is not one of itself.
pub const fn circular(way: &Way, owner: &str, field: &str, ty: &str) -> Option<Message> {
    let Some(len) = way.circle() else { return None };
    // The mistake is one: it is said at the first of the fields.
    let mut i = 1;
    while i < len {
        if before(way.fields[i].owner, way.fields[i].name, owner, field) {
            return None;
        }
        i += 1;
    }
    let mut message = about(owner, field, ty)
        .text(" is a copy of itself in the end, so each update would cause another one, without end: ");
    let mut i = 0;
    while i < len {
        let (copy, source) = (way.fields[i], way.fields[i + 1]);
        message = message
            .text(if i > 0 { ", and `" } else { "`" })
            .text(copy.owner)
            .text(".")
            .text(copy.name)
            .text("` is a copy of `")
            .text(source.owner)
            .text(".")
            .text(source.name)
            .text("`");
        i += 1;
    }
    Some(message.text(
        ". Store the value in one of them without `#[denormalize]`, or have it copied once: `consistency = snapshot`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(way: Way) -> String {
        let Field { owner, name, .. } = way.fields[0];
        circular(&way, owner, name, "String").map_or_else(String::new, |message| message.as_str().to_owned())
    }

    fn of(owner: &'static str, field: &'static str, source: Way) -> Way {
        Way::of(owner, owner, field, source)
    }

    #[test]
    fn a_circle_is_reported_once_and_names_its_fields() {
        let two = of("A", "y", of("B", "x", of("A", "y", Way::END)));
        assert_eq!(
            said(two),
            "`A.y: String` is a copy of itself in the end, so each update would cause another one, without end: `A.y` is a copy of \
             `B.x`, and `B.x` is a copy of `A.y`. Store the value in one of them without `#[denormalize]`, or have it copied once: \
             `consistency = snapshot`"
        );
        assert_eq!(said(of("B", "x", of("A", "y", of("B", "x", Way::END)))), "");
        let one = of("A", "y", of("A", "y", Way::END));
        assert!(
            said(one).contains("without end: `A.y` is a copy of `A.y`. Store"),
            "{}",
            said(one)
        );
    }

    #[test]
    fn a_way_that_ends_is_no_circle() {
        assert_eq!(said(of("A", "y", of("B", "x", Way::END))), "");
        let mut long = Way::END;
        for _ in 0..GREATEST + 3 {
            long = of("B", "x", long);
        }
        assert_eq!(long.len, GREATEST);
        // Of a document that a macro has made at the same place, and of another one with the same name.
        assert_eq!(
            said(Way::of("here", "A", "y", Way::of("here", "B", "y", Way::END))),
            ""
        );
        assert_eq!(
            said(Way::of("here", "A", "y", Way::of("there", "A", "y", Way::END))),
            ""
        );
        // Into a circle that it is no part of.
        assert_eq!(said(of("A", "y", long)), "");
    }
}
