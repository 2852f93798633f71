//! References that dangle, and links whose sides disagree.

use super::declared::declared;
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::{Remedy, field, model, quoted, reference_attribute, shell_collection};
use super::words::{count, counted, percent, place, share};
use crate::design::{Design, Place, Reference};

/// Less sure references are not told from other values that happen to be there: what they lack is no fault.
pub const SURE: f64 = 0.25;
/// Where more values than these dangle, it may be another kind of value: then the data are not said to be wrong.
const MOSTLY: f64 = 0.5;
/// Two references that agree on fewer pairs may say two things.
const SAME: f64 = 0.5;

/// References to documents that aren't there.
pub fn dangling_references(design: &Design) -> Vec<Advice> {
    let dangling = |reference: &&Reference| reference.dangling > 0 && reference.confidence >= SURE;
    let mut all = Vec::new();
    for reference in design.references.iter().filter(dangling) {
        let values = reference.found + reference.dangling;
        let part = share(reference.dangling, values);
        let severity = if part > MOSTLY {
            Severity::Hint
        } else {
            Severity::Fault
        };
        let path = reference.from.paths.join(", ");
        let to = &reference.to.collection;
        let doubt = if part > MOSTLY {
            ", so that this may be no reference"
        } else {
            ""
        };
        all.push(
            Advice::new(
                Rule::DanglingReference,
                severity,
                &reference.from.collection,
                &path,
            )
            .finding(format!(
                "{} of {} of `{}` {} in `{to}`, {}{doubt}.",
                count(reference.dangling),
                counted(values, "value", "values"),
                place(&reference.from.collection, &path),
                if reference.dangling == 1 {
                    "is not"
                } else {
                    "are not"
                },
                percent(reference.dangling, values),
            ))
            .cost(format!(
                "A join finds nothing for {}, and `audit` lists each as a fault.",
                counted(reference.dangling, "value", "values"),
            ))
            .remedy(mend_dangling(design, reference))
            .figure("affected", reference.dangling as f64)
            .figure("dangling", reference.dangling as f64)
            .figure("values", values as f64)
            .figure("share", part)
            .figure("confidence", reference.confidence)
            .examples(&reference.examples),
        );
    }
    all
}

fn mend_dangling(design: &Design, reference: &Reference) -> Remedy {
    let from = &reference.from;
    let ([path], [target]) = (from.paths.as_slice(), reference.to.paths.as_slice()) else {
        return Remedy::new(
            "List the values that dangle, then insert the documents that are missing, or empty the fields.",
        )
        .shell(list_composite(reference));
    };
    let (rule, words) = if path.ends_with("[]") {
        (
            "pull",
            "Declare the reference with `on_delete = pull`: `repair` takes the values out that dangle.",
        )
    } else if path.contains("[].") {
        (
            "restrict",
            "List the elements whose reference dangles, and insert the documents that are missing or take the elements out; \
             then declare the reference, which refuses new ones.",
        )
    } else {
        (
            "nullify",
            "Declare the reference with `on_delete = nullify`: `repair` empties the fields that dangle.",
        )
    };
    let remedy = match declared(design, reference, &[], Some(rule)) {
        Some(declared) if rule == "restrict" => Remedy::new(words).rust(declared),
        Some(declared) => Remedy::new(words)
            .rust(declared)
            .terminal(format!("cargo run -- repair --only {}", from.collection)),
        None => Remedy::new(
            "List the values that dangle, then insert the documents that are missing, or empty the fields.",
        ),
    };
    match names::written(path) {
        Some(written) => remedy.shell(list_dangling(from, path, &written, &reference.to, target)),
        None => remedy,
    }
}

fn list_dangling(from: &Place, path: &str, written: &str, to: &Place, target: &str) -> String {
    let mut stages = Vec::new();
    let mut unwound = String::new();
    // Each array on the way, from outside.
    for part in path.split('.') {
        if !unwound.is_empty() {
            unwound.push('.');
        }
        let name = part.trim_end_matches("[]");
        unwound.push_str(name);
        for _ in 0..part.matches("[]").count() {
            stages.push(format!("{{ $unwind: {} }}", quoted(&format!("${unwound}"))));
        }
    }
    let target = names::written(target).unwrap_or_else(|| target.to_owned());
    stages.push(format!(
        "{{ $match: {{ {}: {{ $ne: null }} }} }}",
        quoted(written)
    ));
    stages.push(format!(
        "{{ $lookup: {{ from: {}, localField: {},\n               foreignField: {}, as: \"found\" }} }}",
        quoted(&to.collection),
        quoted(written),
        quoted(&target),
    ));
    stages.push("{ $match: { found: [] } }".to_owned());
    stages.push(format!("{{ $project: {{ {}: 1 }} }}", quoted(written)));
    let stages: Vec<String> = stages.iter().map(|stage| format!("  {stage},")).collect();
    format!(
        "{}.aggregate([\n{}\n])",
        shell_collection(&from.collection),
        stages.join("\n")
    )
}

fn list_composite(reference: &Reference) -> String {
    let pairs = reference.from.paths.iter().zip(&reference.to.paths);
    let mut variables = Vec::new();
    let mut equal = Vec::new();
    for (at, (from, to)) in pairs.enumerate() {
        let written = |path: &String| quoted(&format!("${}", path.replace("[]", "")));
        variables.push(format!("v{at}: {}", written(from)));
        equal.push(format!("{{ $eq: [{}, \"$$v{at}\"] }}", written(to)));
    }
    format!(
        "{}.aggregate([\n  {{ $lookup: {{\n      from: {}, let: {{ {} }},\n      pipeline: [{{ $match: {{ $expr: {{ $and: [\n        {}\n      ] }} }} \
         }}],\n      as: \"found\" }} }},\n  {{ $match: {{ found: [] }} }},\n])",
        shell_collection(&reference.from.collection),
        quoted(&reference.to.collection),
        variables.join(", "),
        equal.join(",\n        "),
    )
}

/// Links that one side has and the other has not.
pub fn links_that_disagree(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for link in &design.two_way {
        let only = link.only_a + link.only_b;
        let (Some(a), Some(b)) = (design.reference(link.a), design.reference(link.b)) else {
            continue;
        };
        if only == 0 {
            continue;
        }
        // The side that lacks more is the one at fault.
        let (lacking, full, missing, beyond) = if link.only_a >= link.only_b {
            (b, a, link.only_a, link.only_b)
        } else {
            (a, b, link.only_b, link.only_a)
        };
        let pairs = link.agree + only;
        let severity = if share(link.agree, pairs) >= SAME {
            Severity::Fault
        } else {
            Severity::Hint
        };
        let names =
            |reference: &Reference| place(&reference.from.collection, &reference.from.paths.join(", "));
        let finding = if link.a == link.b {
            format!(
                "{} of {} by `{}` are named on one side alone, {}.",
                count(only),
                counted(pairs, "link", "links"),
                names(a),
                percent(only, pairs),
            )
        } else {
            format!(
                "`{}` and `{}` agree on {} of {}: {} missing in the first, and {} in the second.",
                names(lacking),
                names(full),
                count(link.agree),
                counted(pairs, "pair", "pairs"),
                if missing == 1 {
                    "1 is".to_owned()
                } else {
                    format!("{} are", count(missing))
                },
                count(beyond),
            )
        };
        let mut advice = Advice::new(
            Rule::LinksDisagree,
            severity,
            &lacking.from.collection,
            &lacking.from.paths.join(", "),
        )
        .finding(finding)
        .cost(format!(
            "A query by one side misses up to {} that the other side names, and nothing says which side is right.",
            counted(missing.max(beyond), "document", "documents"),
        ))
        .remedy(mend_link(lacking, full))
        .figure("affected", only as f64)
        .figure("agree", link.agree as f64)
        .figure("onlyA", link.only_a as f64)
        .figure("onlyB", link.only_b as f64)
        .examples(&link.examples);
        if link.a != link.b {
            advice.also.push(names(full));
        }
        all.push(advice);
    }
    all
}

/// The name of a field of the document itself, and whether it is an array: what a two-way reference needs on each side.
fn top(reference: &Reference) -> Option<(&str, bool)> {
    let ([path], [target]) = (reference.from.paths.as_slice(), reference.to.paths.as_slice()) else {
        return None;
    };
    let name = path.strip_suffix("[]").unwrap_or(path);
    let is_plain = !name.contains(['.', '[', '{']) && target == "_id" && reference.told.is_none();
    is_plain.then_some((name, name.len() < path.len()))
}

fn mend_link(lacking: &Reference, full: &Reference) -> Remedy {
    let (Some(one), Some(other)) = (top(lacking), top(full)) else {
        return keep_one(lacking, full);
    };
    let side = |reference: &Reference, (name, many): (&str, bool), (inverse, _): (&str, bool)| {
        let mut rust = format!("Ref<{}>", names::type_name(&reference.to.collection));
        let mut options = Vec::new();
        if many {
            options.push("many".to_owned());
            rust = format!("Vec<{rust}>");
        } else {
            rust = format!("Option<{rust}>");
        }
        options.push(format!("inverse = {}", names::field_name(inverse)));
        model(
            &reference.from.collection,
            &[],
            &field(name, &[reference_attribute(&options)], &rust),
        )
    };
    let remedy = Remedy::new("Declare a two-way reference: each write keeps both sides, and `repair` writes what one of them lacks.")
        .rust(side(lacking, one, other));
    let remedy = if lacking.id == full.id {
        remedy
    } else {
        remedy.rust(side(full, other, one))
    };
    remedy.terminal("cargo run -- repair")
}

/// One side is enough: an index on it finds the documents of the other.
fn keep_one(lacking: &Reference, full: &Reference) -> Remedy {
    let remedy = Remedy::new(format!(
        "Keep the side that has more, `{}`, whose index finds the documents of the other side, and drop that one; add the {} first \
         that it lacks.",
        place(&full.from.collection, &full.from.paths.join(", ")),
        if lacking.from.paths.len() == 1 {
            "pairs"
        } else {
            "keys"
        },
    ));
    let [path] = lacking.from.paths.as_slice() else {
        return remedy;
    };
    // The array of links, or the embedded document that is one.
    let whole = match path.rsplit_once("[]") {
        Some((array, _)) => array,
        None => path,
    };
    match names::written(whole) {
        Some(written) if lacking.id != full.id && lacking.told.is_none() => remedy.step(&[format!(
            "step.collection({:?}).remove({written:?}).await",
            lacking.from.collection
        )]),
        _ => remedy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

    #[test]
    fn a_reference_that_dangles_is_a_fault() {
        let mut design = orders();
        assert!(dangling_references(&design).is_empty());
        design.references[0].dangling = 12;
        design.references[0].found = 288;
        let all = dangling_references(&design);
        assert_eq!((all.len(), all[0].severity), (1, Severity::Fault));
        assert_eq!(
            all[0].finding,
            "12 of 300 values of `orders.customer` are not in `customers`, 4 %."
        );
    }

    #[test]
    fn what_is_hardly_a_reference_is_none() {
        let mut design = orders();
        design.references[0].dangling = 12;
        design.references[0].confidence = 0.2;
        assert!(dangling_references(&design).is_empty());
        // Where most dangle, it is a hint.
        design.references[0].confidence = 0.9;
        design.references[0].found = 3;
        assert_eq!(dangling_references(&design)[0].severity, Severity::Hint);
    }

    #[test]
    fn the_values_of_arrays_and_of_several_fields_are_listed() {
        let mut design = orders();
        design.references[0].dangling = 12;
        design.references[0].from.paths = vec!["lines[].parts[]".to_owned()];
        let all = dangling_references(&design);
        let shell = &all[0].remedy.code[2].text;
        assert!(
            shell.contains("{ $unwind: \"$lines\" },\n  { $unwind: \"$lines.parts\" }"),
            "{shell}"
        );
        design.references[0].from.paths = vec!["origin".to_owned(), "hour".to_owned()];
        design.references[0].to.paths = vec!["place".to_owned(), "time".to_owned()];
        let all = dangling_references(&design);
        assert_eq!(all[0].path, "origin, hour");
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("{ $eq: [\"$place\", \"$$v0\"] }")
        );
    }

    #[test]
    fn the_side_that_lacks_links_is_named() {
        let mut design = linked();
        assert!(links_that_disagree(&design).is_empty());
        design.two_way[0].only_a = 6;
        let all = links_that_disagree(&design);
        assert_eq!(all[0].place(), "tasks.people[]");
        assert_eq!(all[0].also, ["people.tasks[]"]);
        assert!(
            all[0].remedy.code[0]
                .text
                .contains("#[reference(many, inverse = tasks)]")
        );
        // Two references that hardly agree say two things.
        design.two_way[0].agree = 2;
        assert_eq!(links_that_disagree(&design)[0].severity, Severity::Hint);
    }
}
