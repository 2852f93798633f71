//! The rules for a whole document: comparisons of its fields, and functions of the application.

use crate::model::compare;
use crate::model::encode::owned;
use crate::model::meta::{CheckMeta, CheckRule};
use crate::{Rule, Violation};
use mongodb::bson::{Bson, RawBsonRef, RawDocument};
use std::cmp::Ordering;

/// The rules that a document breaks. A comparison that only the server can evaluate is left to its validator.
pub(super) fn broken(checks: &[CheckMeta], document: &RawDocument) -> Vec<Violation> {
    let mut broken = Vec::new();
    for check in checks {
        let rule = match check.rule {
            CheckRule::Compare { .. } => check
                .expression()
                .and_then(|expression| value(&expression, document))
                .filter(|result| !is_true(result))
                .map(|_| Rule::Check(check.message())),
            CheckRule::Function(call) => call(document).map(Rule::Check),
        };
        broken.extend(rule.map(|rule| Violation::new("", rule, None)));
    }
    broken
}

/// The value of an expression; outer `None` where only the server can say, inner where it is a missing field.
fn evaluated(expression: &Bson, document: &RawDocument) -> Option<Option<Bson>> {
    match expression {
        Bson::String(path) => match path.strip_prefix('$') {
            Some(path) if !path.starts_with('$') => field(document, path),
            Some(_) => None,
            None => Some(Some(expression.clone())),
        },
        Bson::Document(operator) => {
            let mut operators = operator.iter();
            match (operators.next(), operators.next()) {
                (Some((name, operands)), None) => operation(name, operands, document),
                _ => None,
            }
        }
        Bson::Array(_) => None,
        plain => Some(Some(plain.clone())),
    }
}

fn value(expression: &Bson, document: &RawDocument) -> Option<Bson> {
    evaluated(expression, document).map(|value| value.unwrap_or(Bson::Null))
}

fn operation(name: &str, operands: &Bson, document: &RawDocument) -> Option<Option<Bson>> {
    let all = match operands {
        Bson::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    let truth = |truth: bool| Some(Some(Bson::Boolean(truth)));
    match (name, all) {
        ("$literal", _) => Some(Some(operands.clone())),
        ("$eq" | "$ne" | "$gt" | "$gte" | "$lt" | "$lte", [left, right]) => {
            let (left, right) = (evaluated(left, document)?, evaluated(right, document)?);
            let order = order(left.as_ref(), right.as_ref())?;
            truth(match name {
                "$eq" => order.is_eq(),
                "$ne" => order.is_ne(),
                "$gt" => order.is_gt(),
                "$gte" => order.is_ge(),
                "$lt" => order.is_lt(),
                _ => order.is_le(),
            })
        }
        ("$and", all) => truth(some(all, document, false)?),
        ("$or", all) => truth(!some(all, document, true)?),
        ("$not", [one]) => truth(!is_true(&value(one, document)?)),
        ("$ifNull", [one, other]) => match evaluated(one, document)? {
            None | Some(Bson::Null) => evaluated(other, document),
            there => Some(there),
        },
        ("$cond", [condition, then, otherwise]) => {
            let branch = if is_true(&value(condition, document)?) {
                then
            } else {
                otherwise
            };
            evaluated(branch, document)
        }
        ("$type", [one]) => match evaluated(one, document)? {
            None => Some(Some("missing".into())),
            Some(Bson::Document(_)) => Some(Some("object".into())),
            // It is compared with no other name.
            Some(_) => Some(Some("other".into())),
        },
        _ => None,
    }
}

/// `false` where one of them is `searched`, `true` where none is; `None` where that depends on what only the server can say.
fn some(all: &[Bson], document: &RawDocument, searched: bool) -> Option<bool> {
    let mut unknown = false;
    for one in all {
        match value(one, document) {
            Some(value) if is_true(&value) == searched => return Some(false),
            Some(_) => {}
            None => unknown = true,
        }
    }
    (!unknown).then_some(true)
}

fn is_true(value: &Bson) -> bool {
    match value {
        Bson::Null | Bson::Undefined | Bson::Boolean(false) => false,
        value => compare::order_of(value, &Bson::Int32(0)) != Some(Ordering::Equal),
    }
}

/// The field with a dotted name.
fn field(document: &RawDocument, path: &str) -> Option<Option<Bson>> {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let stored = document.get(name).ok()?;
    match (stored, rest) {
        (None, _) => Some(None),
        (Some(stored), "") => owned(stored).ok().map(Some),
        (Some(RawBsonRef::Document(inner)), rest) => field(inner, rest),
        // The server looks into the items.
        (Some(RawBsonRef::Array(_)), _) => None,
        (Some(_), _) => Some(None),
    }
}

/// The order of two values as the server's expressions have it, where the collation of a collection does not matter.
fn order(left: Option<&Bson>, right: Option<&Bson>) -> Option<Ordering> {
    let (left_rank, right_rank) = (rank(left)?, rank(right)?);
    if left_rank != right_rank {
        return Some(left_rank.cmp(&right_rank));
    }
    match (left, right) {
        (Some(Bson::String(_)), _) => None,
        (Some(left), Some(right)) => compare::compare(left, right),
        _ => Some(Ordering::Equal),
    }
}

/// The place of a type in the order of all values.
fn rank(value: Option<&Bson>) -> Option<u8> {
    Some(match value {
        None => 0,
        Some(Bson::Null) => 1,
        Some(Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_)) => 2,
        Some(Bson::String(_)) => 3,
        Some(Bson::Boolean(_)) => 8,
        Some(Bson::DateTime(_)) => 9,
        Some(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::meta::condition::expression;
    use mongodb::bson::{Document, RawDocumentBuf, doc};

    fn holds(condition: Document, document: Document) -> Option<bool> {
        let document = RawDocumentBuf::try_from(&document).expect("encodes");
        value(&expression(&condition)?, &document).map(|value| is_true(&value))
    }

    #[test]
    fn comparisons_of_fields_are_evaluated_as_by_the_server() {
        let ends_later =
            || doc! { "$expr": { "$and": [{ "$gt": ["$ends", "$starts"] }, { "$gt": ["$starts", null] }] } };
        for (document, verdict) in [
            (doc! { "ends": 2, "starts": 1 }, Some(true)),
            (doc! { "ends": 2, "starts": 1.5 }, Some(true)),
            (doc! { "ends": 1, "starts": 1_i64 }, Some(false)),
            (doc! { "ends": 1 }, Some(false)),
            (doc! { "ends": null, "starts": 1 }, Some(false)),
            (doc! { "ends": "b", "starts": "a" }, None),
            (doc! { "ends": "b", "starts": 1 }, Some(true)),
            (doc! { "ends": f64::NAN, "starts": 1 }, None),
        ] {
            assert_eq!(holds(ends_later(), document.clone()), verdict, "{document}");
        }
        let none =
            doc! { "$nor": [{ "$or": [ends_later(), { "$expr": { "$eq": ["$a.b", { "$literal": 1 }] } }] }] };
        assert_eq!(
            holds(none.clone(), doc! { "ends": 1, "starts": 2, "a": { "b": 2 } }),
            Some(true)
        );
        assert_eq!(
            holds(none.clone(), doc! { "ends": 1, "starts": 2, "a": { "b": 1 } }),
            Some(false)
        );
        // In an array the server looks into the items.
        assert_eq!(
            holds(none, doc! { "ends": 1, "starts": 2, "a": [{ "b": 1 }] }),
            None
        );
        assert_eq!(expression(&doc! { "ends": { "$gt": 1 } }), None);
    }
}
