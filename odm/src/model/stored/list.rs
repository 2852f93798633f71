//! Arrays: lists, sets, arrays of a fixed length, tuples.

use super::bound::Bound;
use super::fault::{Done, Fault, Read, Step};
use super::field::Field;
use super::input::{Input, kind};
use super::name::Name;
use super::out::Out;
use super::value::Stored;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

/// Memory that is taken for a list before its items are read, in bytes.
const MAX_RESERVED: usize = 1 << 20;

fn items<'a>(kind: u8, input: &mut Input<'a>) -> Read<Input<'a>> {
    if kind != kind::ARRAY {
        return Err(Fault::wrong_type(kind, "array"));
    }
    input.nested()
}

/// How many items the array has, so that its memory is taken once: documents are counted, since some may be much longer than others;
/// other items are taken to be as long as the first.
fn expected(items: Input<'_>, size: usize) -> usize {
    let (mut rest, mut count) = (items, 0);
    while let Ok(Some(kind)) = rest.item() {
        if rest.skip(kind).is_err() {
            break;
        }
        count += 1;
        if kind != kind::DOCUMENT {
            let (all, rest) = (items.rest().len(), rest.rest().len());
            count = all / (all - rest).max(1) + 1;
            break;
        }
    }
    count.min(MAX_RESERVED / size.max(1))
}

fn read_list<T: Stored>(kind: u8, input: &mut Input<'_>) -> Read<Vec<T>> {
    let mut items = items(kind, input)?;
    let mut list = Vec::with_capacity(expected(items, size_of::<T>()));
    while let Some(kind) = items.item()? {
        match T::read(kind, &mut items) {
            Ok(item) => list.push(item),
            Err(fault) => return Err(fault.at(Step::Item(list.len()))),
        }
    }
    Ok(list)
}

#[inline]
fn write_items<'t, T: Stored>(
    items: impl Iterator<Item = &'t T>,
    name: &Name<'_>,
    bound: Bound<'_>,
    out: &mut Out,
) -> Read<usize> {
    let begin = out.begin_array(name);
    let mut position = 0;
    for item in items {
        if let Err(fault) = item.write(&Name::item(position), bound, out) {
            return Err(fault.at(Step::Item(position)));
        }
        position += 1;
    }
    out.end(begin);
    Ok(position)
}

fn write_list<'t, T: Stored>(
    items: impl Iterator<Item = &'t T>,
    name: &Name<'_>,
    bound: Bound<'_>,
    out: &mut Out,
) -> Done {
    let count = write_items(items, name, bound, out)?;
    out.check_items(bound, count);
    Ok(())
}

macro_rules! lists {
    ($($ty:ty, [$($p:tt)*] $(, $collect:expr)?;)*) => {$(
        impl<$($p)*> Stored for $ty {
            fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
                write_list(self.iter(), name, bound, out)
            }

            fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
                read_list(kind, input)$(.map($collect))?
            }
        }
    )*};
}

lists! {
    Vec<T>, [T: Stored];
    VecDeque<T>, [T: Stored], VecDeque::from;
    Box<[T]>, [T: Stored], Vec::into_boxed_slice;
    Arc<[T]>, [T: Stored], Arc::from;
}

macro_rules! sets {
    ($($ty:ty, [$($p:tt)*];)*) => {$(
        impl<$($p)*> Stored for $ty {
            fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
                write_list(self.iter(), name, bound, out)
            }

            fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
                let mut items = items(kind, input)?;
                let (mut set, mut position) = (Self::default(), 0);
                while let Some(kind) = items.item()? {
                    match T::read(kind, &mut items) {
                        Ok(item) => set.insert(item),
                        Err(fault) => return Err(fault.at(Step::Item(position))),
                    };
                    position += 1;
                }
                Ok(set)
            }
        }
    )*};
}

sets! {
    HashSet<T, S>, [T: Stored + Eq + Hash, S: BuildHasher + Default + 'static];
    BTreeSet<T>, [T: Stored + Ord];
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        write_items(self.iter(), name, bound, out)?;
        out.check_parts(bound);
        Ok(())
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
        let mut items = items(kind, input)?;
        let mut list = Vec::with_capacity(N);
        // As serde, it leaves out what stands behind.
        while list.len() < N {
            let Some(kind) = items.item()? else { break };
            match T::read(kind, &mut items) {
                Ok(item) => list.push(item),
                Err(fault) => return Err(fault.at(Step::Item(list.len()))),
            }
        }
        list.try_into().map_err(|_| too_few())
    }
}

#[cold]
fn too_few() -> Box<Fault> {
    Fault::other("the array has fewer items than its type")
}

/// The items of an array, each of a type of its own: of a tuple, or of a variant with several values.
#[derive(Debug)]
pub struct Items<'a>(Input<'a>);

impl<'a> Items<'a> {
    /// The items of an array.
    ///
    /// # Errors
    /// Where the value is none.
    pub fn of(kind: u8, input: &mut Input<'a>) -> Read<Items<'a>> {
        items(kind, input).map(Items)
    }

    /// The next item. Its field has the position as its name.
    ///
    /// # Errors
    /// Where there is none, or it can't be read.
    #[inline]
    pub fn by<T>(&mut self, field: &'static Field<T>) -> Read<T> {
        match self.0.item()? {
            Some(kind) => field.read(kind, &mut self.0),
            None => Err(too_few()),
        }
    }
}

macro_rules! tuples {
    ($(($($t:ident $name:literal)*))*) => {$(
        impl<$($t: Stored),*> Stored for ($($t,)*) {
            #[allow(non_snake_case)]
            fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
                let ($($t,)*) = self;
                let begin = out.begin_array(name);
                $($t.write(const { &Name::of($name) }, bound, out).map_err(|fault| fault.of_field($name))?;)*
                out.end(begin);
                out.check_parts(bound);
                Ok(())
            }

            fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
                let mut items = items(kind, input)?;
                Ok(($(
                    match items.item()? {
                        Some(kind) => $t::read(kind, &mut items).map_err(|fault| fault.of_field($name))?,
                        None => return Err(too_few()),
                    },
                )*))
            }
        }
    )*};
}

tuples! {
    (A "0")
    (A "0" B "1")
    (A "0" B "1" C "2")
    (A "0" B "1" C "2" D "3")
    (A "0" B "1" C "2" D "3" E "4")
    (A "0" B "1" C "2" D "3" E "4" F "5")
    (A "0" B "1" C "2" D "3" E "4" F "5" G "6")
    (A "0" B "1" C "2" D "3" E "4" F "5" G "6" H "7")
}
