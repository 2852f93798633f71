//! Models that `build.rs` writes, which derive both odm and serde, and values of them. The tests write and read each by both ways.
#![allow(missing_docs, unused_variables, clippy::all)]

use odm::bson::{Binary, DateTime, Decimal128, oid::ObjectId, spec::BinarySubtype};
use odm::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A source of values, the same for the same seed.
#[derive(Clone, Debug)]
pub struct Any(u64);

impl Any {
    pub fn new(seed: u64) -> Any {
        Any(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    pub fn bool(&mut self) -> bool {
        self.bits() & 1 == 1
    }

    pub fn small(&mut self) -> u32 {
        self.below(28) as u32
    }

    /// One in the middle of the range, or near its ends.
    pub fn int<T: Int>(&mut self) -> T {
        let bits = self.bits();
        match self.below(6) {
            0 => T::LEAST,
            1 => T::GREATEST,
            2 => T::of((bits % 100) as i64),
            _ => T::of(bits as i64),
        }
    }

    pub fn float(&mut self) -> f64 {
        match self.below(6) {
            0 => 0.0,
            1 => self.int::<i32>().into(),
            2 => f64::INFINITY,
            _ => self.bits() as i64 as f64 / 1e9,
        }
    }

    pub fn char(&mut self) -> char {
        const ALL: [char; 6] = ['a', 'Z', '0', 'ß', '漢', '🦀'];
        ALL[self.below(ALL.len())]
    }

    pub fn text(&mut self) -> String {
        let len = self.below(12);
        (0..len).map(|_| self.char()).collect()
    }

    pub fn object_id(&mut self) -> ObjectId {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&self.bits().to_le_bytes());
        ObjectId::from_bytes(bytes)
    }

    pub fn date(&mut self) -> DateTime {
        DateTime::from_millis(self.int::<i32>().into())
    }

    pub fn chrono(&mut self) -> chrono::DateTime<chrono::Utc> {
        chrono::DateTime::from_timestamp_millis(self.int::<i32>().into()).expect("is in its range")
    }

    pub fn decimal(&mut self) -> Decimal128 {
        format!("{}.{}", self.int::<i32>(), self.below(1000))
            .parse()
            .expect("is a number")
    }

    pub fn uuid(&mut self) -> uuid::Uuid {
        uuid::Uuid::from_u64_pair(self.bits(), self.bits())
    }

    pub fn binary(&mut self) -> Binary {
        let len = self.below(9);
        Binary {
            subtype: BinarySubtype::UserDefined(0x90),
            bytes: (0..len).map(|_| self.int()).collect(),
        }
    }

    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Any) -> T) -> Option<T> {
        self.bool().then(|| make(self))
    }

    pub fn list<T>(&mut self, mut make: impl FnMut(&mut Any) -> T) -> Vec<T> {
        let len = self.below(4);
        (0..len).map(|_| make(self)).collect()
    }

    pub fn map<T>(&mut self, mut make: impl FnMut(&mut Any) -> T) -> BTreeMap<String, T> {
        let len = self.below(4);
        (0..len).map(|_| (self.text(), make(self))).collect()
    }
}

/// An integer of any width.
pub trait Int {
    const LEAST: Self;
    const GREATEST: Self;
    fn of(bits: i64) -> Self;
}

macro_rules! ints {
    ($($ty:ident)*) => {$(
        impl Int for $ty {
            const LEAST: $ty = $ty::MIN;
            const GREATEST: $ty = $ty::MAX;
            fn of(bits: i64) -> $ty {
                bits as $ty
            }
        }
    )*};
}
ints!(i8 u8 i16 u16 i32 u32 i64);

/// A model of which values are made.
pub trait Sample: odm::types::Stored + Serialize + DeserializeOwned {
    /// Whether it is or holds an enum without tags. Of its variants serde takes the first that can be read, also an integer as a double.
    const UNTAGGED: bool;
    fn sample(any: &mut Any) -> Self;
}

macro_rules! each {
    ($name:ident: $($model:ident),*) => {
        /// Calls `with` for each of them.
        pub fn $name(with: &mut impl ForEach) {
            $(with.model::<$model>(stringify!($model));)*
        }
    };
}

/// A function of each model.
pub trait ForEach {
    fn model<T: Sample>(&mut self, name: &'static str);
}

include!(concat!(env!("OUT_DIR"), "/models.rs"));
