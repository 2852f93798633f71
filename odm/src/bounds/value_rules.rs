//! The rules of a field's values that are neither a length nor a range.

use crate::Rule;
use crate::model::compare;
use crate::model::encode::owned;
use crate::model::meta::value_rules::ValueRules;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Bson, RawArray, RawBsonRef};
use std::collections::HashSet;

/// The first rule that a value breaks. A rule says nothing about a value of another type than its own.
pub(crate) fn broken(rules: &ValueRules, value: RawBsonRef<'_>) -> Option<Rule> {
    rules.broken(value)
}

/// Whether a value breaks none of them.
pub(super) fn fit(rules: &ValueRules, value: RawBsonRef<'_>) -> bool {
    broken(rules, value).is_none()
}

/// A value of which the server knows one form.
#[derive(PartialEq, Eq, Hash)]
enum RuleKey<'a> {
    Text(&'a str),
    Bytes(u8, &'a [u8]),
    Id(ObjectId),
    Date(i64),
    Bool(bool),
    Int(i64),
    /// Not a whole number, or one that is too large for an integer.
    Double(u64),
}

fn key(value: RawBsonRef<'_>) -> Option<RuleKey<'_>> {
    Some(match value {
        RawBsonRef::String(text) => RuleKey::Text(text),
        RawBsonRef::Binary(binary) => RuleKey::Bytes(u8::from(binary.subtype), binary.bytes),
        RawBsonRef::ObjectId(id) => RuleKey::Id(id),
        RawBsonRef::DateTime(date) => RuleKey::Date(date.timestamp_millis()),
        RawBsonRef::Boolean(value) => RuleKey::Bool(value),
        RawBsonRef::Int32(n) => RuleKey::Int(n.into()),
        RawBsonRef::Int64(n) => RuleKey::Int(n),
        RawBsonRef::Double(n) if n.is_nan() => RuleKey::Double(f64::NAN.to_bits()),
        RawBsonRef::Double(n) if n.fract() == 0.0 && (-9.2e18..9.2e18).contains(&n) => RuleKey::Int(n as i64),
        RawBsonRef::Double(n) => RuleKey::Double(n.to_bits()),
        _ => return None,
    })
}

/// An item of an array that it holds twice, as the server compares them: numbers whatever their type, documents whatever the
/// order of their fields.
pub(super) fn twice(array: &RawArray) -> Option<RawBsonRef<'_>> {
    let mut keys: HashSet<RuleKey<'_>> = HashSet::new();
    let mut others: Vec<Bson> = Vec::new();
    for element in array.iter_elements().map_while(|element| element.ok()) {
        let value = element.value().ok()?;
        let is_new = match key(value) {
            Some(key) => keys.insert(key),
            None => {
                let other = owned(value).ok()?;
                let is_new = !others.iter().any(|before| compare::same(before, &other));
                others.push(other);
                is_new
            }
        };
        if !is_new {
            return Some(value);
        }
    }
    None
}
