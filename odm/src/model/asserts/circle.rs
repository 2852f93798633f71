//! Fields that are derived from themselves in the end: by copies, by the copies in structs that embed them or stand beside a
//! reference, by subsets, and by computed fields.
//!
//! Every document and every embedded struct has [`CopiesOf`] for the positions of its fields, as constants that name those of the
//! documents that are read. Only the constant of a field that is asked for is computed, so documents may copy from each other.
//! The fields that a condition on children reads are known when it runs: `Odm::new` compares these.

use super::message::about;
use super::reference::before;
use crate::model::path::{At, Each, Kept, Maybe, Path, Root, StoredAs};
use crate::model::shape::same;
use crate::model::size::Message;
use crate::model::variant::{In, Variant};
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
/// The steps from a field to those that it is derived from in the end.
pub type AllSteps = Four<Four<Four<Four<Last>>>>;
/// The fields that are followed from one of them.
const GREATEST: usize = 32;

/// A derived field.
#[derive(Clone, Copy)]
struct Field {
    /// The place of the derive: two documents may have one name. A macro may make several at one place.
    place: &'static str,
    owner: &'static str,
    name: &'static str,
    /// How the field is made of its sources.
    relation: &'static str,
}

/// A field that is a copy.
pub const COPY: &str = "is a copy of";
/// A subset.
pub const SUBSET: &str = "is a subset ordered by";
/// A computed field.
pub const COMPUTED: &str = "is computed of";

const NO_FIELD: Field = Field {
    place: "",
    owner: "",
    name: "",
    relation: "",
};

impl Field {
    const fn is(&self, other: &Field) -> bool {
        same(self.name, other.name) && same(self.owner, other.owner) && same(self.place, other.place)
    }
}

/// A derived field, the derived ones among its sources, and theirs in turn.
#[derive(Clone, Copy)]
pub struct Way {
    /// The first is the field itself; none, where it is about the sources of something else.
    fields: [Field; GREATEST],
    /// The position of the field that each is a source of.
    reader: [usize; GREATEST],
    len: usize,
    /// The position of a field of which the first one is a source.
    circle: Option<usize>,
}

impl Way {
    /// Of a field that is not derived.
    pub const END: Way = Way {
        fields: [NO_FIELD; GREATEST],
        reader: [0; GREATEST],
        len: 0,
        circle: None,
    };
    /// To sources that are added.
    const NO_FIELD: Way = Way { len: 1, ..Way::END };

    /// Of a derived field, to sources that are added.
    pub const fn of(
        place: &'static str,
        owner: &'static str,
        name: &'static str,
        relation: &'static str,
    ) -> Way {
        let mut way = Way::NO_FIELD;
        way.fields[0] = Field {
            place,
            owner,
            name,
            relation,
        };
        way
    }

    /// With a source.
    const fn and(self, source: &Way) -> Way {
        self.joined(source, 0)
    }

    /// With the sources of something else.
    pub const fn and_those(self, of: &Way) -> Way {
        self.joined(of, 1)
    }

    const fn joined(mut self, other: &Way, first: usize) -> Way {
        // The positions in this one of the fields of the other.
        let mut positions = [0; GREATEST];
        let mut i = first;
        while i < other.len {
            let reader = if i == 0 { 0 } else { positions[other.reader[i]] };
            let mut at = 0;
            while at < self.len && !self.fields[at].is(&other.fields[i]) {
                at += 1;
            }
            if at == 0 && self.circle.is_none() && reader < GREATEST {
                self.circle = Some(reader);
            }
            if at == self.len && at < GREATEST && reader < GREATEST {
                self.fields[at] = other.fields[i];
                self.reader[at] = reader;
                self.len += 1;
            }
            positions[i] = at;
            i += 1;
        }
        self
    }
}

/// The way from the field at a position of a document, or of a struct that is embedded in one.
pub trait CopiesOf<const FIELD: usize, S> {
    /// It ends at once where the field is not derived.
    const WAY: Way = Way::END;
}

impl<E, const V: usize, const FIELD: usize, S> CopiesOf<FIELD, S> for Variant<E, V> {}

/// The ways from the fields on a path: those of the struct that it ends in, and of what that stands in.
pub trait EndsIn<S> {
    /// The fields are the sources of something else.
    const WAY: Way;
}

impl<P: EndsIn<S>, T: CopiesOf<I, S>, const I: usize, S> EndsIn<S> for At<P, T, I> {
    const WAY: Way = Way::NO_FIELD.and(&T::WAY).and_those(&P::WAY);
}

impl<S> EndsIn<S> for Root {
    const WAY: Way = Way::END;
}

macro_rules! steps_to_no_other_field {
    ($([$($p:tt)*] $ty:ty,)*) => {$(
        impl<P: EndsIn<S>, S, $($p)*> EndsIn<S> for $ty {
            const WAY: Way = P::WAY;
        }
    )*};
}

steps_to_no_other_field! {
    [] Each<P>, [] Kept<P>, [] Maybe<P>, [T] StoredAs<P, T>, [E, const V: usize] In<P, E, V>,
}

/// The ways from a source, which the path names; they end where no step is left.
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

/// A field is not derived from itself.
pub const fn circular(way: &Way, owner: &str, field: &str, ty: &str) -> Option<Message> {
    let Some(last) = way.circle else { return None };
    // The fields from the first one to the last one, which it is a source of.
    let (mut circle, mut len, mut at) = ([NO_FIELD; GREATEST], 1, last);
    while at > 0 {
        len += 1;
        at = way.reader[at];
    }
    let (mut i, mut at, mut copies) = (len, last, true);
    while i > 0 {
        i -= 1;
        circle[i] = way.fields[at];
        copies = copies && same(circle[i].relation, COPY);
        // The mistake is one: it is said at the first of the fields.
        if before(circle[i].owner, circle[i].name, owner, field) {
            return None;
        }
        at = way.reader[at];
    }
    let message = about(owner, field, ty);
    let mut message = if copies {
        message.text(" is a copy of itself in the end")
    } else {
        message.text(" is derived from itself in the end")
    };
    message = message.text(", so each update would cause another one, without end: ");
    let mut i = 0;
    while i < len {
        let (derived, source) = (circle[i], circle[(i + 1) % len]);
        message = message
            .text(if i > 0 { ", and `" } else { "`" })
            .text(derived.owner)
            .text(".")
            .text(derived.name)
            .text("` ")
            .text(derived.relation)
            .text(" `")
            .text(source.owner)
            .text(".")
            .text(source.name)
            .text("`");
        i += 1;
    }
    Some(message.text(if copies {
        ". Store the value in one of them without `#[denormalize]`, or have it copied once: `consistency = snapshot`"
    } else {
        ". Leave one of them out, and compute it when it is asked for, by `aggregate()`; or have a copied value copied once: \
         `consistency = snapshot`"
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(way: Way) -> String {
        let Field { owner, name, .. } = way.fields[0];
        circular(&way, owner, name, "String").map_or_else(String::new, |message| message.as_str().to_owned())
    }

    fn of(owner: &'static str, field: &'static str, source: Way) -> Way {
        Way::of(owner, owner, field, COPY).and(&source)
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
    fn a_circle_is_found_behind_one_of_several_sources() {
        let other = of("D", "w", of("E", "v", Way::END));
        let first = Way::of("A", "A", "y", COMPUTED).and(&other);
        let back = Way::of("C", "C", "z", SUBSET)
            .and(&other)
            .and(&of("A", "y", Way::END));
        let found = said(first.and_those(&Way::NO_FIELD.and(&of("B", "x", back))));
        assert!(
            found.contains(
                "is derived from itself in the end, so each update would cause another one, without end: `A.y` is computed of \
                 `B.x`, and `B.x` is a copy of `C.z`, and `C.z` is a subset ordered by `A.y`. Leave"
            ),
            "{found}"
        );
        assert_eq!(said(first), "");
    }

    #[test]
    fn a_way_that_ends_is_no_circle() {
        assert_eq!(said(of("A", "y", of("B", "x", Way::END))), "");
        const NAMES: &str = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
        let mut long = Way::END;
        for i in 0..GREATEST + 3 {
            long = of("B", &NAMES[i..], long);
        }
        assert_eq!(long.len, GREATEST);
        // Of a document that a macro has made at the same place, and of another one with the same name.
        for (place, owner) in [("here", "B"), ("there", "A")] {
            let source = Way::of(place, owner, "y", COPY);
            assert_eq!(said(Way::of("here", "A", "y", COPY).and(&source)), "");
        }
        // Into a circle that it is no part of.
        let circle = of("B", "x", of("C", "z", of("B", "x", Way::END)));
        assert_eq!(said(of("A", "y", circle)), "");
    }
}
