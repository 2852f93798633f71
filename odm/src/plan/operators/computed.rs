//! Fields that the server computes from the stored document.

use crate::model::checked;
use crate::model::compare::{approximate, bson, order_of};
use crate::model::meta::CheckMeta;
use crate::model::meta::condition;
use crate::model::meta::value_rules::ValueRules;
use crate::model::shape::{self, FieldMeta, MOST_WRAPPERS, Number, Shape};
use crate::plan::operators::range::NumberRange;
use crate::{Error, Rule, Violation};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::cmp::Ordering;

/// The name of the operator among those of an update. MongoDB has none for it: the update is sent as a pipeline.
pub(crate) const COMPUTE: &str = "$compute";

/// The bounds of the result of an expression, within which its field takes it.
#[derive(Clone, Debug)]
pub(crate) struct ComputedGuard {
    pub(crate) name: String,
    /// The expression, without its conversion to the type of the field.
    pub(crate) value: Bson,
    min: Option<Number>,
    max: Option<Number>,
    /// Whether the field takes `null`.
    null: bool,
    rules: Vec<&'static ValueRules>,
    /// The comparison of fields that the value is the result of, where it is no value of a field.
    check: Option<&'static CheckMeta>,
    /// Whether no bound is declared: the range is that of the type.
    pub(crate) is_of_type: bool,
}

impl ComputedGuard {
    /// `None` where the field takes every result.
    pub(crate) fn new(name: &str, field: Option<&'static FieldMeta>, value: &Bson) -> Option<ComputedGuard> {
        let range = field.map(NumberRange::for_field).unwrap_or_default();
        let (min, max) = range.ends();
        let null = field.is_none_or(|field| shape::may_be_null(shape::of_field(field)));
        let rules = field
            .map(|field| checked::of_field(field, false))
            .unwrap_or_default();
        if null && min.is_none() && max.is_none() && rules.is_empty() {
            return None;
        }
        Some(ComputedGuard {
            name: name.to_owned(),
            value: value.clone(),
            min,
            max,
            null,
            is_of_type: range.is_of_type() && rules.is_empty(),
            rules,
            check: None,
        })
    }

    /// That a comparison of fields holds after the change; `None` where the change leaves it as it is, and where only the
    /// validator can say.
    pub(crate) fn checked(check: &'static CheckMeta, operators: &Document) -> Option<ComputedGuard> {
        let expression = check.expression()?;
        let mut fields = Vec::new();
        condition::fields(&expression, &mut fields);
        let mut changes: Vec<(String, Bson)> = Vec::new();
        for field in fields {
            let changed = condition::changed(operators, COMPUTE, &field).ok()?;
            changes.extend(changed.map(|changed| (field, changed)));
        }
        let name = changes.first()?.0.clone();
        let changed = |field: &str| {
            let change = changes.iter().find(|(name, _)| name == field);
            change.map(|(_, new)| new.clone())
        };
        Some(ComputedGuard {
            name,
            value: condition::with(&expression, &changed),
            min: None,
            max: None,
            null: false,
            rules: Vec::new(),
            check: Some(check),
            is_of_type: false,
        })
    }

    /// The condition that the result is one that the field takes.
    pub(crate) fn condition(&self) -> Document {
        if self.check.is_some() {
            return doc! { "$expr": &self.value };
        }
        let beside = |operator: &str, end: Number| doc! { operator: [&self.value, bson(end)] };
        let mut all: Vec<Document> = Vec::new();
        all.extend(self.min.map(|min| beside("$gte", min)));
        all.extend(self.max.map(|max| beside("$lte", max)));
        // To the server `null` is less than every value, and a missing one less than `null`.
        if self.min.is_none() {
            all.push(doc! { "$gt": [&self.value, Bson::Null] });
        }
        all.extend(self.rules.iter().flat_map(|rules| self.keeps(rules)));
        let mut condition = doc! { "$and": all };
        if self.null {
            condition = doc! { "$or": [{ "$lte": [&self.value, Bson::Null] }, condition] };
        }
        doc! { "$expr": condition }
    }

    /// The conditions that the result keeps these rules. A string is never computed.
    fn keeps(&self, rules: &ValueRules) -> Vec<Document> {
        let mut all = Vec::new();
        if !rules.one_of.is_empty() {
            let values: Vec<Document> = rules
                .values()
                .into_iter()
                .map(|value| doc! { "$literal": value })
                .collect();
            all.push(doc! { "$in": [&self.value, values] });
        }
        if let Some(factor) = rules.multiple_of {
            let is_number = doc! { "$isNumber": &self.value };
            let rest = doc! { "$eq": [{ "$mod": [&self.value, factor] }, 0] };
            all.push(doc! { "$cond": [is_number, rest, false] });
        }
        all
    }

    /// Why the field does not take this result, if it does not.
    pub(crate) fn refusal(
        &self,
        collection: &'static str,
        id: &Bson,
        result: Option<&Bson>,
    ) -> Option<Error> {
        if let Some(check) = self.check {
            let holds = result.is_some_and(|result| *result != Bson::Null && *result != Bson::Boolean(false));
            let violation = Violation::new("", Rule::Check(check.message()), None);
            return (!holds).then(|| Error::Invalid {
                collection: collection.to_owned(),
                violations: vec![violation.stored_in(id)],
                source: None,
            });
        }
        let Some(result) = result.filter(|result| **result != Bson::Null) else {
            return (!self.null).then(|| Error::IsNull {
                collection,
                id: Box::new(id.clone()),
                field: self.name.clone(),
            });
        };
        let beyond = |end: Number, order| order_of(result, &bson(end)) == Some(order);
        let max = self.max.filter(|max| beyond(*max, Ordering::Greater));
        let min = self.min.filter(|min| beyond(*min, Ordering::Less));
        // `NaN` is within no bound, and beyond none.
        let is_nan = approximate(result).is_some_and(f64::is_nan);
        let any = self.max.map(Rule::Max).or(self.min.map(Rule::Min));
        let beyond = max.map(Rule::Max).or(min.map(Rule::Min));
        let rule = beyond.or_else(|| any.filter(|_| is_nan));
        let raw = || RawDocumentBuf::try_from(&doc! { "v": result }).ok();
        let breaks = || {
            let raw = raw()?;
            let value = raw.get("v").ok()??;
            self.rules
                .iter()
                .find_map(|rules| crate::bounds::broken(rules, value))
        };
        let rule = rule.or_else(breaks)?;
        let violation = Violation::new(self.name.as_str(), rule, Some(result.clone()));
        Some(Error::Invalid {
            collection: collection.to_owned(),
            violations: vec![violation.stored_in(id)],
            source: None,
        })
    }
}

/// The expression with its result in the type of the field.
pub(crate) fn converted(field: Option<&'static FieldMeta>, value: Bson) -> Bson {
    let mut shape = field.map(shape::of_field);
    for _ in 0..MOST_WRAPPERS {
        shape = match shape {
            Some(Shape::Optional(inner)) => Some(inner()),
            Some(Shape::Bounded(inner)) => Some(shape::of_field(inner)),
            _ => break,
        };
    }
    match shape {
        Some(Shape::Int { .. }) => doc! { "$toInt": value }.into(),
        Some(Shape::Long { .. }) => doc! { "$toLong": value }.into(),
        Some(Shape::Double) => doc! { "$toDouble": value }.into(),
        Some(Shape::Decimal) => doc! { "$toDecimal": value }.into(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn computed(min: Option<i64>, null: bool) -> ComputedGuard {
        ComputedGuard {
            name: "total".to_owned(),
            value: "$price".into(),
            min: min.map(Number::Int),
            max: Some(Number::Int(10)),
            null,
            rules: Vec::new(),
            check: None,
            is_of_type: false,
        }
    }

    #[test]
    fn every_result_that_the_condition_refuses_has_an_error() {
        let bounded = computed(Some(0), false);
        let refusal = |result: Bson| bounded.refusal("orders", &Bson::Int32(1), Some(&result));
        for result in [
            Bson::Int32(-1),
            Bson::Int64(11),
            Bson::Double(f64::NAN),
            Bson::Double(1e300),
        ] {
            assert!(matches!(refusal(result), Some(Error::Invalid { .. })));
        }
        assert!(matches!(refusal(Bson::Null), Some(Error::IsNull { .. })));
        assert!(bounded.refusal("orders", &Bson::Int32(1), None).is_some());
        assert!(refusal(Bson::Int32(10)).is_none());
        // A sum beyond the greatest `i64` is a double, whose nearest integer is that greatest one.
        let range = ComputedGuard {
            min: Some(Number::Int(i64::MIN)),
            max: Some(Number::Int(i64::MAX)),
            ..computed(None, false)
        };
        let of_range = |result: f64| range.refusal("orders", &Bson::Int32(1), Some(&Bson::Double(result)));
        for (result, rule) in [
            (9_223_372_036_854_775_808.0, Rule::Max(Number::Int(i64::MAX))),
            (-9_223_372_036_854_777_856.0, Rule::Min(Number::Int(i64::MIN))),
        ] {
            let Some(Error::Invalid { violations, .. }) = of_range(result) else {
                panic!("{result} is taken");
            };
            assert_eq!(violations[0].rule, rule);
        }
        assert!(of_range(-9_223_372_036_854_775_808.0).is_none());
        let optional = computed(None, true);
        assert!(
            optional
                .refusal("orders", &Bson::Int32(1), Some(&Bson::Null))
                .is_none()
        );
    }

    #[test]
    fn the_condition_holds_for_what_the_field_takes() {
        assert_eq!(
            computed(Some(0), false).condition(),
            doc! { "$expr": { "$and": [{ "$gte": ["$price", 0_i64] }, { "$lte": ["$price", 10_i64] }] } }
        );
        let within = doc! { "$and": [{ "$lte": ["$price", 10_i64] }, { "$gt": ["$price", Bson::Null] }] };
        assert_eq!(
            computed(None, true).condition(),
            doc! { "$expr": { "$or": [{ "$lte": ["$price", Bson::Null] }, within] } }
        );
    }
}
