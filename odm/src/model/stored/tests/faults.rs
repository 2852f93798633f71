//! Errors name the place of a value and its types, and never the value.

use super::Alone;
use crate::model::stored::{Stored, read};
use mongodb::bson::{Bson, RawDocumentBuf, bson, doc};
use std::collections::BTreeMap;

fn fault<T: Stored + std::fmt::Debug>(value: Bson) -> String {
    let raw = RawDocumentBuf::try_from(&doc! { "v": value }).unwrap();
    read::<Alone<T>>(raw.as_bytes()).unwrap_err().to_string()
}

#[test]
fn an_error_says_where_and_which_types() {
    for (found, expected) in [
        (fault::<i32>(bson!("secret")), "`v`: expected i32, found string"),
        (
            fault::<u8>(bson!(300)),
            "`v`: the number is out of the range of `u8`",
        ),
        (
            fault::<u8>(bson!(1.5)),
            "`v`: the number is out of the range of `u8`",
        ),
        (fault::<String>(bson!(1)), "`v`: expected string, found int"),
        (
            fault::<Vec<Option<bool>>>(bson!([null, 5])),
            "`v.1`: expected bool, found int",
        ),
        (
            fault::<BTreeMap<String, f64>>(bson!({ "a": 1, "b": "secret" })),
            "`v.b`: expected double, found string",
        ),
        (
            fault::<(i32, String)>(bson!([1, 2])),
            "`v.1`: expected string, found int",
        ),
        (
            fault::<(i32, String)>(bson!([1])),
            "`v`: the array has fewer items than its type",
        ),
        (
            fault::<[i32; 2]>(bson!([1, "x"])),
            "`v.1`: expected i32, found string",
        ),
    ] {
        assert_eq!(found, expected);
    }
    let empty = RawDocumentBuf::new();
    let error = read::<Alone<i32>>(empty.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "`v`: missing field `v`");
}

#[test]
fn what_can_not_be_written_is_named() {
    let written = |map: BTreeMap<String, Vec<u64>>| super::encode(&Alone(map)).unwrap_err().to_string();
    assert_eq!(
        written(BTreeMap::from([("a".to_owned(), vec![0, u64::MAX])])),
        "`v.a.1`: the number is greater than the greatest of BSON's integers, 2^63 - 1"
    );
    assert_eq!(
        written(BTreeMap::from([("a\0".to_owned(), vec![])])),
        "`v.a\0`: the key of a map can't have a zero byte"
    );
}
