use super::*;
use mongodb::bson::doc;

const META: &DocumentMeta =
    &crate::expansion_fixture::document("Person", "people", || crate::model::shape::Shape::Any);

fn sized(bytes: usize) -> RawDocumentBuf {
    raw(&doc! { "text": "x".repeat(bytes) }, "document").unwrap()
}

fn update(array_filters: &[Document], upsert: bool) -> CommandStatement<'_> {
    CommandStatement::Update {
        filter: Cow::Owned(doc! { "_id": 1 }),
        update: UpdateModifications::Document(doc! { "$set": { "a.$[one]": 2 } }),
        array_filters,
        many: false,
        upsert,
    }
}

#[test]
fn a_command_has_as_many_statements_as_the_server_takes() {
    let statements = [sized(1), sized(1), sized(1)];
    assert_eq!(in_one_command(&statements, 2).len(), 2);
    assert_eq!(in_one_command(&statements, 100).len(), 3);
    assert_eq!(in_one_command(&[], 2).len(), 0);
}

#[test]
fn the_statements_of_a_command_are_as_large_as_a_document_together() {
    let half = sized(MAX_BYTES / 2 - 64);
    assert_eq!(in_one_command(&[half.clone(), half.clone(), half], 100).len(), 2);
    let larger = sized(MAX_BYTES / 2);
    assert_eq!(in_one_command(&[larger.clone(), larger], 100).len(), 1);
    // The server says that it is too large.
    assert_eq!(in_one_command(&[sized(MAX_BYTES), sized(1)], 100).len(), 1);
}

#[test]
fn a_statement_has_what_it_needs_alone() {
    let decoded = |statement: RawDocumentBuf| Document::try_from(&statement).unwrap();
    assert_eq!(
        decoded(update(&[], false).encode(None, None).unwrap()),
        doc! { "q": { "_id": 1 }, "u": { "$set": { "a.$[one]": 2 } }, "multi": false }
    );
    let of_one = [doc! { "one": 1 }];
    assert_eq!(
        decoded(
            update(&of_one, true)
                .encode(Some(&doc! { "locale": "de" }), Some("name_1"))
                .unwrap()
        ),
        doc! {
            "q": { "_id": 1 },
            "u": { "$set": { "a.$[one]": 2 } },
            "multi": false,
            "upsert": true,
            "arrayFilters": [{ "one": 1 }],
            "collation": { "locale": "de" },
            "hint": "name_1",
        }
    );
    let filter = doc! { "name": "Kate" };
    for (many, limit) in [(true, 0), (false, 1)] {
        let delete = CommandStatement::Delete {
            filter: Cow::Borrowed(&filter),
            many,
        };
        assert_eq!(
            decoded(delete.encode(None, None).unwrap()),
            doc! { "q": { "name": "Kate" }, "limit": limit }
        );
    }
}

#[test]
fn a_reply_says_what_was_done_and_what_was_refused() {
    let reply = doc! {
        "n": 3,
        "nModified": 2_i64,
        "upserted": [{ "index": 0, "_id": 7 }],
        "writeErrors": [
            { "index": 1, "code": 121, "errmsg": "Document failed validation" },
            { "index": 4_i64, "code": 11000, "errmsg": "E11000 duplicate key", "keyPattern": { "a": 1 }, "keyValue": { "a": 5 } },
        ],
        "writeConcernError": { "code": 64, "errmsg": "waiting for replication timed out" },
    };
    let reply = CommandReply::read(&reply, META);
    assert_eq!((reply.n, reply.modified, reply.upserted), (3, 2, 1));
    let [(1, Error::Invalid { .. }), (4, Error::DuplicateKey { .. })] = &reply.refused[..] else {
        panic!("{:?}", reply.refused)
    };
    assert!(matches!(reply.unacknowledged, Some(Error::Driver(_))));
}

#[test]
fn a_reply_without_numbers_says_that_nothing_was_done() {
    let reply = CommandReply::read(&doc! { "ok": 1, "n": "3" }, META);
    assert_eq!((reply.n, reply.modified, reply.upserted), (0, 0, 0));
    assert!(reply.refused.is_empty() && reply.unacknowledged.is_none());
}
