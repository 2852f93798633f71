//! Numbers for random tests.

/// Numbers that a seed determines: splitmix64.
pub struct Random(pub u64);

impl Random {
    /// Begins with this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it has no end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to this one, exclusively; 0 below 0 and 1.
    ///
    /// # Panics
    /// Where this number is negative.
    pub fn below<N>(&mut self, n: N) -> N
    where
        N: TryInto<u64> + TryFrom<u64>,
    {
        let n = n.try_into().ok().expect("a number that is not negative").max(1);
        let below = N::try_from(self.next() % n);
        below
            .ok()
            .expect("a number below one of this type is of this type")
    }

    /// Whether one case of this number has come.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of these values.
    ///
    /// # Panics
    /// Where there is none.
    pub fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }
}
