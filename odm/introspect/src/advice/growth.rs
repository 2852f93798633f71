//! Documents and arrays that grow.

use super::kinds::{Advice, Rule, Severity};
use super::remedy::{Remedy, bound, embedded, field, model, shell_collection};
use super::words::{bytes, count, documents, place};
use super::{estimate, names};
use crate::design::{Collection, CollectionKind, Design, Field};
use crate::kind::Kind;

/// The greatest size of a document on the server, in bytes.
const LIMIT: f64 = 16.0 * 1024.0 * 1024.0;
/// A document of this size reaches the limit when it doubles once more.
const NEAR: u64 = 8 * 1024 * 1024;
/// From here on a write may be refused at any time: an element of a megabyte is no exception.
const AT_LIMIT: u64 = 14 * 1024 * 1024;

/// An array of this length has no natural bound: odm too asks for a reason beyond it.
const LONG: u64 = 200;
/// An array is an exception where it is so much longer than half of all.
const LONGER: u64 = 10;
/// Where one in a hundred is so long, most reads of them are large.
const MANY_LONG: u64 = 1_000;
/// Fewer arrays say nothing about their lengths.
const ARRAYS: u64 = 20;

/// Half of a page of WiredTiger (32 KiB): of larger documents a read that needs a few fields reads little else.
const BLOATED: u64 = 16 * 1024;
/// The share of a document that one field has to take, so that without it the document is small.
const BULK: f64 = 0.7;
/// Fewer documents are no reason for another collection.
const DOCUMENTS: u64 = 20;

/// Documents near 16 MiB.
pub fn large_documents(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for collection in stored(design) {
        let sizes = &collection.sizes;
        if sizes.greatest < NEAR {
            continue;
        }
        let severity = if sizes.greatest >= AT_LIMIT {
            Severity::Fault
        } else {
            Severity::Risk
        };
        let largest = largest_field(collection);
        let path = largest.map_or("", |(field, _)| field.path.as_str());
        let of_limit = sizes.greatest as f64 / LIMIT;
        let remedy = match largest {
            Some((field, _)) if field.lengths.is_some() => apart(collection, field),
            Some((field, _)) => split(collection, field),
            None => Remedy::new("Store the parts of the document that grow as documents of their own."),
        };
        all.push(
            Advice::new(Rule::LargeDocument, severity, &collection.name, path)
                .finding(format!(
                    "The largest document of `{}` has {}, which is {:.0} % of what the server stores at most; the median is {}.",
                    collection.name,
                    bytes(sizes.greatest as f64),
                    of_limit * 100.0,
                    bytes(sizes.median as f64),
                ))
                .cost(format!(
                    "A write that takes the document beyond {} is refused, and each read of it transfers {}.",
                    bytes(LIMIT),
                    bytes(sizes.greatest as f64),
                ))
                .remedy(remedy)
                .figure("affected", sizes.greatest as f64)
                .figure("greatestBytes", sizes.greatest as f64)
                .figure("medianBytes", sizes.median as f64)
                .figure("shareOfLimit", of_limit),
        );
    }
    all
}

/// Arrays without an end: the longest are far longer than the others, or one in a hundred is very long.
pub fn growing_arrays(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for collection in stored(design) {
        collection.root.walk(&mut |field| {
            let Some(lengths) = &field.lengths else {
                return;
            };
            let has_tail = lengths.greatest >= LONG && lengths.greatest >= LONGER * lengths.median.max(1);
            if lengths.number < ARRAYS || !(has_tail || lengths.p99 >= MANY_LONG) {
                return;
            }
            // The items of a bucket are bounded on purpose.
            let in_bucket = |bucket: &&crate::design::Bucket| {
                bucket.collection == collection.name && bucket.items == field.path
            };
            if design.buckets.iter().any(|bucket| in_bucket(&bucket)) {
                return;
            }
            let whole = estimate::array(field, lengths.greatest);
            let long = at_least(&lengths.histogram, LONG);
            // A single exception shows no growth.
            let severity = if long > 1 {
                Severity::Risk
            } else {
                Severity::Hint
            };
            all.push(
                Advice::new(Rule::GrowingArray, severity, &collection.name, &field.path)
                    .finding(format!(
                        "The longest array `{}` has {} elements, where half have at most {} and 99 of 100 at most {}; {} {} or more.",
                        place(&collection.name, &field.path),
                        count(lengths.greatest),
                        count(lengths.median),
                        count(lengths.p99),
                        if long == 1 {
                            "1 has".to_owned()
                        } else {
                            format!("{} have", count(long))
                        },
                        LONG,
                    ))
                    .cost(format!(
                        "The longest takes about {} of its document, which each read transfers and each update of the document \
                         stores anew; an array without a bound ends at {}.",
                        bytes(whole),
                        bytes(LIMIT),
                    ))
                    .remedy(apart(collection, field))
                    .figure("affected", lengths.greatest as f64)
                    .figure("greatest", lengths.greatest as f64)
                    .figure("p99", lengths.p99 as f64)
                    .figure("median", lengths.median as f64)
                    .figure("long", long as f64)
                    .figure("greatestBytes", whole),
            );
        });
    }
    all
}

/// Large documents of which one field takes the most: a split, or a subset of an array.
pub fn bloated_documents(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for collection in stored(design) {
        let median = collection.sizes.median;
        if median < BLOATED || collection.read < DOCUMENTS {
            continue;
        }
        let Some((field, takes)) = largest_field(collection) else {
            continue;
        };
        let part = takes / collection.sizes.mean.max(1.0);
        if part < BULK {
            continue;
        }
        let rest = (collection.sizes.mean - takes).max(0.0);
        let remedy = if field.lengths.is_some() {
            apart(collection, field)
        } else {
            split(collection, field)
        };
        all.push(
            Advice::new(Rule::BloatedDocument, Severity::Risk, &collection.name, &field.path)
                .finding(format!(
                    "Half of the documents of `{}` have more than {}, of which `{}` takes about {:.0} %.",
                    collection.name,
                    bytes(median as f64),
                    field.path,
                    (part * 100.0).min(100.0),
                ))
                .cost(format!(
                    "A read of all {} without a projection transfers about {}, where the other fields have {}; the cache of the server \
                     holds as many fewer documents.",
                    documents(collection.documents),
                    bytes(collection.sizes.mean * collection.documents as f64),
                    bytes(rest * collection.documents as f64),
                ))
                .remedy(remedy)
                .figure("affected", collection.documents as f64)
                .figure("medianBytes", median as f64)
                .figure("fieldBytes", takes)
                .figure("share", part),
        );
    }
    all
}

/// Collections whose documents are stored as they are shown.
fn stored(design: &Design) -> impl Iterator<Item = &Collection> {
    design
        .collections
        .iter()
        .filter(|collection| !matches!(collection.kind, CollectionKind::View | CollectionKind::TimeSeries))
}

/// The field of a document that takes the most, with its bytes of the mean document.
fn largest_field(collection: &Collection) -> Option<(&Field, f64)> {
    let fields = collection.root.fields.iter();
    fields
        .map(|field| (field, estimate::share(field)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The number of values from a limit on.
fn at_least(histogram: &[(u64, u64)], least: u64) -> u64 {
    let above = histogram.iter().filter(|(upper, _)| *upper >= least);
    above.map(|(_, number)| number).sum()
}

/// The elements of an array as documents of their own: in buckets where they have a time, else one each.
fn apart(collection: &Collection, array: &Field) -> Remedy {
    let parent = names::type_name(&collection.name);
    let item = names::embedded_name(&collection.name, &format!("{}[]", array.path));
    let items = array.items.as_deref();
    let time = items.and_then(|items| {
        let is_time = |field: &&Field| field.only_kind() == Some(Kind::Date) && !field.is_optional();
        items.fields.iter().find(is_time)
    });
    let of_document = items.is_some_and(|items| items.only_kind() == Some(Kind::Object));
    let Some(written) = names::written(&array.path) else {
        return Remedy::new(
            "Store each element as a document that refers to this one, with an index on the reference.",
        );
    };
    let median = array.lengths.as_ref().map_or(0, |lengths| lengths.median);
    let fields = |items: &Field| {
        let all = items.fields.iter();
        let lines: Vec<String> = all
            .map(|one| {
                let rust = names::rust_type(Some(one));
                let rust = if one.is_optional() {
                    format!("Option<{rust}>")
                } else {
                    rust.to_owned()
                };
                field(&one.path, &[], &rust)
            })
            .collect();
        lines.join("\n")
    };
    // Where the elements are more than plain values, their types are those of the struct that there is.
    let is_flat = items.is_some_and(|items| {
        let plain = |one: &Field| {
            one.map.is_none() && !matches!(one.only_kind(), None | Some(Kind::Object | Kind::Array))
        };
        !items.fields.is_empty() && items.fields.iter().all(plain)
    });
    let body = match items {
        Some(items) if of_document && is_flat => fields(items),
        _ if of_document => "// the fields of an element".to_owned(),
        _ => format!("pub value: {},", names::rust_type(items)),
    };
    let remedy = match time {
        Some(time) if of_document => {
            let attribute = format!(
                "#[bucket(of = {parent}, size = 50, time = {})]",
                names::field_name(&time.path)
            );
            Remedy::new(
                "Store the elements in documents of up to 50 each: `odm.buckets` adds them and reads a page of them by one query.",
            )
            .rust(embedded(&item, &[attribute], &body))
        }
        _ => Remedy::new("Store each element as a document that refers to this one; `children_of` reads them by an index.").rust(
            format!(
                "#[derive(Document, Clone, Debug, PartialEq)]\n#[document(collection = \"{}_{}\")]\npub struct {item} {{\n    pub id: \
                 ObjectId,\n    #[parent_ref(on_delete = cascade)]\n    pub {}: Ref<{parent}>,\n{}\n}}",
                collection.name,
                written.replace('.', "_"),
                names::field_name(&names::singular(&collection.name)),
                body.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n"),
            ),
        ),
    };
    // Of an array below others or in an embedded document, the model is another struct.
    if written.contains('.') || array.path.contains('[') {
        return remedy;
    }
    let keep = bound(median).min(LONG);
    let bounded = field(
        &array.path,
        &[format!("#[embed(max = {keep})]")],
        &match of_document {
            true => format!("Vec<{item}>"),
            false => format!("Vec<{}>", names::rust_type(items)),
        },
    );
    remedy
        .rust(model(
            &collection.name,
            &[],
            &format!("// the first of them, where each page shows some\n{bounded}"),
        ))
        .step(&[
            "// when each element beyond the bound is stored as above".to_owned(),
            format!(
                "let first = doc! {{ \"$set\": {{ {written:?}: {{ \"$slice\": [{:?}, {keep}] }} }} }};",
                format!("${written}")
            ),
            format!(
                "let longer = doc! {{ {:?}: {{ \"$exists\": true }} }};",
                format!("{written}.{keep}")
            ),
            format!(
                "step.collection({:?}).update(longer, [first]).await?;",
                collection.name
            ),
            "step.declare().await".to_owned(),
        ])
}

/// A field in a document of its own.
fn split(collection: &Collection, cold: &Field) -> Remedy {
    let parent = names::type_name(&collection.name);
    let name = format!("{parent}Details");
    let to = format!("{}_details", names::singular(&collection.name));
    let reference = names::field_name(&names::singular(&collection.name));
    let rust = match cold.only_kind() {
        Some(Kind::Object) => names::embedded_name(&collection.name, &cold.path),
        _ => names::rust_type(Some(cold)).to_owned(),
    };
    let attributes: Vec<String> = match (cold.only_kind(), &cold.text) {
        (Some(Kind::Object), _) => vec!["#[embed]".to_owned()],
        (_, Some(text)) => vec![format!("#[field(max_len = {})]", bound(text.greatest))],
        _ => Vec::new(),
    };
    let lines = field(&cold.path, &attributes, &rust);
    let lines: Vec<String> = lines.lines().map(|line| format!("    {line}")).collect();
    let path = &cold.path;
    Remedy::new("Split the document: the large field moves to a document of its own, which is read where it is shown.")
        .rust(format!(
            "#[derive(Document, Clone, Debug, PartialEq)]\n#[document(collection = {to:?})]\npub struct {name} {{\n    pub id: \
             ObjectId,\n    #[parent_ref(one, on_delete = cascade)]\n    pub {reference}: Ref<{parent}>,\n{}\n}}",
            lines.join("\n"),
        ))
        .shell(format!(
            "{}.aggregate([\n  {{ $match: {{ {path:?}: {{ $exists: true }} }} }},\n  {{ $project: {{ _id: \"$_id\", {reference}: \"$_id\", \
             {path:?}: 1 }} }},\n  {{ $merge: {to:?} }},\n])",
            shell_collection(&collection.name),
        ))
        .step(&[
            "// when all of them are in the new collection".to_owned(),
            format!("step.collection({:?}).remove({path:?}).await", collection.name),
        ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

    #[test]
    fn an_array_with_a_long_tail_grows() {
        let design = database(vec![with_array(&[(0, 300), (2, 20), (1_800, 4)])]);
        let all = growing_arrays(&design);
        assert_eq!(all.len(), 1);
        assert_eq!(
            (all[0].place().as_str(), all[0].evidence["long"]),
            ("orders.log", 4.0)
        );
        assert!(all[0].finding.contains("1,800 elements"), "{}", all[0].finding);
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("#[bucket(of = Order, size = 50, time = at)]")
        );
    }

    #[test]
    fn arrays_of_one_length_and_few_arrays_do_not() {
        for lengths in [
            &[(150, 300)][..],
            &[(210, 300)],
            &[(0, 3), (1_800, 4)],
            &[(0, 100), (60, 4)],
        ] {
            let design = database(vec![with_array(lengths)]);
            assert!(growing_arrays(&design).is_empty(), "{lengths:?}");
        }
    }

    #[test]
    fn the_items_of_a_bucket_do_not_grow() {
        let mut design = database(vec![with_array(&[(0, 300), (1_800, 4)])]);
        design.buckets.push(crate::design::Bucket {
            collection: "orders".to_owned(),
            items: "log".to_owned(),
            ..Default::default()
        });
        assert!(growing_arrays(&design).is_empty());
    }

    #[test]
    fn a_document_of_nine_mebibytes_is_near_the_limit() {
        let mut orders = with_array(&[(0, 300), (90_000, 1)]);
        orders.sizes = spread(&[(1_000, 300), (9 << 20, 1)]);
        let all = large_documents(&database(vec![orders.clone()]));
        assert_eq!((all.len(), all[0].severity), (1, Severity::Risk));
        orders.sizes = spread(&[(1_000, 300), (15 << 20, 1)]);
        let all = large_documents(&database(vec![orders.clone()]));
        assert_eq!(all[0].severity, Severity::Fault);
        orders.sizes = spread(&[(1_000, 300), (7 << 20, 1)]);
        assert!(large_documents(&database(vec![orders])).is_empty());
    }

    #[test]
    fn a_document_that_is_one_long_text_is_split() {
        let mut films = collection(
            "films",
            500,
            vec![text("title", 500, 20), text("plot", 500, 40_000)],
        );
        films.sizes = spread(&[(40_100, 500)]);
        let all = bloated_documents(&database(vec![films.clone()]));
        assert_eq!((all.len(), all[0].path.as_str()), (1, "plot"));
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("#[parent_ref(one, on_delete = cascade)]")
        );
        // Two large fields: none of them is the bulk.
        films.root.fields.push(text("notes", 500, 40_000));
        films.sizes = spread(&[(80_100, 500)]);
        assert!(bloated_documents(&database(vec![films])).is_empty());
        // A small one.
        let mut films = collection("films", 500, vec![text("plot", 500, 4_000)]);
        films.sizes = spread(&[(4_100, 500)]);
        assert!(bloated_documents(&database(vec![films])).is_empty());
    }
}
