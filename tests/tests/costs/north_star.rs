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

#[odm_tests::test]
fn one_to_one() {
    with_db(async |t| odm_examples::one_to_one::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn copies() {
    with_db(async |t| odm_examples::copies::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn extended_reference() {
    with_db(async |t| odm_examples::extended_reference::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn computed() {
    with_db(async |t| odm_examples::computed::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn bucket_by_time() {
    with_db(async |t| odm_examples::bucket_by_time::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn outlier() {
    with_db(async |t| odm_examples::outlier::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn tree() {
    with_transactions(async |t| odm_examples::tree::run(t.db).await.unwrap());
}

#[odm_tests::test]
fn log_collector() {
    let lines = odm_examples::syslog::made_up().unwrap();
    with_db(async |t| odm_examples::log_collector::run(t.db, &lines).await.unwrap());
}

#[odm_tests::test]
fn book_catalogue() {
    let lines = odm_examples::books::file::parse(&odm_examples::books::sample::lines()).unwrap();
    let entries = odm_examples::book_catalogue::entries(&lines).unwrap();
    with_db(async |t| {
        let done = odm_examples::book_catalogue::run(t.db, &entries, "Action").await;
        done.unwrap();
    });
}
