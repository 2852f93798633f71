//! Which part of a shard key's space a filter can match: by equality, `$in`, every branch of an `$or`, and ranges on a prefix of the
//! key. Hashed fields go by equality alone.
//!
//! Where `mongos` plans a query for an index on the shard key, this reads the same conditions; it is never narrower.

use crate::key::{ShardKey, has_operators, is_collatable};
use crate::order::{compare, hash, rank};
use bson::{Bson, Document};
use std::cmp::Ordering;

/// More ranges than this are one: the whole space.
const MOST_RANGES: usize = 50_000;

/// An end of a range.
#[derive(Clone, Debug)]
pub(crate) enum Edge {
    /// Before the first value of a type and behind those of the types before it.
    Before(u8),
    At(Bson),
}

impl Edge {
    fn compare_value(&self, value: &Bson) -> Ordering {
        match self {
            Edge::Before(rank_before) if rank(value) < *rank_before => Ordering::Greater,
            Edge::Before(_) => Ordering::Less,
            Edge::At(at) => compare(at, value),
        }
    }

    fn compare(&self, other: &Edge) -> Ordering {
        match (self, other) {
            (Edge::Before(a), Edge::Before(b)) => a.cmp(b),
            (edge, Edge::At(value)) => edge.compare_value(value),
            (Edge::At(value), edge) => edge.compare_value(value).reverse(),
        }
    }
}

/// The values from an end to another, both included.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    low: Edge,
    high: Edge,
}

impl Interval {
    fn whole() -> Interval {
        Interval {
            low: Edge::At(Bson::MinKey),
            high: Edge::At(Bson::MaxKey),
        }
    }

    fn point(value: Bson) -> Interval {
        Interval {
            low: Edge::At(value.clone()),
            high: Edge::At(value),
        }
    }

    fn is_point(&self) -> bool {
        self.low.compare(&self.high).is_eq()
    }

    fn intersection(&self, other: &Interval) -> Option<Interval> {
        let low = if self.low.compare(&other.low).is_lt() {
            &other.low
        } else {
            &self.low
        };
        let high = if self.high.compare(&other.high).is_gt() {
            &other.high
        } else {
            &self.high
        };
        let (low, high) = (low.clone(), high.clone());
        low.compare(&high).is_le().then_some(Interval { low, high })
    }
}

/// A range of whole keys, both ends included.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    low: Vec<Edge>,
    high: Vec<Edge>,
}

impl Range {
    /// Whether a chunk, from its first key up to the first key of the next one, has keys of the range.
    pub(crate) fn meets(&self, min: &[Bson], max: Option<&[Bson]>) -> bool {
        let against = |edges: &[Edge], values: &[Bson]| {
            let pairs = edges
                .iter()
                .zip(values)
                .map(|(edge, value)| edge.compare_value(value));
            pairs.fold(Ordering::Equal, Ordering::then)
        };
        against(&self.high, min).is_ge() && max.is_none_or(|max| against(&self.low, max).is_lt())
    }
}

/// The ranges of the key that a filter can match; `None` for all of them.
pub(crate) fn ranges(key: &ShardKey, filter: &Document, has_collation: bool) -> Option<Vec<Range>> {
    let reader = Reader { key, has_collation };
    let mut ranges = Vec::new();
    for intervals in reader.alternatives(filter)? {
        ranges.extend(flattened(intervals)?);
        if ranges.len() > MOST_RANGES {
            return None;
        }
    }
    Some(ranges)
}

/// The intervals of each field of the key: a document has a value in one of each.
type Intervals = Vec<Option<Vec<Interval>>>;

struct Reader<'k> {
    key: &'k ShardKey,
    has_collation: bool,
}

impl Reader<'_> {
    /// The intervals of a filter, or of each branch of an `$or`; `None` where the first field of the key is left open.
    fn alternatives(&self, filter: &Document) -> Option<Vec<Intervals>> {
        let mut direct: Intervals = vec![None; self.key.fields.len()];
        let mut branches = Vec::new();
        self.collect(filter, &mut direct, &mut branches);
        if direct[0].is_some() {
            return Some(vec![direct]);
        }
        let of_branch = |branch: &Bson| self.alternatives(branch.as_document()?);
        branches.into_iter().find_map(|branches| {
            let all: Option<Vec<_>> = branches.iter().map(of_branch).collect();
            Some(all?.into_iter().flatten().collect())
        })
    }

    fn collect<'f>(&self, filter: &'f Document, direct: &mut Intervals, branches: &mut Vec<&'f [Bson]>) {
        for (name, condition) in filter {
            match (name.as_str(), condition) {
                ("$and", Bson::Array(all)) => {
                    let all = all.iter().filter_map(Bson::as_document);
                    all.for_each(|one| self.collect(one, direct, branches));
                }
                ("$or", Bson::Array(all)) if !all.is_empty() => branches.push(all),
                (path, condition) => {
                    let Some(at) = self.key.fields.iter().position(|field| field.path == path) else {
                        continue;
                    };
                    let Some(read) = self.intervals(condition, self.key.fields[at].is_hashed) else {
                        continue;
                    };
                    direct[at] = Some(match direct[at].take() {
                        Some(known) => intersections(&known, &read),
                        None => read,
                    });
                }
            }
        }
    }

    /// The intervals of a condition; `None` where it leaves the field open.
    fn intervals(&self, condition: &Bson, is_hashed: bool) -> Option<Vec<Interval>> {
        let Bson::Document(operators) = condition else {
            return Some(vec![self.point(condition, is_hashed)?]);
        };
        if !has_operators(operators) {
            return Some(vec![self.point(condition, is_hashed)?]);
        }
        let mut all: Option<Vec<Interval>> = None;
        for (operator, value) in operators {
            let read = match (operator.as_str(), value) {
                ("$eq", value) => self.point(value, is_hashed).map(|point| vec![point]),
                ("$in", Bson::Array(values)) => {
                    values.iter().map(|value| self.point(value, is_hashed)).collect()
                }
                (operator, value) if !is_hashed => self.range(operator, value).map(|range| vec![range]),
                _ => None,
            };
            let Some(read) = read else { continue };
            all = Some(match all {
                Some(known) => intersections(&known, &read),
                None => read,
            });
        }
        all
    }

    fn point(&self, value: &Bson, is_hashed: bool) -> Option<Interval> {
        let is_open = matches!(value, Bson::Array(_) | Bson::RegularExpression(_))
            || (self.has_collation && is_collatable(value));
        let value = if is_hashed {
            Bson::Int64(hash(value))
        } else {
            value.clone()
        };
        (!is_open).then(|| Interval::point(value))
    }

    /// The range of a comparison, which reaches to the end of the type of its value.
    fn range(&self, operator: &str, value: &Bson) -> Option<Interval> {
        let is_open = match value {
            Bson::Array(_)
            | Bson::RegularExpression(_)
            | Bson::Null
            | Bson::Undefined
            | Bson::MinKey
            | Bson::MaxKey => true,
            value => self.has_collation && is_collatable(value),
        };
        if is_open {
            return None;
        }
        let (rank, at) = (rank(value), Edge::At(value.clone()));
        match operator {
            "$gt" | "$gte" => Some(Interval {
                low: at,
                high: Edge::Before(rank + 1),
            }),
            "$lt" | "$lte" => Some(Interval {
                low: Edge::Before(rank),
                high: at,
            }),
            _ => None,
        }
    }
}

fn intersections(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let of_one = |one: &Interval| Vec::from_iter(b.iter().filter_map(|other| one.intersection(other)));
    a.iter().flat_map(of_one).collect()
}

/// The ranges of whole keys for the intervals of their fields. Up to the first field that is no equality each combination is a range
/// of its own; the fields behind it only narrow the ends.
fn flattened(intervals: Intervals) -> Option<Vec<Range>> {
    let mut ranges = vec![Range {
        low: Vec::new(),
        high: Vec::new(),
    }];
    let mut are_equalities = true;
    for field in intervals {
        let is_open = field.is_none();
        let field = field.unwrap_or_else(|| vec![Interval::whole()]);
        if are_equalities {
            if ranges.len().saturating_mul(field.len()) > MOST_RANGES {
                return None;
            }
            let longer = |range: &Range, interval: &Interval| {
                let mut range = range.clone();
                range.low.push(interval.low.clone());
                range.high.push(interval.high.clone());
                range
            };
            ranges = ranges
                .iter()
                .flat_map(|range| {
                    field
                        .iter()
                        .map(|interval| longer(range, interval))
                        .collect::<Vec<_>>()
                })
                .collect();
            are_equalities = !is_open && field.iter().all(Interval::is_point);
        } else {
            let low = field
                .iter()
                .map(|interval| &interval.low)
                .min_by(|a, b| a.compare(b));
            let high = field
                .iter()
                .map(|interval| &interval.high)
                .max_by(|a, b| a.compare(b));
            let (Some(low), Some(high)) = (low, high) else {
                return Some(Vec::new());
            };
            for range in &mut ranges {
                range.low.push(low.clone());
                range.high.push(high.clone());
            }
        }
    }
    Some(ranges)
}
