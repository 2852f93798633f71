//! The values that a pipeline computes of a document: its fields, and parts of its dates.

use crate::model::default::expression_of;
use crate::model::path::{Holds, Path, Step};
use crate::model::value::StoredLike;
use mongodb::bson::{Bson, DateTime, Document, doc};
use std::marker::PhantomData;

pub(crate) mod sealed {
    /// Implemented by this crate alone, so that no text becomes an expression unnoticed.
    pub trait Sealed {}
}

/// A value that the server computes of each document of type `T`: a path, or a part of a date ([`DatePart`]).
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(comments: Collection<Comment>) -> odm::Result<()> {
/// let stars: Vec<odm::bson::Document> =
///     comments.aggregate().add_fields(|f| f.field("year", |c| c.at.year()).field("points", |c| c.stars)).all().await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value that the server can compute of a `{T}`",
    label = "not an expression",
    note = "name a field, `|p| p.field`, or a part of a date, `|p| p.at.year()`",
    note = "any other expression is written in a raw stage: `.stage(doc! {{ \"$addFields\": {{ … }} }})`"
)]
pub trait Expression<T>: sealed::Sealed {
    /// As the server takes it.
    #[doc(hidden)]
    fn expression(&self) -> Bson;
    /// The name under which it stands in the key of a group.
    #[doc(hidden)]
    fn name(&self) -> String;
}

impl<T, V: ?Sized, P, C> sealed::Sealed for Path<T, V, P, C> {}

impl<T, V: ?Sized, P: Step, C> Expression<T> for Path<T, V, P, C> {
    fn expression(&self) -> Bson {
        expression_of(P::WAY, P::PATH)
    }

    fn name(&self) -> String {
        named(P::PATH)
    }
}

/// `a.b` is stored as `a_b`: a name in a group's key has no dot.
fn named(path: &str) -> String {
    path.replace('.', "_")
}

/// A field that is stored as a date, or as none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no date, so it has no year, month or hour",
    label = "not stored as a `bson::DateTime`",
    note = "a foreign type that serde stores as a date says so: `#[field(stored = DateTime)]`"
)]
pub trait Date {}
impl Date for DateTime {}
impl<D: Date> Date for Option<D> {}
#[diagnostic::do_not_recommend]
impl<T: StoredLike<Like: Date>> Date for T {}

/// The unit to which a date is cut off: [`Path::truncated`].
///
/// ```
/// # use samples::model::*;
/// use odm::query::Unit;
///
/// let weeks = Comment::paths().at.truncated(Unit::Week);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// The first of January.
    Year,
    /// The first of the month.
    Month,
    /// The Monday of the week.
    Week,
    /// Midnight.
    Day,
    /// The full hour.
    Hour,
    /// The full minute.
    Minute,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Year => "year",
            Unit::Month => "month",
            Unit::Week => "week",
            Unit::Day => "day",
            Unit::Hour => "hour",
            Unit::Minute => "minute",
        }
    }

    fn of(name: &str) -> Option<Unit> {
        let all = [
            Unit::Year,
            Unit::Month,
            Unit::Week,
            Unit::Day,
            Unit::Hour,
            Unit::Minute,
        ];
        all.into_iter().find(|unit| unit.name() == name)
    }
}

/// A part of a date, or a date that is cut off to a unit: the key of a group, and a value of
/// [`add_fields`](crate::query::aggregate::Aggregate::add_fields). Of a field that is `null` or missing it is `null`.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(comments: Collection<Comment>) -> odm::Result<()> {
/// // By the months of Berlin: `_id` is `{ at_year: 2026, at_month: 11 }`.
/// let months: Vec<odm::bson::Document> = comments
///     .aggregate()
///     .group(
///         |c| (c.at.year().time_zone("Europe/Berlin"), c.at.month().time_zone("Europe/Berlin")),
///         |g| g.count("comments"),
///     )
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
#[must_use = "a part of a date does nothing until a pipeline takes it"]
pub struct DatePart<T> {
    date: Bson,
    name: String,
    part: ExpressionPart,
    time_zone: Option<String>,
    of: PhantomData<fn() -> T>,
}

#[derive(Clone, Copy, Debug)]
enum ExpressionPart {
    /// The operator of the part, and its name.
    Number(&'static str, &'static str),
    Truncated(Unit),
}

impl<T> std::fmt::Debug for DatePart<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.expression().fmt(f)
    }
}

impl<T> DatePart<T> {
    fn new<P: Step>(part: ExpressionPart) -> Self {
        DatePart {
            date: expression_of(P::WAY, P::PATH),
            name: named(P::PATH),
            part,
            time_zone: None,
            of: PhantomData,
        }
    }

    /// By the clocks of a time zone instead of by UTC: a name of the [Olson
    /// database](https://www.mongodb.com/docs/manual/reference/operator/aggregation/year/) such as `Europe/Berlin`, or an offset such
    /// as `+05:30`. The server refuses a name that it does not know.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(comments: Collection<Comment>) -> odm::Result<()> {
    /// let by_hour: Vec<odm::bson::Document> =
    ///     comments.aggregate().group(|c| c.at.hour().time_zone("Asia/Tokyo"), |g| g.count("comments")).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn time_zone(mut self, zone: impl Into<String>) -> Self {
        self.time_zone = Some(zone.into());
        self
    }

    fn expression(&self) -> Bson {
        let zone = self.time_zone.as_deref().map(text);
        match (self.part, zone) {
            (ExpressionPart::Number(operator, _), None) => doc! { operator: self.date.clone() },
            (ExpressionPart::Number(operator, _), Some(zone)) => {
                doc! { operator: { "date": self.date.clone(), "timezone": zone } }
            }
            (ExpressionPart::Truncated(unit), zone) => {
                let mut truncated = doc! { "date": self.date.clone(), "unit": unit.name() };
                if unit == Unit::Week {
                    truncated.insert("startOfWeek", "monday");
                }
                if let Some(zone) = zone {
                    truncated.insert("timezone", zone);
                }
                doc! { "$dateTrunc": truncated }
            }
        }
        .into()
    }
}

/// A text in an expression, in which one that begins with `$` would be the name of a field.
fn text(value: &str) -> Bson {
    if value.starts_with('$') {
        doc! { "$literal": value }.into()
    } else {
        value.into()
    }
}

impl<T> sealed::Sealed for DatePart<T> {}

impl<T> Expression<T> for DatePart<T> {
    fn expression(&self) -> Bson {
        self.expression()
    }

    fn name(&self) -> String {
        match self.part {
            ExpressionPart::Number(_, part) => format!("{}_{part}", self.name),
            ExpressionPart::Truncated(_) => self.name.clone(),
        }
    }
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident => $operator:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name(self) -> DatePart<R>
        where
            P: Holds<T, Stored: Date>,
        {
            DatePart::new::<P>(ExpressionPart::Number($operator, stringify!($name)))
        }
    )*};
}

impl<R, T, P: Step, C> Path<R, T, P, C> {
    parts! {
        /// The year of a date, by UTC or by a [time zone](DatePart::time_zone). Of a date in an array, `unwind` the array first: the
        /// server takes one date.
        ///
        /// ```no_run
        /// # use samples::model::*;
        /// # async fn example(comments: Collection<Comment>) -> odm::Result<()> {
        /// let years: Vec<odm::bson::Document> =
        ///     comments.aggregate().group(|c| c.at.year(), |g| g.count("comments")).all().await?;
        /// # Ok(()) }
        /// ```
        year => "$year";
        /// The month of a date, from 1 to 12.
        month => "$month";
        /// The day of a date in its month, from 1 to 31.
        day => "$dayOfMonth";
        /// The day of a date in its week, from 1 (Sunday) to 7 (Saturday).
        day_of_week => "$dayOfWeek";
        /// The hour of a date, from 0 to 23.
        hour => "$hour";
        /// The minute of a date, from 0 to 59.
        minute => "$minute";
    }

    /// The date without what is smaller than the unit: the first moment of its month, say, by UTC or by a [time
    /// zone](DatePart::time_zone). An hour that a time zone has twice, at the end of summer time, is two hours. `$dateTrunc`, or before
    /// MongoDB 5.0 the parts of the date.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(comments: Collection<Comment>) -> odm::Result<()> {
    /// use odm::query::Unit;
    ///
    /// #[derive(Row)]
    /// struct Week {
    ///     #[field(name = "_id")]
    ///     monday: DateTime,
    ///     comments: i32,
    /// }
    /// let weeks: Vec<Week> =
    ///     comments.aggregate().group(|c| c.at.truncated(Unit::Week), |g| g.count("comments")).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn truncated(self, unit: Unit) -> DatePart<R>
    where
        P: Holds<T, Stored: Date>,
    {
        DatePart::new::<P>(ExpressionPart::Truncated(unit))
    }
}

/// Whether a stage has `$dateTrunc`, which came with MongoDB 5.0.
pub(in crate::query) fn truncates(document: &Document) -> bool {
    fn within(value: &Bson) -> bool {
        match value {
            Bson::Document(document) => truncates(document),
            Bson::Array(list) => list.iter().any(within),
            _ => false,
        }
    }
    document
        .iter()
        .any(|(name, inner)| name == "$dateTrunc" || name != "$literal" && within(inner))
}

/// The same stage for a server without `$dateTrunc`. One with options that [`truncated`](Path::truncated) does not write stays as it
/// is, for the server to refuse.
pub(in crate::query) fn for_older(document: Document) -> Document {
    let older = |(name, value): (String, Bson)| match (name.as_str(), value) {
        ("$literal", value) => (name, value),
        (_, value) => (name, value_for_older(value)),
    };
    document.into_iter().map(older).collect()
}

fn value_for_older(value: Bson) -> Bson {
    match value {
        Bson::Document(document) => match document
            .get_document("$dateTrunc")
            .ok()
            .and_then(truncated_by_parts)
        {
            Some(by_parts) if document.len() == 1 => by_parts.into(),
            _ => for_older(document).into(),
        },
        Bson::Array(list) => list.into_iter().map(value_for_older).collect::<Vec<_>>().into(),
        value => value,
    }
}

/// The first moment of a unit by the clocks of a time zone, which show one hour twice at the end of summer time. The parts of a date
/// say nothing about which of the two it is, so that its hour and minute are reached from the date itself.
fn truncated_by_parts(truncated: &Document) -> Option<Document> {
    let unit = Unit::of(truncated.get_str("unit").ok()?)?;
    let names = ["date", "unit", "startOfWeek", "timezone"];
    let is_monday = unit != Unit::Week || truncated.get_str("startOfWeek").is_ok_and(|day| day == "monday");
    if !is_monday || !truncated.keys().all(|name| names.contains(&name.as_str())) {
        return None;
    }
    let (date, zone) = (truncated.get("date")?, truncated.get("timezone"));
    let part = |operator: &str| {
        let mut of = doc! { "date": date.clone() };
        of.extend(zone.map(|zone| ("timezone".to_owned(), zone.clone())));
        doc! { operator: of }
    };
    if matches!(unit, Unit::Hour | Unit::Minute) {
        let mut rest = vec![
            part("$millisecond"),
            doc! { "$multiply": [part("$second"), 1_000] },
        ];
        if unit == Unit::Hour {
            rest.push(doc! { "$multiply": [part("$minute"), 60_000] });
        }
        return Some(doc! { "$subtract": [date.clone(), { "$add": rest }] });
    }
    let mut parts = if unit == Unit::Week {
        doc! { "isoWeekYear": part("$isoWeekYear"), "isoWeek": part("$isoWeek") }
    } else {
        let all = [
            ("year", "$year", Unit::Year),
            ("month", "$month", Unit::Month),
            ("day", "$dayOfMonth", Unit::Day),
        ];
        let last = all.iter().position(|(.., of)| *of == unit)?;
        all.iter()
            .take(last + 1)
            .map(|(name, operator, _)| ((*name).to_owned(), Bson::Document(part(operator))))
            .collect()
    };
    let Some(zone) = zone else {
        return Some(doc! { "$dateFromParts": parts });
    };
    parts.insert("timezone", zone.clone());
    // Where it is midnight twice, the server may give the second one.
    let before = doc! { "$subtract": ["$$midnight", 3_600_000] };
    let is_first = doc! { "$ne": [{ "$hour": { "date": before.clone(), "timezone": zone.clone() } }, 0] };
    Some(doc! { "$let": {
        "vars": { "midnight": { "$dateFromParts": parts } },
        "in": { "$cond": [is_first, "$$midnight", before] },
    } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_truncated_by_its_parts_on_an_older_server() {
        let stage = |unit: &str| {
            let mut truncated = doc! { "date": "$at", "unit": unit };
            if unit == "week" {
                truncated.insert("startOfWeek", "monday");
            }
            doc! { "$group": { "_id": { "$dateTrunc": truncated } } }
        };
        assert!(truncates(&stage("month")));
        assert_eq!(
            for_older(stage("month")),
            doc! { "$group": { "_id": { "$dateFromParts": {
                "year": { "$year": { "date": "$at" } }, "month": { "$month": { "date": "$at" } },
            } } } }
        );
        assert_eq!(
            for_older(stage("week")),
            doc! { "$group": { "_id": { "$dateFromParts": {
                "isoWeekYear": { "$isoWeekYear": { "date": "$at" } }, "isoWeek": { "$isoWeek": { "date": "$at" } },
            } } } }
        );
        let zoned = doc! { "$addFields": { "day": [
            { "$dateTrunc": { "date": "$at", "unit": "day", "timezone": "Asia/Tokyo" } },
        ] } };
        let part = |operator: &str| doc! { operator: { "date": "$at", "timezone": "Asia/Tokyo" } };
        let before = doc! { "$subtract": ["$$midnight", 3_600_000] };
        let hour = doc! { "$hour": { "date": before.clone(), "timezone": "Asia/Tokyo" } };
        assert_eq!(
            for_older(zoned),
            doc! { "$addFields": { "day": [{ "$let": {
                "vars": { "midnight": { "$dateFromParts": {
                    "year": part("$year"), "month": part("$month"), "day": part("$dayOfMonth"), "timezone": "Asia/Tokyo",
                } } },
                "in": { "$cond": [{ "$ne": [hour, 0] }, "$$midnight", before] },
            } }] } }
        );
    }

    /// The clocks of Berlin show `02:30` twice on one day, of which the parts of a date say the same.
    #[test]
    fn an_hour_is_reached_from_its_date() {
        let zoned =
            |unit: &str| doc! { "$dateTrunc": { "date": "$at", "unit": unit, "timezone": "Europe/Berlin" } };
        let part = |operator: &str| doc! { operator: { "date": "$at", "timezone": "Europe/Berlin" } };
        let (milliseconds, seconds) = (
            part("$millisecond"),
            doc! { "$multiply": [part("$second"), 1_000] },
        );
        let minutes = doc! { "$multiply": [part("$minute"), 60_000] };
        assert_eq!(
            for_older(doc! { "$addFields": { "hour": zoned("hour"), "minute": zoned("minute") } }),
            doc! { "$addFields": {
                "hour": { "$subtract": ["$at", { "$add": [milliseconds.clone(), seconds.clone(), minutes] }] },
                "minute": { "$subtract": ["$at", { "$add": [milliseconds, seconds] }] },
            } }
        );
    }

    #[test]
    fn what_the_library_did_not_write_stays_as_it_is() {
        for stage in [
            doc! { "$addFields": { "x": { "$dateTrunc": { "date": "$at", "unit": "hour", "binSize": 6 } } } },
            doc! { "$addFields": { "x": { "$literal": { "$dateTrunc": { "date": "$at", "unit": "hour" } } } } },
            doc! { "$match": { "year": 2026 } },
        ] {
            assert_eq!(for_older(stage.clone()), stage);
        }
        assert!(!truncates(&doc! { "x": { "$literal": { "$dateTrunc": 1 } } }));
    }

    #[test]
    fn a_time_zone_is_a_value() {
        assert_eq!(text("Europe/Berlin"), Bson::from("Europe/Berlin"));
        assert_eq!(text("$zone"), doc! { "$literal": "$zone" }.into());
    }
}
