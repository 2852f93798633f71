//! The parts of an advice.

use super::remedy::Remedy;
use super::words;
use serde::Serialize;
use std::collections::BTreeMap;

/// The subject of an advice.
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
    /// Its rule.
    pub rule: Rule,
    /// How bad it is.
    pub severity: Severity,
    /// The collection.
    pub collection: String,
    /// The path in it; empty for the whole.
    pub path: String,
    /// Other places of which the same holds, as *collection.path*.
    pub also: Vec<String>,
    /// The finding, as a sentence with the figure.
    pub finding: String,
    /// The cost, as a sentence.
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
    pub(super) fn new(rule: Rule, severity: Severity, collection: &str, path: &str) -> Self {
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

    pub(super) fn finding(mut self, sentence: String) -> Self {
        self.finding = sentence;
        self
    }

    pub(super) fn cost(mut self, sentence: String) -> Self {
        self.cost = sentence;
        self
    }

    pub(super) fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = remedy;
        self
    }

    pub(super) fn figure(mut self, name: &'static str, value: f64) -> Self {
        self.evidence.insert(name, value);
        self
    }

    pub(super) fn examples(mut self, examples: &[String]) -> Self {
        self.examples = examples.iter().take(EXAMPLES).cloned().collect();
        self
    }

    /// The place, as *collection.path*.
    pub fn place(&self) -> String {
        words::place(&self.collection, &self.path)
    }
}

impl Advice {
    /// The figure by which advice of one rule is sorted.
    pub(super) fn weight(&self) -> f64 {
        self.evidence.get("affected").copied().unwrap_or_default()
    }
}

/// More examples than these say nothing new.
const EXAMPLES: usize = 5;
