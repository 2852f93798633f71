//! Figures of many values in little memory: how lengths are distributed, how many values are distinct, and which are common.

use ahash::RandomState;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// How numbers are distributed: exact below 16, with an error of an eighth above.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    number: u64,
    total: u64,
    least: u64,
    greatest: u64,
    /// The numbers of values, by the bucket of [`bucket`].
    counts: BTreeMap<u16, u64>,
}

/// Values up to 15 have a bucket each, and each power of two above has eight.
fn bucket(value: u64) -> u16 {
    if value < 16 {
        return value as u16;
    }
    let power = 63 - value.leading_zeros();
    let eighth = (value >> (power - 3)) & 7;
    (16 + (power - 4) * 8) as u16 + eighth as u16
}

/// The greatest value of a bucket.
fn upper(bucket: u16) -> u64 {
    if bucket < 16 {
        return bucket.into();
    }
    let (power, eighth) = ((bucket - 16) / 8 + 4, u64::from((bucket - 16) % 8));
    let width = 1_u64 << (power - 3);
    (1_u64 << power) + width * eighth + (width - 1)
}

impl Distribution {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        self.least = if self.number == 0 {
            value
        } else {
            self.least.min(value)
        };
        self.greatest = self.greatest.max(value);
        self.number += 1;
        self.total = self.total.saturating_add(value);
        *self.counts.entry(bucket(value)).or_default() += 1;
    }

    /// Adds the values of another.
    pub fn merge(&mut self, other: &Self) {
        if other.number == 0 {
            return;
        }
        self.least = if self.number == 0 {
            other.least
        } else {
            self.least.min(other.least)
        };
        self.greatest = self.greatest.max(other.greatest);
        self.number += other.number;
        self.total = self.total.saturating_add(other.total);
        for (bucket, number) in &other.counts {
            *self.counts.entry(*bucket).or_default() += number;
        }
    }

    /// The number of values.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The value that a share of all does not exceed.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (share * self.number as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, number) in &self.counts {
            seen += number;
            if seen >= wanted {
                return upper(*bucket).min(self.greatest);
            }
        }
        self.greatest
    }

    /// Its figures.
    pub fn spread(&self) -> Spread {
        Spread {
            number: self.number,
            least: self.least,
            median: self.quantile(0.5),
            p99: self.quantile(0.99),
            greatest: self.greatest,
            mean: if self.number == 0 {
                0.0
            } else {
                self.total as f64 / self.number as f64
            },
            histogram: self
                .counts
                .iter()
                .map(|(bucket, number)| (upper(*bucket), *number))
                .collect(),
        }
    }
}

/// The figures of a distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The number of values.
    pub number: u64,
    /// The least.
    pub least: u64,
    /// Half of all are not greater.
    pub median: u64,
    /// 99 of 100 are not greater.
    pub p99: u64,
    /// The greatest.
    pub greatest: u64,
    /// The average.
    pub mean: f64,
    /// The numbers of values up to each limit, and above the one before.
    pub histogram: Vec<(u64, u64)>,
}

/// The number of values whose hashes a [`Distinct`] keeps.
pub const KEPT: usize = 512;

/// The distinct values of the least hashes: a sample of the distinct values, each as likely as the other, and an estimate of their
/// number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Distinct<V> {
    least: BTreeMap<u64, V>,
    /// Whether all values have been kept.
    whole: bool,
}

impl<V> Default for Distinct<V> {
    fn default() -> Self {
        Self {
            least: BTreeMap::new(),
            whole: true,
        }
    }
}

impl<V> Distinct<V> {
    /// Adds a value by its hash; `value` is made only where it is kept.
    pub fn add(&mut self, hash: u64, value: impl FnOnce() -> V) {
        if self.least.len() >= KEPT
            && let Some((greatest, _)) = self.least.last_key_value()
            && hash > *greatest
        {
            self.whole = false;
            return;
        }
        self.least.entry(hash).or_insert_with(value);
        if self.least.len() > KEPT {
            self.least.pop_last();
            self.whole = false;
        }
    }

    /// Adds the values of another.
    pub fn merge(&mut self, other: Self) {
        self.whole &= other.whole;
        for (hash, value) in other.least {
            self.add(hash, || value);
        }
    }

    /// Whether the kept values are all.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The number of distinct values: exact where all are kept, else with an error of some 4 %.
    pub fn number(&self) -> u64 {
        match self.least.last_key_value() {
            Some((greatest, _)) if !self.whole => {
                let share = *greatest as f64 / u64::MAX as f64;
                ((self.least.len() - 1) as f64 / share).round() as u64
            }
            _ => self.least.len() as u64,
        }
    }

    /// The kept value of a hash.
    pub fn get_mut(&mut self, hash: u64) -> Option<&mut V> {
        self.least.get_mut(&hash)
    }

    /// Whether a hash is among the kept.
    pub fn has(&self, hash: u64) -> bool {
        self.least.contains_key(&hash)
    }

    /// The kept values with their hashes.
    pub fn kept(&self) -> impl ExactSizeIterator<Item = (u64, &V)> {
        self.least.iter().map(|(hash, value)| (*hash, value))
    }
}

/// The number of different texts up to which [`Common`] counts each.
const COUNTED: usize = 128;

/// The numbers of each text, while few are different.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Common {
    counts: HashMap<String, u64>,
    too_many: bool,
}

impl Common {
    /// Adds a text.
    pub fn add(&mut self, text: &str) {
        self.add_many(text, 1);
    }

    fn add_many(&mut self, text: &str, number: u64) {
        if self.too_many {
            return;
        }
        if let Some(count) = self.counts.get_mut(text) {
            *count += number;
        } else if self.counts.len() < COUNTED && text.len() <= 64 {
            self.counts.insert(text.to_owned(), number);
        } else {
            self.too_many = true;
            self.counts = HashMap::new();
        }
    }

    /// Adds the texts of another.
    pub fn merge(&mut self, other: Self) {
        if other.too_many {
            *self = other;
            return;
        }
        for (text, number) in other.counts {
            self.add_many(&text, number);
        }
    }

    /// Each text with its number, the commonest first; `None` where there were too many different ones.
    pub fn all(&self) -> Option<Vec<(&str, u64)>> {
        if self.too_many {
            return None;
        }
        let mut all: Vec<_> = self
            .counts
            .iter()
            .map(|(text, number)| (text.as_str(), *number))
            .collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        Some(all)
    }
}

/// The number of values up to which [`Twice`] looks for a value that was seen before.
const COMPARED: usize = 50_000;

/// Whether values occur twice: exactly up to 50,000 values, and until more than one in 200 does.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Twice {
    seen: std::collections::HashSet<u64>,
    /// The number of values that had been seen before.
    again: u64,
    /// Whether too many had, or one may have been missed.
    many: bool,
}

impl Twice {
    /// Adds a value by its hash.
    pub fn add(&mut self, hash: u64) {
        if self.many || self.seen.len() >= COMPARED {
            return;
        }
        if !self.seen.insert(hash) {
            self.again += 1;
            if self.again * 200 > self.seen.len().max(400) as u64 {
                self.mark();
            }
        }
    }

    /// Says that values occur twice, without one.
    pub fn mark(&mut self) {
        self.many = true;
        self.seen = std::collections::HashSet::new();
    }

    /// Whether none was seen twice.
    pub fn never(&self) -> bool {
        !self.many && self.again == 0
    }

    /// Whether one in 200 at most was seen twice: what was meant to be unique, and no index has kept so.
    pub fn hardly(&self) -> bool {
        !self.many && self.again * 200 <= self.seen.len() as u64
    }

    /// The hashes of all values, while few occurred twice and they were not too many.
    pub fn all(&self) -> Option<&std::collections::HashSet<u64>> {
        (!self.many && self.seen.len() < COMPARED).then_some(&self.seen)
    }

    /// Adds the values of another.
    pub fn merge(&mut self, other: Self) {
        if other.many {
            self.mark();
        }
        self.again += other.again;
        for hash in other.seen {
            self.add(hash);
        }
    }
}

/// The hash of a value: the same in each run on one machine, so that a reading can go on where it ended.
pub fn hash(value: &impl std::hash::Hash) -> u64 {
    RandomState::with_seeds(0x6f64_6d69, 0x6e74_726f, 0x7370_6563, 0x7469_6f6e).hash_one(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_is_not_above_the_limit_of_its_bucket_and_above_that_of_the_one_before() {
        for value in (0..5_000).chain([u64::MAX, 1 << 40, (1 << 40) + 1]) {
            let at = bucket(value);
            assert!(upper(at) >= value, "{value}");
            assert!(at == 0 || upper(at - 1) < value, "{value}");
        }
    }

    #[test]
    fn distinct_values_are_estimated() {
        let mut distinct = Distinct::default();
        for value in 0..100_000_u64 {
            distinct.add(hash(&(value % 50_000)), || value);
        }
        let number = distinct.number();
        assert!((45_000..55_000).contains(&number), "{number}");
        assert!(!distinct.is_whole());
    }

    proptest! {
        #[test]
        fn two_parts_together_are_the_whole(values in prop::collection::vec(0_u64..100_000, 0..2_000), cut in 0_usize..2_000) {
            let of = |values: &[u64]| {
                let (mut distribution, mut distinct, mut twice) = (Distribution::default(), Distinct::default(), Twice::default());
                for value in values {
                    distribution.add(*value);
                    distinct.add(hash(value), || *value);
                    twice.add(hash(value));
                }
                (distribution, distinct, twice)
            };
            let (first, second) = values.split_at(cut.min(values.len()));
            let (mut distribution, mut distinct, mut twice) = of(first);
            let (other, others, more) = of(second);
            distribution.merge(&other);
            distinct.merge(others);
            twice.merge(more);
            let whole = of(&values);
            prop_assert_eq!(distribution, whole.0);
            prop_assert_eq!(distinct.least, whole.1.least);
            prop_assert_eq!(distinct.whole, whole.1.whole);
            prop_assert_eq!(twice.never(), whole.2.never());
        }
    }
}
