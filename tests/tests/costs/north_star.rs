//! The programs of the guide, with every assertion.

use odm_tests::{with_db, with_transactions};

#[odm_tests::test]
fn one_to_few() {
    with_db(async |t| odm_examples::one_to_few::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn one_to_one_split() {
    with_db(async |t| odm_examples::one_to_one_split::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn one_to_many() {
    with_db(async |t| odm_examples::one_to_many::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn two_way() {
    with_db(async |t| odm_examples::two_way::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn many_to_many() {
    with_db(async |t| odm_examples::many_to_many::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn reference_in_child() {
    with_db(async |t| odm_examples::reference_in_child::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn one_to_squillions() {
    with_db(async |t| odm_examples::one_to_squillions::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn subset() {
    with_db(async |t| odm_examples::subset::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn bucket() {
    with_db(async |t| odm_examples::bucket::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn operations() {
    with_transactions(async |t| odm_examples::operations::run(t.db).await.unwrap());
}
