//! The summary that a bucket stores of its items: their number, the least and the greatest time, and sums.

use crate::graph::Graph;
use crate::graph::declaration::Declaration;
use crate::model::document::DocumentMeta;
use crate::model::meta::bucket::{BucketMeta, ROOM, merge};
use crate::model::own_fields;
use crate::model::own_fields::Token;
use crate::rules::derived::{Comparison, DerivedValue, RederiveReport, ValueKind};
use crate::rules::pending::recorded_in_pipeline;
use crate::rules::rule::SyncRule;
use crate::store::batch;
use crate::store::cx::Cx;
use crate::store::each::WriteReport;
use crate::store::filter::all;
use crate::{Error, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::RawDocumentBuf;
use mongodb::bson::{Bson, DateTime, Document, RawBsonRef, RawDocument, doc};
use std::ops::Bound;

impl BucketMeta {
    /// The fields of an item by which something is known.
    pub(crate) fn summed(&self) -> impl Iterator<Item = &'static str> + '_ {
        let time = self.time.iter().map(|time| time.field);
        time.chain(self.sums.iter().map(|sum| sum.field))
    }

    pub(crate) fn has_summary(&self) -> bool {
        self.summed().next().is_some()
    }

    /// The bucket's fields that follow from its items.
    pub(crate) fn summary_fields(&self) -> impl Iterator<Item = &'static str> + '_ {
        let time = self.time.iter().flat_map(|time| [time.first, time.last]);
        let sums = self.sums.iter().map(|sum| sum.name);
        [self.count].into_iter().chain(time).chain(sums).chain([ROOM])
    }

    /// The same but for the room, each with what it follows from.
    pub(crate) fn summary_sources(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![(self.count, self.items.to_owned())];
        let of = |field: &str| format!("{}.{field}", self.items);
        if let Some(time) = &self.time {
            fields.extend([(time.first, of(time.field)), (time.last, of(time.field))]);
        }
        fields.extend(self.sums.iter().map(|sum| (sum.name, of(sum.field))));
        fields
    }

    /// Whether a field of the bucket, by its name without positions, is the library's to write: all are but those of the items
    /// that are neither summed nor their time.
    pub(crate) fn is_kept(&self, bucket: &DocumentMeta, name: &str) -> bool {
        let (root, below) = match name.split_once('.') {
            None => (name, None),
            Some((root, rest)) => (root, rest.split('.').next()),
        };
        match below {
            Some(field) if root == self.items => self.summed().any(|summed| summed == field),
            _ => bucket.field(root).is_some(),
        }
    }

    /// The projection that compares a bucket's summary with its items, without sending the items: in their place are their
    /// number, the least and the greatest time, and for each sum the right value and the least and the greatest of the summed
    /// values.
    pub(crate) fn to_compare(&self) -> Document {
        let mut fields = doc! { "_id": 1 };
        fields.extend(
            self.summary_fields()
                .map(|name| (name.to_owned(), Bson::Int32(1))),
        );
        let mut right = vec![self.number_of_items()];
        if let Some(time) = &self.time {
            let times = self.each(time.field);
            right.extend([doc! { "$min": &times }, doc! { "$max": &times }]);
        }
        for sum in self.sums {
            let values = self.each(sum.field);
            right.extend([
                doc! { "$sum": &values },
                doc! { "$min": &values },
                doc! { "$max": &values },
            ]);
        }
        let items = format!("${}", self.items);
        fields.insert(self.items, doc! { "$cond": [{ "$isArray": items }, right, null] });
        fields
    }

    /// Whether a bucket that was [read so](Self::to_compare) says of its items what is true; `None` where it has no array of
    /// them. The room may be less than what the items leave, and not more.
    pub(crate) fn is_true(&self, bucket: &RawDocument) -> Option<bool> {
        let stored = |name: &str| match bucket.get(name).ok().flatten() {
            Some(RawBsonRef::Null) | None => None,
            value => value,
        };
        let right = bucket.get_array(self.items).ok()?;
        let mut right = right
            .into_iter()
            .map(|value| value.ok().filter(|value| *value != RawBsonRef::Null));
        let mut next = || right.next().flatten();
        let items = next().and_then(number)?;
        let room = f64::from(self.size) - items;
        let mut is_true = stored(self.count).and_then(number) == Some(items)
            && stored(ROOM)
                .and_then(number)
                .is_some_and(|stored| stored >= 0.0 && stored <= room.max(0.0));
        if let Some(time) = &self.time {
            is_true &= stored(time.first) == next();
            is_true &= stored(time.last) == next();
        }
        for sum in self.sums {
            let (total, least, most) = (next(), next(), next());
            is_true &= match (stored(sum.name), total) {
                (Some(stored), Some(total)) if !sum.float => is_same_number(stored, total),
                (Some(stored), Some(total)) => {
                    let bounds = [least, most].map(|bound| bound.and_then(number).unwrap_or(0.0));
                    number(stored)
                        .zip(number(total))
                        .is_some_and(|(stored, total)| is_same_sum(stored, total, bounds))
                }
                _ => false,
            };
        }
        Some(is_true)
    }

    /// The fields of a stage that sets a bucket's summary from its items. Room may shrink, but never grows.
    pub(crate) fn retold(&self) -> Document {
        let items = self.number_of_items();
        let left = doc! { "$subtract": [self.size, &items] };
        let room = doc! { "$min": [{ "$ifNull": [format!("${ROOM}"), 0] }, left] };
        let mut fields = doc! { self.count: items, ROOM: { "$max": [0, room] } };
        if let Some(time) = &self.time {
            let times = self.each(time.field);
            for (name, operator) in [(time.first, "$min"), (time.last, "$max")] {
                fields.insert(name, doc! { "$ifNull": [{ operator: &times }, "$$REMOVE"] });
            }
        }
        for sum in self.sums {
            let number = if sum.float { "$toDouble" } else { "$toLong" };
            fields.insert(sum.name, doc! { number: { "$sum": self.each(sum.field) } });
        }
        fields
    }

    /// The values of a field of the items: an expression.
    fn each(&self, field: &str) -> Document {
        doc! { "$map": { "input": format!("${}", self.items), "in": format!("$$this.{field}") } }
    }

    fn number_of_items(&self) -> Document {
        doc! { "$size": format!("${}", self.items) }
    }
}

fn number(value: RawBsonRef<'_>) -> Option<f64> {
    match value {
        RawBsonRef::Int32(n) => Some(n.into()),
        RawBsonRef::Int64(n) => Some(n as f64),
        RawBsonRef::Double(n) => Some(n),
        _ => None,
    }
}

fn is_same_number(a: RawBsonRef<'_>, b: RawBsonRef<'_>) -> bool {
    let whole = |value: RawBsonRef<'_>| match value {
        RawBsonRef::Int32(n) => Some(i64::from(n)),
        RawBsonRef::Int64(n) => Some(n),
        _ => None,
    };
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a == b,
        _ => number(a).is_some() && number(a) == number(b),
    }
}

/// Sums of fractions depend on the order in which they were added, and what is lost is measured by what was added: they are
/// compared by a billionth of it.
fn is_same_sum(stored: f64, total: f64, [least, most]: [f64; 2]) -> bool {
    if stored == total || stored.is_nan() && total.is_nan() {
        return true;
    }
    let greatest = [stored, total, least, most].into_iter().map(f64::abs);
    let greatest = greatest.fold(0.0, f64::max);
    stored.is_finite() && total.is_finite() && (stored - total).abs() <= 1e-9 * greatest
}

/// Adds the summary of a bucket to an update by which the library writes all of its items, by `$set`.
///
/// # Errors
/// [`Error::Query`] where a sum is too great.
pub(crate) fn summarize_anew(meta: &BucketMeta, update: &mut Document) -> Result<()> {
    let set = update.get_document("$set").ok();
    let Some(items) = set.and_then(|set| set.get_array(meta.items).ok()) else {
        return Ok(());
    };
    let held = count(items.len());
    let items: Vec<Document> = items.iter().filter_map(Bson::as_document).cloned().collect();
    let summary = summarize(meta, &items)?;
    merge(update, "$set", doc! { meta.count: held });
    merge(update, "$set", summary.fields());
    merge(update, "$unset", summary.missing(meta));
    Ok(())
}

/// Of the items of a whole bucket, or of those that are pushed onto one.
pub(crate) struct Summary {
    time: Option<(&'static str, DateTime, &'static str, DateTime)>,
    sums: Vec<(&'static str, Bson)>,
}

pub(crate) fn summarize(meta: &BucketMeta, items: &[Document]) -> Result<Summary> {
    let time = meta.time.as_ref().and_then(|time| {
        let times = || items.iter().filter_map(|item| item.get_datetime(time.field).ok());
        Some((time.first, *times().min()?, time.last, *times().max()?))
    });
    let mut sums = Vec::with_capacity(meta.sums.len());
    for sum in meta.sums {
        let values = items.iter().filter_map(|item| item.get(sum.field));
        let total = if sum.float {
            Bson::Double(values.filter_map(float).sum())
        } else {
            let mut total = 0_i64;
            for value in values.filter_map(whole) {
                total = total.checked_add(value).ok_or_else(|| Error::Query {
                    collection: meta.collection,
                    message: format!(
                        "the sum `{}` is greater than an `i64` holds: leave out `sum({})`",
                        sum.name, sum.field
                    ),
                })?;
            }
            Bson::Int64(total)
        };
        sums.push((sum.name, total));
    }
    Ok(Summary { time, sums })
}

fn whole(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(n) => Some(i64::from(*n)),
        Bson::Int64(n) => Some(*n),
        _ => None,
    }
}

fn float(value: &Bson) -> Option<f64> {
    match value {
        Bson::Double(n) => Some(*n),
        other => whole(other).map(|n| n as f64),
    }
}

impl Summary {
    /// The fields of the bucket.
    pub(crate) fn fields(&self) -> Document {
        let mut fields = Document::new();
        if let Some((first, least, last, greatest)) = self.time {
            fields.insert(first, least);
            fields.insert(last, greatest);
        }
        for (name, total) in &self.sums {
            fields.insert(*name, total.clone());
        }
        fields
    }

    /// The fields that a bucket without an item lacks.
    pub(crate) fn missing(&self, meta: &BucketMeta) -> Document {
        match (&meta.time, &self.time) {
            (Some(time), None) => doc! { time.first: "", time.last: "" },
            _ => Document::new(),
        }
    }
}

/// Counts and sums what an update pushes, in the same update.
pub(crate) fn add(meta: &BucketMeta, update: &mut Document, items: &[Document]) -> Result<()> {
    let summary = summarize(meta, items)?;
    let pushed = count(items.len());
    let mut inc = doc! { meta.count: pushed, ROOM: pushed.saturating_neg() };
    inc.extend(
        summary
            .sums
            .iter()
            .map(|(name, total)| ((*name).to_owned(), total.clone())),
    );
    merge(update, "$inc", inc);
    if let Some((first, least, last, greatest)) = summary.time {
        merge(update, "$min", doc! { first: least });
        merge(update, "$max", doc! { last: greatest });
    }
    Ok(())
}

/// The number of items, as it is stored.
pub(crate) fn count(items: usize) -> i32 {
    i32::try_from(items).unwrap_or(i32::MAX)
}

/// Whether a change of items changes what is summed.
pub(crate) fn concerns(meta: &BucketMeta, operators: &Document) -> bool {
    let fields = operators.values().filter_map(Bson::as_document);
    let mut names = fields.flat_map(Document::keys);
    names.any(|name| meta.summed().any(|summed| summed == name))
}

/// Applies a change to the summed fields of an item.
pub(crate) fn apply(meta: &BucketMeta, operators: &Document, item: &mut Document) -> Result<(), String> {
    for (operator, fields) in operators {
        let Some(fields) = fields.as_document() else {
            continue;
        };
        for (name, value) in fields {
            if !meta.summed().any(|summed| summed == name) {
                continue;
            }
            match operator.as_str() {
                "$set" => {
                    item.insert(name, value.clone());
                }
                "$unset" => {
                    item.remove(name);
                }
                "$inc" => {
                    let sum = match (item.get(name).unwrap_or(&Bson::Int32(0)), value) {
                        (Bson::Double(a), b) => float(b).map(|b| Bson::Double(a + b)),
                        (a, Bson::Double(b)) => float(a).map(|a| Bson::Double(a + b)),
                        (a, b) => whole(a)
                            .zip(whole(b))
                            .and_then(|(a, b)| a.checked_add(b))
                            .map(Bson::Int64),
                    };
                    let sum =
                        sum.ok_or_else(|| format!("`{name}` of an item can't be increased by {value}"))?;
                    item.insert(name, sum);
                }
                _ => {
                    return Err(format!(
                        "the bucket keeps the sum of `{name}`, or is found by it as a time, so only `set`, `unset` or `inc` \
                         can change it in an item, and not `{operator}`"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The condition of the buckets that may hold items of a time.
pub(crate) fn touching(meta: &BucketMeta, from: Bound<DateTime>, to: Bound<DateTime>) -> Document {
    let Some(time) = &meta.time else {
        return Document::new();
    };
    let mut conditions: Vec<Document> = Vec::new();
    let mut least = |name: &str, at: DateTime| conditions.push(doc! { name: { "$gte": at } });
    if let Bound::Included(from) | Bound::Excluded(from) = from {
        match &meta.period {
            Some(period) => least(period.start, period.per.start(from)),
            None => least(time.last, from),
        }
    }
    if let Bound::Included(to) | Bound::Excluded(to) = to {
        let name = meta.period.as_ref().map_or(time.first, |period| period.start);
        conditions.push(doc! { name: { "$lte": to } });
    }
    all(conditions)
}

/// The summaries that the buckets of one collection store of their items, as a derived value.
#[derive(Clone, Copy)]
pub(crate) struct Summaries {
    meta: &'static DocumentMeta,
    bucket: &'static BucketMeta,
}

impl Summaries {
    /// `None` where the documents are no buckets.
    pub(crate) fn for_model(meta: &'static DocumentMeta) -> Option<Summaries> {
        Some(Summaries {
            meta,
            bucket: meta.bucket?,
        })
    }
}

/// The rule of summaries: whatever changes the items of a bucket sets them in the same statement.
pub(crate) struct Summarizing;

impl SyncRule for Summarizing {
    fn values<'g>(&self, graph: &'g Graph) -> Vec<Box<dyn DerivedValue + 'g>> {
        let summaries = graph.models().filter_map(Summaries::for_model);
        summaries
            .map(|value| -> Box<dyn DerivedValue> { Box::new(value) })
            .collect()
    }
}

impl DerivedValue for Summaries {
    fn holder(&self) -> &'static DocumentMeta {
        self.meta
    }

    fn fields(&self) -> Vec<String> {
        self.bucket.summary_fields().map(str::to_owned).collect()
    }

    fn source(&self) -> String {
        format!("{}.{}", self.meta.collection, self.bucket.items)
    }

    fn projection(&self) -> Document {
        self.bucket.to_compare()
    }

    fn declaration(&self, _: &Graph) -> Declaration {
        let bucket = self.bucket;
        let sources = bucket.summary_sources().into_iter();
        let copies = sources.map(|(name, of)| Bson::from(doc! { "field": name, "of": of }));
        let floats = bucket.sums.iter().filter(|sum| sum.float).map(|sum| sum.name);
        let is = doc! {
            "size": bucket.size,
            "copies": copies.collect::<Vec<_>>(),
            "floats": floats.collect::<Vec<_>>(),
        };
        Declaration {
            id: format!("{}.{}", self.meta.collection, bucket.items),
            from: self.meta.collection,
            holder: self.meta.collection,
            is,
            fills: true,
            rule: None,
        }
    }

    fn reads(&self, _: &Graph, _: &dyn Fn(&str) -> bool) -> Vec<String> {
        Vec::new()
    }

    fn kind(&self) -> ValueKind {
        ValueKind::Summary
    }

    fn is_of_holder(&self) -> bool {
        true
    }

    fn compare<'s>(
        &'s self,
        _: &'s Cx<'_>,
        documents: &'s [RawDocumentBuf],
    ) -> BoxFuture<'s, Result<Comparison>> {
        std::future::ready(Ok(in_buckets(self.bucket, documents))).boxed()
    }

    fn rewrite<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        ids: &'s [Bson],
        token: Token,
    ) -> BoxFuture<'s, Result<RederiveReport>> {
        async move {
            let graph = cx.odm.graph();
            let mut rewritten = RederiveReport::default();
            let mut set = self.bucket.retold();
            // The fields that others derive from it are updated.
            if self
                .bucket
                .summary_fields()
                .any(|name| graph.is_read(self.meta, name))
            {
                set.extend(recorded_in_pipeline(token));
                let version = doc! { "$ifNull": [format!("${}", own_fields::VERSION), 0_i64] };
                set.insert(own_fields::VERSION, doc! { "$add": [version, 1_i64] });
                rewritten.pending.push(self.meta);
            }
            let filter = doc! { "_id": { "$in": ids } };
            let result = cx.compute(self.meta, filter, vec![doc! { "$set": set }]).await;
            rewritten.written.add(result.map(WriteReport::of_documents))?;
            Ok(rewritten)
        }
        .boxed()
    }
}

fn in_buckets(bucket: &BucketMeta, documents: &[RawDocumentBuf]) -> Comparison {
    let mut compared = Comparison::default();
    for document in documents {
        let Some(is_true) = bucket.is_true(document) else {
            continue;
        };
        compared.copies += 1;
        if !is_true {
            compared.wrong += 1;
            compared.stale.push(batch::document_id(document));
        }
    }
    compared
}
