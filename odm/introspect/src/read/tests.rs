//! Paths as queries name them.

use super::path::behind;
use super::{in_queries, projection};
use bson::{Bson, doc};

#[test]
fn a_path_is_what_a_query_names() {
    assert_eq!(in_queries("a[].b").as_deref(), Some("a.b"));
    assert_eq!(in_queries("a[][].b[]").as_deref(), Some("a.b"));
    assert_eq!(in_queries("a{}.b"), None);
    assert_eq!(in_queries("a{key}"), None);
    assert_eq!(in_queries("a.$b"), None);
    assert_eq!(in_queries(""), None);
}

#[test]
fn a_projection_names_no_path_within_another() {
    let of = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        projection(&paths)
    };
    assert_eq!(of(&[]), doc! {});
    assert_eq!(of(&["", "a"]), doc! {});
    assert_eq!(of(&["a.b", "a[]", "_id"]), doc! { "_id": 1, "a": 1 });
    assert_eq!(of(&["a{}.b", "ab"]), doc! { "_id": 0, "a": 1, "ab": 1 });
    assert_eq!(of(&["_id.x"]), doc! { "_id.x": 1 });
}

#[test]
fn what_is_behind_an_id_is_of_its_type_or_of_one_behind() {
    let filter = behind(&Bson::Boolean(true));
    let or = filter.get_array("$or").unwrap();
    assert_eq!(or[0], Bson::from(doc! { "_id": { "$gt": true } }));
    assert!(or[1].to_string().contains("\"date\"") && !or[1].to_string().contains("\"objectId\""));
    let filter = behind(&Bson::Double(f64::NAN));
    assert!(filter.to_string().contains("$gte"));
}
