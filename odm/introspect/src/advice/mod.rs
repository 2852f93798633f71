//! Advice: what is wrong with a design, the figure that shows it, what it costs, and what to write instead.
//!
//! A rule is a function that reads a [`Design`] and gives an [`Advice`] for each place where a figure passes a threshold. Without a
//! figure there is no advice. The thresholds are constants beside the rules, each with its reason.

mod copies;
mod estimate;
#[cfg(test)]
mod fixtures;
mod growth;
mod indexes;
mod links;
mod names;
mod remedy;
mod together;
mod values;
mod words;

use crate::design::Design;
use serde::Serialize;
use std::collections::BTreeMap;

pub use remedy::{Code, Language, Remedy};
pub use words::{bytes, count, percent};

/// What an advice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A document near the limit of 16 MiB.
    LargeDocument,
    /// A reference to a document that isn't there.
    DanglingReference,
    /// A link that one side has and the other has not.
    LinksDisagree,
    /// A copy that differs from its source.
    StaleCopy,
    /// A copy of a field that changes often.
    VolatileCopy,
    /// A computed value that is not what it is computed from.
    WrongComputed,
    /// An array with the first children that has others.
    WrongSubset,
    /// A field with values of several types.
    MixedTypes,
    /// Values of one enumeration that differ in case or in spaces alone.
    NearDuplicates,
    /// An array without an end.
    GrowingArray,
    /// A document of which most is one large part.
    BloatedDocument,
    /// Numbers, dates or flags as text.
    TypedText,
    /// A field that is null in some documents and missing in others.
    NullAndMissing,
    /// A key with a dot, or one that begins with `$`.
    AwkwardKeys,
    /// A reference without an index.
    MissingIndex,
    /// An index of which another one does the work.
    RedundantIndex,
    /// An index that no query used.
    UnusedIndex,
    /// Text that is stored a second time in lower case, or compared as it is.
    CaseWithoutCollation,
    /// Two documents of which each has one of the other.
    OneToOneApart,
    /// A few parts in a collection of their own, which belong to one document each.
    OneToFewApart,
    /// Many collections of one shape.
    ManyCollections,
    /// A join of a small field that other collections copy.
    JoinOfCopied,
}

impl Rule {
    /// Its name in JSON and beside an advice.
    pub fn name(self) -> &'static str {
        match self {
            Self::LargeDocument => "large-document",
            Self::DanglingReference => "dangling-reference",
            Self::LinksDisagree => "links-disagree",
            Self::StaleCopy => "stale-copy",
            Self::VolatileCopy => "volatile-copy",
            Self::WrongComputed => "wrong-computed",
            Self::WrongSubset => "wrong-subset",
            Self::MixedTypes => "mixed-types",
            Self::NearDuplicates => "near-duplicates",
            Self::GrowingArray => "growing-array",
            Self::BloatedDocument => "bloated-document",
            Self::TypedText => "typed-text",
            Self::NullAndMissing => "null-and-missing",
            Self::AwkwardKeys => "awkward-keys",
            Self::MissingIndex => "missing-index",
            Self::RedundantIndex => "redundant-index",
            Self::UnusedIndex => "unused-index",
            Self::CaseWithoutCollation => "case-without-collation",
            Self::OneToOneApart => "one-to-one-apart",
            Self::OneToFewApart => "one-to-few-apart",
            Self::ManyCollections => "many-collections",
            Self::JoinOfCopied => "join-of-copied",
        }
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The data contradict each other now.
    Fault,
    /// It costs already, or it will break.
    Risk,
    /// Another design may be better: the figures allow it, and don't demand it.
    Hint,
}

impl Severity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Risk => "risk",
            Self::Hint => "hint",
        }
    }
}

/// An advice.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Advice {
    /// What it is about.
    pub rule: Rule,
    /// How bad it is.
    pub severity: Severity,
    /// The collection.
    pub collection: String,
    /// The path in it; empty for the whole.
    pub path: String,
    /// Other places of which the same holds, as *collection.path*.
    pub also: Vec<String>,
    /// What was found, as a sentence with the figure.
    pub finding: String,
    /// What it costs, as a sentence.
    pub cost: String,
    /// What mends it.
    pub remedy: Remedy,
    /// The figures by name.
    pub evidence: BTreeMap<&'static str, f64>,
    /// Some of the values. Empty with `--no-values`.
    pub examples: Vec<String>,
}

impl Advice {
    /// An advice about a place, whose sentences are added.
    fn new(rule: Rule, severity: Severity, collection: &str, path: &str) -> Self {
        Self {
            rule,
            severity,
            collection: collection.to_owned(),
            path: path.to_owned(),
            also: Vec::new(),
            finding: String::new(),
            cost: String::new(),
            remedy: Remedy::default(),
            evidence: BTreeMap::new(),
            examples: Vec::new(),
        }
    }

    fn finding(mut self, sentence: String) -> Self {
        self.finding = sentence;
        self
    }

    fn cost(mut self, sentence: String) -> Self {
        self.cost = sentence;
        self
    }

    fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = remedy;
        self
    }

    fn figure(mut self, name: &'static str, value: f64) -> Self {
        self.evidence.insert(name, value);
        self
    }

    fn examples(mut self, examples: &[String]) -> Self {
        self.examples = examples.iter().take(EXAMPLES).cloned().collect();
        self
    }

    /// The place, as *collection.path*.
    pub fn place(&self) -> String {
        words::place(&self.collection, &self.path)
    }
}

/// More examples than these say nothing new.
const EXAMPLES: usize = 5;

/// All advice that the figures of a design give, the worst first.
pub fn advise(design: &Design) -> Vec<Advice> {
    let rules: [fn(&Design) -> Vec<Advice>; 21] = [
        growth::large_documents,
        growth::growing_arrays,
        growth::bloated_documents,
        links::dangling_references,
        links::links_that_disagree,
        copies::stale_copies,
        copies::wrong_computed,
        copies::wrong_subsets,
        copies::joins_of_copied,
        values::mixed_types,
        values::near_duplicates,
        values::typed_text,
        values::null_and_missing,
        values::awkward_keys,
        indexes::missing,
        indexes::redundant,
        indexes::unused,
        indexes::case_without_collation,
        together::one_to_one,
        together::one_to_few,
        together::many_collections,
    ];
    let mut all: Vec<Advice> = rules.iter().flat_map(|rule| rule(design)).collect();
    all.sort_by(|a, b| {
        let key = |advice: &Advice| (advice.severity, advice.rule);
        key(a)
            .cmp(&key(b))
            .then_with(|| b.weight().total_cmp(&a.weight()))
            .then_with(|| (&a.collection, &a.path).cmp(&(&b.collection, &b.path)))
    });
    all
}

impl Advice {
    /// The figure by which advice of one rule is sorted.
    fn weight(&self) -> f64 {
        self.evidence.get("affected").copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::fixtures::*;
    use super::*;

    #[test]
    fn an_empty_design_gets_no_advice() {
        assert!(advise(&Design::default()).is_empty());
    }

    #[test]
    fn the_worst_comes_first() {
        let mut design = orders();
        design.references[0].dangling = 12;
        let all = advise(&design);
        assert_eq!(all[0].rule, Rule::DanglingReference);
        assert!(all.is_sorted_by_key(|advice| advice.severity));
    }

    #[test]
    fn each_advice_has_a_figure_a_cost_and_a_remedy() {
        let design = faulty();
        let all = advise(&design);
        assert!(all.len() > 10, "{all:#?}");
        for advice in &all {
            let sentence = |text: &str| text.ends_with('.') && !text.contains("  ");
            assert!(sentence(&advice.finding), "{advice:#?}");
            assert!(
                advice.finding.contains(|c: char| c.is_ascii_digit()),
                "{advice:#?}"
            );
            assert!(sentence(&advice.cost), "{advice:#?}");
            assert!(sentence(&advice.remedy.words), "{advice:#?}");
            assert!(!advice.evidence.is_empty(), "{advice:#?}");
            assert!(advice.evidence.contains_key("affected"), "{advice:#?}");
        }
    }

    #[test]
    fn rust_that_mends_can_be_parsed() {
        let mut parsed = 0;
        for advice in advise(&faulty()) {
            for code in &advice.remedy.code {
                if code.language == Language::Rust {
                    syn::parse_str::<syn::File>(&code.text)
                        .unwrap_or_else(|error| panic!("{error}: {}", code.text));
                    assert!(
                        code.text.lines().all(|line| line.chars().count() <= 100),
                        "{}",
                        code.text
                    );
                    parsed += 1;
                }
            }
        }
        assert!(parsed > 10, "{parsed}");
    }
}
