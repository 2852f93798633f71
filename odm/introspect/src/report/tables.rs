//! The tables of a page.

use super::marks::{code, escaped, histogram, sentence, share, table};
use crate::advice::words::{bytes, count, counted, documents, percent, place};
use crate::design::{Collection, CollectionKind, Design, Field, Index, Place};
use crate::kind::Kind;
use std::fmt::Write;

/// More values of a field are in the JSON.
const VALUES: usize = 12;

/// Of fewer values, that none is there twice says nothing.
const REPEATED: u64 = 10;

fn end(place_of: &Place) -> String {
    code(&place(&place_of.collection, &place_of.paths.join(", ")))
}

/// The details of a collection: its sizes, its fields, its indexes.
pub fn collection(collection: &Collection, at: usize) -> String {
    let kind = match collection.kind {
        CollectionKind::Plain => "",
        CollectionKind::Capped => ", capped",
        CollectionKind::TimeSeries => ", time series",
        CollectionKind::View => ", view",
    };
    let mut html = format!(
        "<details id=\"c{at}\"><summary>{} <span>{}{kind}</span></summary>\n",
        code(&collection.name),
        documents(collection.documents),
    );
    let sizes = &collection.sizes;
    let of = |size: u64| bytes(size as f64);
    if sizes.number > 0 {
        let _ = writeln!(
            html,
            "<p>{} read. Sizes: median {}, 99 of 100 up to {}, greatest {}. {}</p>",
            documents(collection.read),
            of(sizes.median),
            of(sizes.p99),
            of(sizes.greatest),
            histogram(sizes, &of),
        );
    }
    html.push_str(&fields(collection));
    if !collection.indexes.is_empty() {
        let rows: Vec<Vec<String>> = collection.indexes.iter().map(index).collect();
        html.push_str("<h4>Indexes</h4>\n");
        html.push_str(&table(&["name", "fields", "options", "uses"], &rows));
    }
    html.push_str("</details>\n");
    html
}

fn index(index: &Index) -> Vec<String> {
    let keys: Vec<String> = index
        .keys
        .iter()
        .map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            code(&format!("{name}: {value}"))
        })
        .collect();
    let mut options: Vec<&str> = Vec::new();
    if index.unique {
        options.push("unique");
    }
    // A filter compares with values: its name is enough.
    options.extend(
        index
            .options
            .keys()
            .map(String::as_str)
            .filter(|name| !matches!(*name, "v" | "ns" | "unique" | "key" | "name")),
    );
    vec![
        code(&index.name),
        keys.join(" "),
        escaped(&options.join(", ")),
        index
            .used
            .map_or_else(String::new, |used| count(used.unsigned_abs())),
    ]
}

fn fields(collection: &Collection) -> String {
    let mut rows = Vec::new();
    collection.root.walk(&mut |field| {
        if !field.path.is_empty() {
            rows.push(row(field));
        }
    });
    if rows.is_empty() {
        return String::new();
    }
    table(
        &["field", "types", "there", "distinct", "lengths", "what it is"],
        &rows,
    )
}

fn row(field: &Field) -> Vec<String> {
    let total: u64 = field.kinds.values().sum();
    let kinds: Vec<String> = field
        .kinds
        .iter()
        .map(|(kind, number)| {
            if field.kinds.len() == 1 {
                kind.name().to_owned()
            } else {
                format!("{} {}", kind.name(), percent(*number, total))
            }
        })
        .collect();
    let there = if field.of == 0 || field.name.is_empty() {
        count(field.present)
    } else {
        percent(field.present, field.of)
    };
    let distinct = if field.distinct == 0 {
        String::new()
    } else {
        format!(
            "{}{}",
            if field.exact { "" } else { "about " },
            count(field.distinct)
        )
    };
    vec![
        code(&field.path),
        escaped(&kinds.join(", ")),
        there.replace(' ', "&nbsp;"),
        distinct,
        lengths(field),
        what(field),
    ]
}

fn lengths(field: &Field) -> String {
    let mut html = String::new();
    let spreads = [
        (&field.lengths, "element", "elements"),
        (&field.text, "character", "characters"),
    ];
    for (spread, one, many) in spreads {
        let Some(spread) = spread.as_ref().filter(|spread| spread.number > 0) else {
            continue;
        };
        let unit = |value: u64| counted(value, one, many);
        let range = if spread.least == spread.greatest {
            unit(spread.least)
        } else {
            format!("{} to {}", count(spread.least), unit(spread.greatest))
        };
        let _ = write!(html, "{} {range} ", histogram(spread, &unit));
    }
    html
}

fn what(field: &Field) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(form) = field.form {
        parts.push(escaped(form.name()));
    }
    if let Some(map) = &field.map {
        parts.push(format!(
            "a map with {}. {}",
            counted(map.keys, "key", "keys"),
            sentence(&map.evidence)
        ));
    }
    if field.enumeration && !field.values.is_empty() {
        let shown: Vec<String> = field
            .values
            .iter()
            .take(VALUES)
            .map(|(value, _)| code(value))
            .collect();
        let more = field.values.len().saturating_sub(VALUES);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        parts.push(format!("one of {}{more}", shown.join(" ")));
    } else if field.enumeration {
        parts.push(format!("one of {}", counted(field.distinct, "value", "values")));
    }
    for variants in &field.variants {
        let told = match &variants.tag {
            Some(tag) => format!("told by {}", code(tag)),
            None => "told by which fields are there".to_owned(),
        };
        parts.push(format!(
            "{}, {told}",
            counted(variants.kinds.len() as u64, "variant", "variants")
        ));
    }
    if field.unique
        && field.present >= REPEATED
        && field.path != "_id"
        && !field.kinds.contains_key(&Kind::Object)
    {
        parts.push("no value twice".to_owned());
    }
    parts.extend(field.doubts.iter().map(|doubt| sentence(doubt)));
    parts.join("; ")
}

/// The references, with the documents on both of their sides.
pub fn references(design: &Design) -> String {
    let rows: Vec<Vec<String>> = design
        .references
        .iter()
        .map(|reference| {
            let told = match &reference.told {
                Some(told) => format!(" where {} says so", code(&told.path)),
                None => String::new(),
            };
            let values = reference.found + reference.dangling;
            vec![
                end(&reference.from),
                end(&reference.to),
                format!("{} of {}", count(reference.found), count(values)),
                spread(&reference.per_document),
                spread(&reference.per_target),
                share(reference.confidence),
                format!("{}{told}", sentence(&reference.evidence)),
            ]
        })
        .collect();
    let heads = [
        "from",
        "to",
        "found",
        "in a document",
        "for a target",
        "sure",
        "evidence",
    ];
    if rows.is_empty() {
        String::new()
    } else {
        table(&heads, &rows)
    }
}

fn spread(spread: &crate::sketch::Spread) -> String {
    if spread.number == 0 {
        return String::new();
    }
    let bars = histogram(spread, &count);
    if spread.least == spread.greatest {
        count(spread.least)
    } else {
        format!("{bars} {} to {}", count(spread.least), count(spread.greatest))
    }
}

/// Links, copies, computed fields, subsets, buckets and trees: each table with its heading.
pub fn derived(design: &Design) -> String {
    let mut html = String::new();
    let mut add = |title: &str, heads: &[&str], rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            let _ = write!(html, "<h3>{title}</h3>\n{}", table(heads, &rows));
        }
    };
    let side = |id: usize| {
        design
            .reference(id)
            .map_or_else(String::new, |reference| end(&reference.from))
    };
    let links = design.two_way.iter().map(|link| {
        vec![
            side(link.a),
            side(link.b),
            count(link.agree),
            count(link.only_a),
            count(link.only_b),
        ]
    });
    add(
        "Two-way references",
        &[
            "one side",
            "the other",
            "pairs of both",
            "of the first alone",
            "of the second alone",
        ],
        links.collect(),
    );
    let copies = design.copies.iter().map(|copy| {
        let by = design.reference(copy.by);
        let holder = by.map_or("", |by| by.from.collection.as_str());
        let source = by.map_or("", |by| by.to.collection.as_str());
        let weak = if copy.weak {
            "Few values: it may be chance. "
        } else {
            ""
        };
        vec![
            code(&place(holder, &copy.path)),
            code(&place(source, &copy.from)),
            count(copy.equal),
            count(copy.stale),
            count(copy.distinct),
            format!("{weak}{}", sentence(&copy.evidence)),
        ]
    });
    add(
        "Copies",
        &["copy", "source", "equal", "stale", "distinct", "evidence"],
        copies.collect(),
    );
    let computed = design.computed.iter().map(|computed| {
        let by = computed.by.map(side).unwrap_or_default();
        let of: Vec<String> = computed.of.iter().map(|of| code(of)).collect();
        let kind = format!("{:?}", computed.kind);
        vec![
            code(&place(&computed.collection, &computed.path)),
            escaped(&words_of(&kind)),
            format!("{} {by}", of.join(" ")),
            count(computed.equal),
            count(computed.different),
        ]
    });
    add(
        "Computed fields",
        &["field", "how", "of", "as computed", "different"],
        computed.collect(),
    );
    let subsets = design.subsets.iter().map(|subset| {
        vec![
            code(&place(&subset.collection, &subset.path)),
            side(subset.by),
            format!("the first {} by {}", count(subset.limit), code(&subset.order)),
            count(subset.equal),
            count(subset.different),
        ]
    });
    add(
        "Subsets",
        &["array", "of", "which", "as it should be", "different"],
        subsets.collect(),
    );
    let buckets = design.buckets.iter().map(|bucket| {
        vec![
            code(&place(&bucket.collection, &bucket.items)),
            code(&bucket.key),
            count(bucket.limit),
        ]
    });
    add("Buckets", &["items", "of", "at most"], buckets.collect());
    let trees = design.trees.iter().map(|tree| {
        vec![
            code(&place(&tree.collection, &tree.path)),
            code(&tree.key),
            code(&tree.separator),
            count(tree.equal),
            count(tree.different),
        ]
    });
    add(
        "Materialised paths",
        &["text", "of the keys", "between them", "all found", "others"],
        trees.collect(),
    );
    html
}

/// `CountOfReferrers` as `count of referrers`.
fn words_of(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
