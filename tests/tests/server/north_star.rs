//! The programs of the guide, with every assertion.

use odm_tests::with_db;

#[test]
fn one_to_few() {
    with_db(async |t| odm_examples::one_to_few::run(t.db).await.unwrap());
}

#[test]
fn one_to_one_split() {
    with_db(async |t| odm_examples::one_to_one_split::run(t.db).await.unwrap());
}
