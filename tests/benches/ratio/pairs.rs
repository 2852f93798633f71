//! Blocks of two sides that take turns, and what their times say.

use crate::Result;
use std::time::{Duration, Instant};

/// The times of two sides, block by block.
#[derive(Debug, Default)]
pub struct Pairs {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    /// One statement of the driver, where it is measured.
    statement: Vec<f64>,
}

/// A median with the interval that holds the true one with 95 % certainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Pairs {
    /// Both times are of the same amount of work.
    pub fn add(&mut self, ours: Duration, theirs: Duration) {
        self.ours.push(ours.as_secs_f64());
        self.theirs.push(theirs.as_secs_f64());
    }

    /// The same with the time of one statement.
    pub fn add_three(&mut self, ours: Duration, theirs: Duration, statement: Duration) {
        self.add(ours, theirs);
        self.statement.push(statement.as_secs_f64());
    }

    pub fn len(&self) -> usize {
        self.ours.len()
    }

    /// Our time in relation to theirs.
    pub fn ratio(&self) -> Interval {
        self.to(&self.theirs)
    }

    /// The same to that of one statement, where it was measured.
    pub fn ratio_to_statement(&self) -> Option<Interval> {
        (!self.statement.is_empty()).then(|| self.to(&self.statement))
    }

    fn to(&self, other: &[f64]) -> Interval {
        let ratios = self.ours.iter().zip(other).map(|(ours, other)| ours / other);
        interval(ratios.collect())
    }

    /// Our median time of one unit of work, in seconds.
    pub fn ours(&self) -> f64 {
        interval(self.ours.clone()).median
    }

    /// Their median time.
    pub fn theirs(&self) -> f64 {
        interval(self.theirs.clone()).median
    }

    /// The median time of one statement, where it was measured.
    pub fn statement(&self) -> Option<f64> {
        (!self.statement.is_empty()).then(|| interval(self.statement.clone()).median)
    }
}

/// How many pairs there are.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    pairs: usize,
}

/// A comparison that takes this long ends early, with `AT_LEAST` pairs at least.
const LONG: Duration = Duration::from_secs(60);
const AT_LEAST: usize = 2;

impl Rounds {
    pub fn new(pairs: usize) -> Rounds {
        Rounds { pairs }
    }

    fn warm_up(self) -> usize {
        (self.pairs / 10).min(20)
    }
}

/// Pairs of two sides of which one may take long, and which have been warmed up: which of them begins changes from pair to
/// pair, and where there are many, the first ones don't count.
pub async fn alternate(
    rounds: Rounds,
    mut ours: impl AsyncFnMut() -> Result<Duration>,
    mut theirs: impl AsyncFnMut() -> Result<Duration>,
) -> Result<Pairs> {
    let mut pairs = Pairs::default();
    let started = Instant::now();
    let warm_up = rounds.warm_up();
    for round in 0..rounds.pairs + warm_up {
        let (ours, theirs) = if round % 2 == 0 {
            let ours = ours().await?;
            (ours, theirs().await?)
        } else {
            let theirs = theirs().await?;
            (ours().await?, theirs)
        };
        if round >= warm_up {
            pairs.add(ours, theirs);
        }
        if started.elapsed() > LONG && pairs.len() >= AT_LEAST {
            break;
        }
    }
    Ok(pairs)
}

/// The same with one statement of the driver as a third side, in the same rounds. Each of the three begins as often as the others.
pub async fn alternate_three(
    rounds: Rounds,
    mut ours: impl AsyncFnMut() -> Result<Duration>,
    mut theirs: impl AsyncFnMut() -> Result<Duration>,
    mut statement: impl AsyncFnMut() -> Result<Duration>,
) -> Result<Pairs> {
    let mut pairs = Pairs::default();
    let started = Instant::now();
    let warm_up = rounds.warm_up();
    for round in 0..rounds.pairs + warm_up {
        let mut took = [Duration::ZERO; 3];
        for turn in 0..3 {
            let side = (round + turn) % 3;
            took[side] = match side {
                0 => ours().await?,
                1 => theirs().await?,
                _ => statement().await?,
            };
        }
        if round >= warm_up {
            pairs.add_three(took[0], took[1], took[2]);
        }
        if started.elapsed() > LONG && pairs.len() >= AT_LEAST {
            break;
        }
    }
    Ok(pairs)
}

/// The median, and as its bounds the values whose ranks a fair coin's tosses leave with 95 %: no assumption on how the
/// values are distributed.
pub fn interval(mut values: Vec<f64>) -> Interval {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 {
        return Interval {
            median: f64::NAN,
            low: f64::NAN,
            high: f64::NAN,
        };
    }
    let median = (values[(n - 1) / 2] + values[n / 2]) / 2.0;
    let below = lowest_rank(n);
    Interval {
        median,
        low: values[below],
        high: values[n - 1 - below],
    }
}

/// The greatest `k` such that at most 2.5 % of all sequences of `n` tosses have `k` heads or fewer.
fn lowest_rank(n: usize) -> usize {
    // In logarithms, since 0.5 to the power of `n` underflows.
    let mut log = -(n as f64) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for k in 0..n / 2 {
        sum += log.exp();
        if sum > 0.025 {
            return k.saturating_sub(1);
        }
        log += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    0
}
