//! The kind of a collection, as it is created, and whether an existing one is of it.

use super::validator::Current;
use super::values::{integer, whole};
use crate::model::document::{CollectionKind, DocumentMeta};
use crate::{Error, Odm, Result};
use mongodb::bson::{Bson, Document, doc};

/// MongoDB 5.0, which has time series (wire version 13).
const TIME_SERIES: i32 = 13;

/// From MongoDB 6.0 on (wire version 17), a time series has indexes on any field.
pub(super) const INDEXES_OF_MEASUREMENTS: i32 = 17;

/// The order of the granularities: one can be raised.
const GRANULARITIES: [&str; 3] = ["seconds", "minutes", "hours"];

/// How an existing collection differs from the declared one.
pub(super) enum KindDifference {
    /// `collMod` with these options makes it the declared one.
    Change { options: Document, words: String },
    /// It stays as it is.
    Conflict(String),
}

/// The declared kind as `create` takes it: empty for a plain collection.
///
/// # Errors
/// [`Error::Unsupported`] for a time series before MongoDB 5.0, and whatever the function of a view fails with.
pub(super) async fn declared(odm: &Odm, meta: &DocumentMeta) -> Result<Document> {
    Ok(match &meta.kind {
        CollectionKind::Plain => Document::new(),
        CollectionKind::Capped { size, max } => {
            let mut options = doc! { "capped": true, "size": number(*size) };
            if let Some(max) = max {
                options.insert("max", number(*max));
            }
            options
        }
        CollectionKind::TimeSeries(series) => {
            let server = odm.server().await?;
            if server.max_wire_version() < TIME_SERIES {
                return Err(Error::Unsupported {
                    operation: "a collection declared by `time_series`",
                    needs: "MongoDB 5.0",
                    is: server.to_string(),
                });
            }
            let mut of = doc! { "timeField": (series.time)() };
            if let Some(meta) = series.meta {
                of.insert("metaField", meta());
            }
            if let Some(granularity) = series.granularity {
                of.insert("granularity", granularity);
            }
            let mut options = doc! { "timeseries": of };
            if let Some(seconds) = series.expire_after {
                options.insert("expireAfterSeconds", number(seconds));
            }
            options
        }
        CollectionKind::View(view) => {
            let stages = (view.stages)(odm).await?;
            doc! { "viewOn": (view.collection)(), "pipeline": stages }
        }
    })
}

fn number(n: u64) -> Bson {
    whole(i64::try_from(n).unwrap_or(i64::MAX))
}

/// The type of such a collection in the reply of `listCollections`.
pub(super) fn listed_type(options: &Document) -> &'static str {
    if options.contains_key("viewOn") {
        "view"
    } else if options.contains_key("timeseries") {
        "timeseries"
    } else {
        "collection"
    }
}

/// Whether a collection has a validator, and a collation of its own.
pub(super) fn is_validated(options: &Document) -> bool {
    listed_type(options) == "collection"
}

/// The differences of a collection of the declared type.
pub(super) fn differences(declared: &Document, current: &Current) -> Vec<KindDifference> {
    match listed_type(declared) {
        "view" => view(declared, &current.kind_options),
        "timeseries" => time_series(declared, &current.kind_options),
        _ => capped(declared, current),
    }
    .into_iter()
    .collect()
}

/// Whether another process has created the collection as it is declared.
pub(super) fn is_created(declared: &Document, current: &Current) -> bool {
    current.kind == listed_type(declared) && differences(declared, current).is_empty()
}

fn view(declared: &Document, there: &Document) -> Vec<KindDifference> {
    if ["viewOn", "pipeline"]
        .iter()
        .all(|name| declared.get(name) == there.get(name))
    {
        return Vec::new();
    }
    let words = match (declared.get_str("viewOn"), there.get_str("viewOn")) {
        (Ok(declared), Ok(there)) if declared != there => {
            format!("change the view: it shows `{declared}` (was `{there}`)")
        }
        _ => "change the pipeline of the view".to_owned(),
    };
    vec![KindDifference::Change {
        options: declared.clone(),
        words,
    }]
}

fn time_series(declared: &Document, there: &Document) -> Vec<KindDifference> {
    let mut differences = Vec::new();
    let none = Document::new();
    let of = |options: &Document| options.get_document("timeseries").unwrap_or(&none).clone();
    let (wanted, is) = (of(declared), of(there));
    let text = |series: &Document, name: &str| series.get_str(name).ok().map(str::to_owned);
    for (name, word) in [("timeField", "the time"), ("metaField", "the source")] {
        let (wanted, is) = (text(&wanted, name), text(&is, name));
        if wanted != is {
            let shown =
                |field: Option<String>| field.map_or_else(|| "none".to_owned(), |field| format!("`{field}`"));
            differences.push(KindDifference::Conflict(format!(
                "the field with {word} of a measurement is {}, declared {}, and a time series keeps the one that it was created with: \
                 copy its documents into a new collection, or declare it as it is",
                shown(is),
                shown(wanted)
            )));
        }
    }
    // The server's own, where none is declared.
    let place = |series: &Document| {
        GRANULARITIES
            .iter()
            .position(|one| text(series, "granularity").as_deref() == Some(one))
    };
    if let Some(wanted) = place(&wanted) {
        let is = place(&is);
        if is.is_some_and(|is| is < wanted) {
            differences.push(KindDifference::Change {
                options: doc! { "timeseries": { "granularity": GRANULARITIES[wanted] } },
                words: format!(
                    "raise the granularity of the time series to {}",
                    GRANULARITIES[wanted]
                ),
            });
        } else if is != Some(wanted) {
            let is = is.map_or("none", |is| GRANULARITIES[is]);
            differences.push(KindDifference::Conflict(format!(
                "the granularity is {is}, declared {}, and that of a time series can only be raised: declare it as it is, or copy its \
                 documents into a new collection",
                GRANULARITIES[wanted]
            )));
        }
    }
    let seconds = |options: &Document| options.get("expireAfterSeconds").and_then(integer);
    let (wanted, is) = (seconds(declared), seconds(there));
    if wanted != is {
        let shown =
            |seconds: Option<i64>| seconds.map_or_else(|| "never".to_owned(), |s| format!("after {s} s"));
        let off = Bson::from("off");
        differences.push(KindDifference::Change {
            options: doc! { "expireAfterSeconds": wanted.map_or(off, whole) },
            words: format!("delete measurements {} (was {})", shown(wanted), shown(is)),
        });
    }
    differences
}

fn capped(declared: &Document, current: &Current) -> Vec<KindDifference> {
    let number = |options: &Document, name: &str| options.get(name).and_then(integer);
    let Some(size) = number(declared, "size") else {
        return Vec::new();
    };
    let max = number(declared, "max");
    let shown = match max {
        Some(max) => format!("{size} bytes and {max} documents"),
        None => format!("{size} bytes"),
    };
    if !current.capped {
        return vec![KindDifference::Conflict(format!(
            "the collection is not capped, declared to be of {shown}: `db.runCommand({{ convertToCapped: …, size: {size} }})` makes it \
             one, and removes the oldest documents that don't fit and all indexes; or leave out `capped`"
        ))];
    }
    // The server rounds the size up to a multiple of 256, and has no number for no bound.
    let rounded = |size: i64| size.saturating_add(255) / 256;
    let there = &current.kind_options;
    let (is, most) = (number(there, "size"), number(there, "max").filter(|max| *max > 0));
    if is.map(rounded) == Some(rounded(size)) && most == max {
        return Vec::new();
    }
    let is = is.unwrap_or_default();
    let most = most.map_or_else(String::new, |max| format!(" and {max} documents"));
    vec![KindDifference::Conflict(format!(
        "the capped collection is of {is} bytes{most}, declared {shown}; a smaller one loses documents, so odm does not change it: \
         from MongoDB 6.0 on `db.runCommand({{ collMod: …, cappedSize: {size}, cappedMax: {} }})` does, or declare it as it is",
        max.unwrap_or(0)
    ))]
}
