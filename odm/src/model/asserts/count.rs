//! Assertions on constants in declarations, `#[embed(max = limits::TAGS)]`: what the derive checks of a literal, whose
//! value it sees.

use super::message::about;
use crate::model::shape::Number;
use crate::model::size::Message;

/// A number that counts something.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no whole number, and a declaration counts in whole numbers",
    label = "not an integer",
    note = "a constant of any type of integer is taken: `const MOST: usize = 20;` and `max = MOST`"
)]
pub trait Whole: Copy {}

/// A number by which values are bounded.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number, and `min` and `max` bound a number",
    label = "not a number",
    note = "a constant of any type of integer or float is taken: `const LEAST: i32 = -5;` and `min = LEAST`"
)]
pub trait Bounding: Copy {
    /// Whether it is compared as a float.
    const FLOAT: bool;
}

macro_rules! numbers {
    ($($whole:ty)*; $($float:ty)*) => {
        $(
            impl Whole for $whole {}
            impl Bounding for $whole {
                const FLOAT: bool = false;
            }
        )*
        $(
            impl Bounding for $float {
                const FLOAT: bool = true;
            }
        )*
    };
}

numbers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize; f32 f64);

/// The same number, where it is a whole one.
pub const fn whole<N: Whole>(n: N) -> N {
    n
}

/// The number as declarations keep it. One that is negative or too large has an assertion of its own.
pub const fn unsigned(n: i128) -> u64 {
    if n < 0 {
        0
    } else if n > u64::MAX as i128 {
        u64::MAX
    } else {
        n as u64
    }
}

/// Whether a bound is compared as a float.
pub const fn is_float<N: Bounding>(_: N) -> bool {
    N::FLOAT
}

/// The bound of which this is the value, as a float and as an integer. One that fits neither has an assertion of its own.
pub const fn bound(is_float: bool, float: f64, whole: i128) -> Number {
    if is_float {
        Number::Float(float)
    } else if whole > i64::MAX as i128 {
        Number::Int(i64::MAX)
    } else if whole < i64::MIN as i128 {
        Number::Int(i64::MIN)
    } else {
        Number::Int(whole as i64)
    }
}

/// The values that an option takes.
pub struct Takes {
    option: &'static str,
    least: u64,
    /// `u64::MAX`: any number.
    greatest: u64,
    reason: &'static str,
}

const RULE_THREE: &str = ". Rule three: arrays do not grow without end; above some thousands, not even ids. Let each of the other \
                          documents name this one by `#[parent_ref]`, and read them with `.children::<Child>()`";

impl Takes {
    const fn new(option: &'static str, least: u64, greatest: u64, reason: &'static str) -> Takes {
        Takes {
            option,
            least,
            greatest,
            reason,
        }
    }

    /// `#[embed(max = N)]`.
    pub const ITEMS: Takes = Takes::new(
        "max",
        1,
        16_777_216,
        ", MongoDB's limit in bytes for one document",
    );
    /// `#[embed(key_len = N)]`.
    pub const KEY_LEN: Takes = Takes::new("key_len", 1, u64::MAX, "");
    /// `#[embed(depth = N)]`.
    pub const DEPTH: Takes = Takes::new("depth", 1, 100, ", MongoDB's limit of levels");
    /// `#[field(max_len = N)]`.
    pub const MAX_LEN: Takes = Takes::new("max_len", 1, u64::MAX, "");
    /// `#[field(min_len = N)]`.
    pub const MIN_LEN: Takes = Takes::new("min_len", 0, u64::MAX, "");
    /// `#[field(multiple_of = N)]`.
    pub const MULTIPLE_OF: Takes = Takes::new("multiple_of", 1, i64::MAX as u64, "");
    /// `#[reference(many, max = N)]`.
    pub const REFERENCES: Takes = Takes::new("max", 1, 5_000, RULE_THREE);
    /// `#[reference(many, expected = N)]`.
    pub const EXPECTED: Takes = Takes::new("expected", 0, 5_000, RULE_THREE);
    /// `#[subset(limit = N)]`.
    pub const SUBSET: Takes = Takes::new(
        "limit",
        1,
        5_000,
        ". Rule three: arrays do not grow without end; every write of a child rewrites this one",
    );
    /// `#[bucket(size = N)]`.
    pub const BUCKET: Takes = Takes::new(
        "size",
        1,
        5_000,
        ". A bucket is read and rewritten as a whole; what belongs to the same parent goes on in a next bucket by itself",
    );
}

/// A constant is within what its option takes.
pub const fn counted(takes: &Takes, n: i128, owner: &str, field: &str, ty: &str) -> Option<Message> {
    if n >= takes.least as i128 && n <= takes.greatest as i128 {
        return None;
    }
    let is = about(owner, field, ty)
        .text(" is declared with `")
        .text(takes.option)
        .text("` = ");
    let is = if n < 0 { is.text("-") } else { is };
    let takes_from = is
        .number(unsigned(if n < 0 { -n } else { n }))
        .text(" (the value of a constant), which takes ")
        .number(takes.least);
    Some(match takes.greatest {
        u64::MAX => takes_from.text(" or more"),
        greatest => takes_from.text(" to ").number(greatest).text(takes.reason),
    })
}

/// Of two options of one field, the first is not greater.
pub const fn in_order(
    least: (&str, i128),
    greatest: (&str, i128),
    owner: &str,
    field: &str,
    ty: &str,
) -> Option<Message> {
    if least.1 <= greatest.1 {
        return None;
    }
    Some(not_in_order(least.0, greatest.0, owner, field, ty))
}

/// `min` is not greater than `max`.
pub const fn range_in_order(min: Number, max: Number, owner: &str, field: &str, ty: &str) -> Option<Message> {
    let in_order = match (min, max) {
        (Number::Int(min), Number::Int(max)) => min <= max,
        (Number::Int(min), Number::Float(max)) => min as f64 <= max,
        (Number::Float(min), Number::Int(max)) => min <= max as f64,
        (Number::Float(min), Number::Float(max)) => min <= max,
    };
    if in_order {
        return None;
    }
    Some(not_in_order("min", "max", owner, field, ty))
}

const fn not_in_order(least: &str, greatest: &str, owner: &str, field: &str, ty: &str) -> Message {
    about(owner, field, ty)
        .text(" is declared with a `")
        .text(least)
        .text("` greater than its `")
        .text(greatest)
        .text("`, so nothing fits both. Exchange the constants, or write others")
}

/// The default of a number is in its range.
pub const fn default_in_range(
    default: Number,
    min: Option<Number>,
    max: Option<Number>,
    owner: &str,
    field: &str,
    ty: &str,
) -> Option<Message> {
    if let Some(min) = min
        && float(default) < float(min)
    {
        return Some(default_refused("below its `min`", owner, field, ty));
    }
    if let Some(max) = max
        && float(default) > float(max)
    {
        return Some(default_refused("above its `max`", owner, field, ty));
    }
    None
}

const fn float(number: Number) -> f64 {
    match number {
        Number::Int(number) => number as f64,
        Number::Float(number) => number,
    }
}

/// The default of a text has a length that is allowed.
pub const fn default_of_length(
    length: i128,
    min: Option<i128>,
    max: Option<i128>,
    owner: &str,
    field: &str,
    ty: &str,
) -> Option<Message> {
    if let Some(min) = min
        && length < min
    {
        return Some(default_refused("shorter than its `min_len`", owner, field, ty));
    }
    if let Some(max) = max
        && length > max
    {
        return Some(default_refused("longer than its `max_len`", owner, field, ty));
    }
    None
}

const fn default_refused(how: &str, owner: &str, field: &str, ty: &str) -> Message {
    about(owner, field, ty)
        .text(" has a default that is ")
        .text(how)
        .text(", so no document with it could be written. Write a default that the rules of the field allow")
}

/// The value of `min` or `max` is one that values are compared with.
pub const fn bounding(
    option: &str,
    (is_float, float, whole): (bool, f64, i128),
    owner: &str,
    field: &str,
    ty: &str,
) -> Option<Message> {
    if is_float && float.is_finite() || !is_float && whole >= i64::MIN as i128 && whole <= i64::MAX as i128 {
        return None;
    }
    Some(
        about(owner, field, ty)
            .text(" is declared with a `")
            .text(option)
            .text("` that is neither a finite float nor a 64-bit integer, by which values are compared"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: Option<Message>) -> String {
        message.map_or_else(String::new, |message| message.as_str().to_owned())
    }

    #[test]
    fn a_constant_is_held_to_what_its_option_takes() {
        let counted = |takes: &Takes, n| said(counted(takes, n, "Post", "tags", "Vec<String>"));
        assert_eq!(counted(&Takes::ITEMS, 1), "");
        assert_eq!(counted(&Takes::REFERENCES, 5_000), "");
        assert_eq!(counted(&Takes::MAX_LEN, u64::MAX.into()), "");
        assert_eq!(
            counted(&Takes::ITEMS, 0),
            "`Post.tags: Vec<String>` is declared with `max` = 0 (the value of a constant), which takes 1 to 16,777,216, \
             MongoDB's limit in bytes for one document"
        );
        assert_eq!(
            counted(&Takes::MIN_LEN, -3),
            "`Post.tags: Vec<String>` is declared with `min_len` = -3 (the value of a constant), which takes 0 or more"
        );
        assert!(counted(&Takes::SUBSET, 5_001).contains("`limit` = 5,001"));
    }

    #[test]
    fn a_range_has_its_least_value_first_whatever_its_constants_are() {
        let range = |min, max| said(range_in_order(min, max, "Post", "stars", "f64"));
        assert_eq!(range(Number::Int(1), Number::Float(1.0)), "");
        assert!(range(Number::Float(1.5), Number::Int(1)).contains("a `min` greater than its `max`"));
    }

    #[test]
    fn a_default_is_within_the_constants_of_its_field() {
        let (one, two) = (Some(Number::Int(1)), Some(Number::Float(2.5)));
        let ranged = |n, min, max| said(default_in_range(n, min, max, "Post", "stars", "i32"));
        assert_eq!(ranged(Number::Int(1), one, two), "");
        assert_eq!(ranged(Number::Int(-7), None, two), "");
        assert!(ranged(Number::Float(0.5), one, None).contains("below its `min`"));
        assert!(ranged(Number::Int(3), one, two).contains("above its `max`"));
        let long = |n, min, max| said(default_of_length(n, min, max, "Post", "name", "String"));
        assert_eq!(long(3, Some(3), Some(3)), "");
        assert!(long(2, Some(3), None).contains("shorter than its `min_len`"));
        assert!(long(4, None, Some(3)).contains("longer than its `max_len`"));
    }

    #[test]
    fn a_bound_is_an_integer_of_64_bits_or_a_finite_float() {
        assert_eq!(bound(is_float(-5_i8), -5.0, -5), Number::Int(-5));
        assert_eq!(bound(is_float(0.5_f32), 0.5, 0), Number::Float(0.5));
        let bounding = |value| said(bounding("max", value, "Post", "stars", "u64"));
        assert_eq!(bounding((false, 0.0, i64::MAX.into())), "");
        assert!(bounding((false, 0.0, u64::MAX.into())).contains("neither a finite float"));
        assert!(bounding((true, f64::INFINITY, 0)).contains("neither a finite float"));
    }
}
