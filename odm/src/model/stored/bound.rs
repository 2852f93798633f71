//! The declared bounds of a value, compared while it is written.
//!
//! Nothing is named here: a value that breaks a bound sets [`Out::broken`](super::out::Out), and the walk over the written document,
//! which collects all violations, has the last word. So what is compared here may say "broken" of a value that is not, where to know it
//! would cost more than the walk, and must never say the opposite.

use crate::model::compare::compare_numbers;
use crate::model::meta::Bounds;
use crate::model::meta::FieldMeta;
use crate::model::meta::value_rules::ValueRules;
use crate::model::normalize::bounds_of;
use crate::model::shape::Number;
use mongodb::bson::RawBsonRef;
use std::borrow::Cow;
use std::cmp::Ordering;

/// The bounds of a value, if its field declares any.
pub type Bound<'b> = Option<&'b Limit<'b>>;

/// The bounds of a field, and those of the field around it where it is the one of a newtype: a value has to keep both.
#[derive(Clone, Copy, Debug)]
pub struct Limit<'b> {
    bounds: &'static Bounds,
    outer: Bound<'b>,
    /// The field, where its strings are normalized as those of another one: a reference by its key, a copy by its source.
    field: Option<fn() -> &'static FieldMeta>,
}

/// Calls `write` with the bounds of a newtype's field beside those of the field that holds it.
#[inline]
pub fn within<T>(outer: Bound<'_>, own: Bound<'static>, write: impl FnOnce(Bound<'_>) -> T) -> T {
    match own {
        None => write(outer),
        Some(own) => write(Some(&Limit { outer, ..*own })),
    }
}

impl Limit<'static> {
    /// Those that a field declares.
    pub const fn of(bounds: &'static Bounds) -> Limit<'static> {
        Limit {
            bounds,
            outer: None,
            field: None,
        }
    }

    /// With the strings normalized as the field says where it refers to another document, or is a copy of its field.
    pub const fn derived(mut self, field: fn() -> &'static FieldMeta) -> Limit<'static> {
        self.field = Some(field);
        self
    }
}

impl Limit<'_> {
    fn all(&self) -> impl Iterator<Item = &'static Bounds> {
        std::iter::successors(Some(self), |limit| limit.outer).map(|limit| limit.bounds)
    }

    fn rules(&self) -> impl Iterator<Item = &'static ValueRules> {
        self.all().filter_map(|bounds| bounds.rules)
    }

    /// Whether a text is short and long enough, and keeps the other rules.
    pub(super) fn allows_text(&self, text: &str) -> bool {
        let len = |bounds: &Bounds| {
            bounds.max_len.is_none_or(|max| !is_longer(text, max))
                && bounds
                    .min_len
                    .is_none_or(|min| min == 0 || is_longer(text, min - 1))
        };
        self.all().all(len) && self.allows(RawBsonRef::String(text))
    }

    /// The text as it is stored: `normalize(trim, lowercase)`.
    pub(super) fn normalized<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let (mut trim, mut lowercase) = (false, false);
        for limit in std::iter::successors(Some(self), |limit| limit.outer) {
            let bounds = limit.field.map(|field| bounds_of(field()));
            if let Some(rules) = bounds.unwrap_or(limit.bounds).rules {
                trim |= rules.normalize.trim;
                lowercase |= rules.normalize.lowercase;
            }
        }
        let text = if trim { text.trim() } else { text };
        if lowercase {
            Cow::Owned(text.to_lowercase())
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Whether a number is within the range, and keeps the other rules.
    pub(super) fn allows_number(&self, number: Number, value: RawBsonRef<'_>) -> bool {
        let range = |bounds: &Bounds| {
            bounds.min.is_none_or(|min| is_at_least(number, min))
                && bounds.max.is_none_or(|max| is_at_least(max, number))
        };
        self.all().all(range) && self.allows(value)
    }

    /// Whether a decimal has no range and keeps the other rules. To compare it with a range is left to the walk.
    pub(super) fn allows_decimal(&self, value: RawBsonRef<'_>) -> bool {
        self.all()
            .all(|bounds| bounds.min.is_none() && bounds.max.is_none())
            && self.allows(value)
    }

    /// Whether binary data has an allowed number of bytes, and keeps the other rules.
    pub(super) fn allows_binary(&self, len: usize, value: RawBsonRef<'_>) -> bool {
        let len = len as u64;
        let fits = |bounds: &Bounds| {
            bounds.max_len.is_none_or(|max| len <= max) && bounds.min_len.is_none_or(|min| len >= min)
        };
        self.all().all(fits) && self.allows(value)
    }

    /// Whether an array or a map has an allowed number of items. That no item equals another one, how deep items are nested, and rules
    /// of another field around an array are left to the walk.
    pub(super) fn allows_items(&self, count: usize) -> bool {
        let of_outer = |bounds: &Bounds| bounds.rules.is_none();
        self.bounds.max_items.is_none_or(|max| count as u64 <= max)
            && (!self.bounds.unique_items || count < 2)
            && self.all().all(|bounds| bounds.depth.is_none())
            && self.all().skip(1).all(of_outer)
    }

    /// Whether a value of several parts keeps its rules. Those are few, and the walk knows them.
    pub(super) fn allows_parts(&self) -> bool {
        let is_simple =
            |rules: &ValueRules| rules.pattern.is_none() && rules.one_of.is_empty() && rules.check.is_none();
        self.all().all(|bounds| bounds.depth.is_none()) && self.rules().all(is_simple)
    }

    /// Whether a key of a map is short enough.
    pub(super) fn allows_key(&self, key: &str) -> bool {
        self.bounds.key_len.is_none_or(|max| !is_longer(key, max))
    }

    /// Whether a value keeps the rules beside its length and its range.
    pub(super) fn allows(&self, value: RawBsonRef<'_>) -> bool {
        self.rules().all(|rules| rules.broken(value).is_none())
    }
}

/// Whether a text has more than `max` code points. The bytes answer first: a code point takes one to four.
fn is_longer(text: &str, max: u64) -> bool {
    let len = text.len() as u64;
    len > max && (len > max.saturating_mul(4) || text.chars().count() as u64 > max)
}

/// Whether `a` is not below `b`: never true of NaN.
fn is_at_least(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a >= b,
        (a, b) => matches!(compare_numbers(a, b), Some(Ordering::Greater | Ordering::Equal)),
    }
}
