use crate::Model;
use crate::graph::Graph;
use crate::graph::testing::{ID, field, int, many, meta, one, target, to};
use crate::model::document::DocumentMeta;
use crate::model::meta::shard_key::{ShardKeyField, ShardKeyMeta};
use crate::model::reference::ReferenceMeta;
use crate::model::shape::{FieldMeta, Shape, StructShape};
use crate::store::routes::Routes;
use mongodb::bson::{Document, RawDocumentBuf, doc};

const TENANT: FieldMeta = FieldMeta {
    required: true,
    ..field("tenant", int)
};

static BY_TENANT: ShardKeyMeta = ShardKeyMeta {
    fields: &[
        ShardKeyField {
            path: "tenant",
            hashed: false,
        },
        ShardKeyField {
            path: "_id",
            hashed: true,
        },
    ],
};

const SAME_SHOP: ReferenceMeta = ReferenceMeta {
    same: &["tenant"],
    ..to(&[target(|| &SHOP)])
};

fn shop() -> Shape {
    Shape::Struct(
        const {
            &StructShape {
                ty: None,
                name: "Shop",
                fields: &[ID, TENANT],
                deny_unknown: false,
            }
        },
    )
}

fn order() -> Shape {
    Shape::Struct(
        const {
            &StructShape {
                ty: None,
                name: "Order",
                fields: &[
                    ID,
                    TENANT,
                    one("shop", &SAME_SHOP),
                    many("shops", 10, &SAME_SHOP),
                    one("other", const { &to(const { &[target(|| &SHOP)] }) }),
                ],
                deny_unknown: false,
            }
        },
    )
}

static SHOP: DocumentMeta = DocumentMeta {
    shard_key: Some(&BY_TENANT),
    ..meta("Shop", "shops", shop)
};

static ORDER: DocumentMeta = DocumentMeta {
    shard_key: Some(&BY_TENANT),
    ..meta("Order", "orders", order)
};

fn graph() -> Graph {
    Graph::of(&[Model { meta: &SHOP }, Model { meta: &ORDER }]).expect("is sound")
}

fn raw(document: Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(&document).expect("encodes")
}

fn noting(all: impl IntoIterator<Item = (&'static DocumentMeta, Document)>) -> (Graph, Routes) {
    let (graph, routes) = (graph(), Routes::default());
    for (meta, document) in all {
        routes.note(&graph, meta, &raw(document));
    }
    (graph, routes)
}

#[test]
fn the_filter_of_a_document_that_was_met_has_its_shard_key() {
    let (graph, routes) = noting([(&SHOP, doc! { "_id": 1, "tenant": 7 })]);
    let complete = |filter: Document| routes.complete(&graph, &SHOP, filter);
    assert_eq!(
        complete(doc! { "_id": 1 }),
        doc! { "_id": 1, "tenant": { "$eq": 7 } }
    );
    assert_eq!(
        complete(doc! { "_id": { "$in": [1] }, "n": 2 }),
        doc! { "_id": 1, "n": 2, "tenant": { "$eq": 7 } }
    );
    for unknown in [
        doc! { "_id": 2 },
        doc! { "_id": { "$in": [1, 2] } },
        doc! { "n": 2 },
    ] {
        assert_eq!(complete(unknown.clone()), unknown);
    }
}

#[test]
fn a_filter_that_has_the_shard_key_stays_and_tells_it() {
    let (graph, routes) = noting([]);
    let scoped = doc! { "_id": 1, "tenant": { "$eq": 7 } };
    assert_eq!(routes.complete(&graph, &SHOP, scoped.clone()), scoped);
    let again = routes.complete(&graph, &SHOP, doc! { "_id": 1 });
    assert_eq!(again, doc! { "_id": 1, "tenant": { "$eq": 7 } });
}

#[test]
fn documents_with_several_shard_keys_are_alternatives() {
    let tenants = [(1, 7), (2, 8), (3, 7)];
    let (graph, routes) = noting(tenants.map(|(id, tenant)| (&SHOP, doc! { "_id": id, "tenant": tenant })));
    let filter = doc! { "_id": { "$in": [1, 2, 3] }, "n": 2 };
    let expected = doc! { "n": 2, "$or": [
        { "tenant": { "$eq": 7 }, "_id": { "$in": [1, 3] } },
        { "tenant": { "$eq": 8 }, "_id": 2 },
    ] };
    assert_eq!(routes.complete(&graph, &SHOP, filter), expected);
}

#[test]
fn a_reference_with_same_tells_the_shard_key_of_its_target() {
    let order = doc! { "_id": 5, "tenant": 7, "shop": 1, "shops": [2, 3], "other": 4 };
    let (graph, routes) = noting([(&ORDER, order)]);
    let complete = |filter: Document| routes.complete(&graph, &SHOP, filter);
    for id in [1, 2, 3] {
        assert_eq!(
            complete(doc! { "_id": id }),
            doc! { "_id": id, "tenant": { "$eq": 7 } }
        );
    }
    assert_eq!(complete(doc! { "_id": 4 }), doc! { "_id": 4 });
}

#[test]
fn the_holders_of_a_reference_with_same_have_the_shard_key_of_its_target() {
    let (graph, routes) = noting([
        (&SHOP, doc! { "_id": 1, "tenant": 7 }),
        (&SHOP, doc! { "_id": 2, "tenant": 8 }),
    ]);
    let complete = |filter: Document| routes.complete(&graph, &ORDER, filter);
    assert_eq!(
        complete(doc! { "shop": { "$in": [1] } }),
        doc! { "shop": { "$in": [1] }, "tenant": { "$eq": 7 } }
    );
    assert_eq!(
        complete(doc! { "shop": { "$in": [1, 2] } }),
        doc! { "$or": [
            { "tenant": { "$eq": 7 }, "shop": { "$in": [1] } },
            { "tenant": { "$eq": 8 }, "shop": { "$in": [2] } },
        ] }
    );
    assert_eq!(complete(doc! { "other": 1 }), doc! { "other": 1 });
}

#[test]
fn references_that_differ_tell_nothing_and_a_document_tells_more_than_they() {
    let of = |id: i32, tenant: i32| (&ORDER, doc! { "_id": id, "tenant": tenant, "shop": 1 });
    let (graph, routes) = noting([of(5, 7), of(6, 8)]);
    let by_id = doc! { "_id": 1 };
    assert_eq!(routes.complete(&graph, &SHOP, by_id.clone()), by_id);
    routes.note(&graph, &SHOP, &raw(doc! { "_id": 1, "tenant": 8 }));
    assert_eq!(
        routes.complete(&graph, &SHOP, by_id),
        doc! { "_id": 1, "tenant": { "$eq": 8 } }
    );
}

#[test]
fn models_without_a_shard_key_say_nothing() {
    static PLAIN: DocumentMeta = meta("Shop", "shops", shop);
    let graph = Graph::of(&[Model { meta: &PLAIN }]).expect("is sound");
    assert!(!graph.has_routings() && graph.routing(&PLAIN).is_none());
}

#[test]
fn what_same_can_not_hold_for_is_refused() {
    fn without_tenant() -> Shape {
        Shape::Struct(
            const {
                &StructShape {
                    ty: None,
                    name: "Order",
                    fields: &[ID, one("shop", &SAME_SHOP)],
                    deny_unknown: false,
                }
            },
        )
    }
    static LACKING: DocumentMeta = meta("Order", "orders", without_tenant);
    let problems = Graph::of(&[Model { meta: &SHOP }, Model { meta: &LACKING }]).expect_err("is refused");
    assert!(
        problems
            .iter()
            .any(|problem| problem.contains("`Order` has no field `tenant`")),
        "{problems:?}"
    );
}
