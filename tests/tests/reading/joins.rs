//! Joins: along references and from the other side, by queries and by `$lookup`.

use odm::Error;
use odm::prelude::*;
use odm_tests::{is_the_stand_in, with_db, with_transactions};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "suppliers")]
struct Supplier {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: i32,
    #[index(unique)]
    number: String,
    #[reference(check = false)]
    supplier: Option<Ref<Supplier>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[reference(many, max = 50, check = false)]
    parts: Vec<Ref<Part>>,
    #[reference(check = false)]
    main: Option<Ref<Part>>,
    #[reference(check = false, by = number)]
    spare: Option<Ref<Part, String>>,
    #[embed(max = 10)]
    lines: Vec<Line>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Line {
    #[reference(check = false)]
    part: Ref<Part>,
    #[reference(many, max = 5, check = false)]
    also: Vec<Ref<Part>>,
    #[embed]
    detail: Option<Detail>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Detail {
    #[reference(check = false)]
    supplier: Ref<Supplier>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "stock")]
struct Stock {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(order(-at), check = false)]
    part: Ref<Part>,
    at: i32,
    #[reference(check = false)]
    from: Option<Ref<Supplier>>,
}

fn part(id: i32, supplier: Option<i32>) -> Part {
    Part {
        id,
        number: format!("p{id}"),
        supplier: supplier.map(Ref::new),
    }
}

fn line(part: i32, also: &[i32], supplier: Option<i32>) -> Line {
    Line {
        part: Ref::new(part),
        also: also.iter().copied().map(Ref::new).collect(),
        detail: supplier.map(|supplier| Detail {
            supplier: Ref::new(supplier),
        }),
    }
}

fn product(id: i32, parts: &[i32]) -> Product {
    Product {
        id,
        name: format!("product {id}"),
        parts: parts.iter().copied().map(Ref::new).collect(),
        main: parts.first().copied().map(Ref::new),
        spare: parts.last().map(|id| Ref::new(format!("p{id}"))),
        lines: vec![],
    }
}

async fn filled(db: &odm::mongodb::Database) -> Odm {
    let odm = Odm::new(db.clone(), models![Supplier, Part, Product, Stock]).unwrap();
    odm.sync().await.unwrap();
    let suppliers = [1, 2].map(|id| Supplier {
        id,
        name: format!("supplier {id}"),
    });
    odm.collection::<Supplier>().insert_many(suppliers).await.unwrap();
    let parts = [
        part(1, Some(1)),
        part(2, Some(2)),
        part(3, None),
        part(4, Some(1)),
    ];
    odm.collection::<Part>().insert_many(parts).await.unwrap();
    let products = [
        Product {
            lines: vec![line(1, &[2, 3], Some(2)), line(4, &[], None)],
            ..product(1, &[3, 1, 3, 2])
        },
        product(2, &[]),
        product(3, &[1]),
    ];
    odm.collection::<Product>().insert_many(products).await.unwrap();
    let stock = (0..20).map(|n| Stock {
        id: n,
        part: Ref::new(1 + n % 2),
        at: n * 7 % 20,
        from: (n % 3 == 0).then(|| Ref::new(1)),
    });
    odm.collection::<Stock>().insert_many(stock).await.unwrap();
    odm
}

fn ids(parts: &[Part]) -> Vec<i32> {
    parts.iter().map(|part| part.id).collect()
}

/// A `$lookup` of children or of nested joins gives the same, but on a server that has none with a pipeline.
async fn same_by_lookup<X: PartialEq + Debug>(odm: &Odm, by_lookup: Result<X, Error>, expected: &X) {
    if odm.server().await.unwrap().has_lookup_with_pipeline() {
        assert_eq!(&by_lookup.unwrap(), expected)
    } else {
        assert!(matches!(by_lookup, Err(Error::Unsupported { .. })))
    }
}

#[odm_tests::test]
fn an_array_keeps_its_order_and_its_duplicates() {
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let products = odm.collection::<Product>();
        let all = products
            .find_all()
            .sort(|p| p.id.asc())
            .include(|p| p.parts)
            .all()
            .await
            .unwrap();
        assert_eq!(ids(&all[0].1), [3, 1, 3, 2]);
        assert_eq!(ids(&all[1].1), [0; 0]);
        assert_eq!(ids(&all[2].1), [1]);
        let by_lookup = products
            .find_all()
            .sort(|p| p.id.asc())
            .include(|p| p.parts)
            .lookup()
            .all()
            .await
            .unwrap();
        assert_eq!(by_lookup, all);
        let loaded: Vec<Part> = all[0].0.parts.load(&odm).await.unwrap();
        assert_eq!(loaded, all[0].1);
    });
}

#[odm_tests::test]
fn several_references_nest_and_share_queries() {
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let products = odm.collection::<Product>();
        let commands = &t.commands;
        commands.clear();
        type Row = (
            Product,
            (Vec<(Part, Option<Supplier>)>, Option<Part>, Option<Part>),
        );
        let all: Vec<Row> = products
            .find_all()
            .sort(|p| p.id.asc())
            .include(|p| (p.parts.include(|q| q.supplier), p.main, p.spare))
            .all()
            .await
            .unwrap();
        // Products; parts by id (for two paths) and by number; suppliers.
        assert_eq!(commands.take(), ["find", "find", "find", "find"]);
        let (parts, main, spare) = &all[0].1;
        let of = |at: usize| (parts[at].0.id, parts[at].1.as_ref().map(|s| s.id));
        assert_eq!(
            [of(0), of(1), of(2), of(3)],
            [(3, None), (1, Some(1)), (3, None), (2, Some(2))]
        );
        assert_eq!(main.as_ref().map(|part| part.id), Some(3));
        assert_eq!(spare.as_ref().map(|part| part.id), Some(2));
        assert_eq!(all[1].1, (vec![], None, None));
        let by_lookup = products
            .find_all()
            .sort(|p| p.id.asc())
            .include(|p| (p.parts.include(|q| q.supplier), p.main, p.spare))
            .lookup()
            .all()
            .await;
        same_by_lookup(&odm, by_lookup, &all).await;
    });
}

#[odm_tests::test]
fn references_inside_embedded_documents_come_in_their_shape() {
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let products = odm.collection::<Product>();
        type Row = (Product, (Vec<Part>, Vec<Vec<Part>>, Vec<Option<Supplier>>));
        let query = || {
            products
                .find(|p| p.id.eq(1))
                .include(|p| (p.lines.part, p.lines.also, p.lines.detail.supplier))
        };
        let all: Vec<Row> = query().all().await.unwrap();
        let (parts, also, suppliers) = &all[0].1;
        assert_eq!(ids(parts), [1, 4]);
        assert_eq!(
            also.iter().map(|parts| ids(parts)).collect::<Vec<_>>(),
            [vec![2, 3], vec![]]
        );
        assert_eq!(
            suppliers
                .iter()
                .map(|s| s.as_ref().map(|s| s.id))
                .collect::<Vec<_>>(),
            [Some(2), None]
        );
        assert_eq!(query().lookup().all().await.unwrap(), all);
        assert_eq!(query().one().await.unwrap(), all.into_iter().next());
    });
}

#[odm_tests::test]
fn the_caller_chooses_the_result_for_a_missing_target() {
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let products = odm.collection::<Product>();
        products.insert(product(9, &[1, 77, 3, 78, 77])).await.unwrap();
        let query = || products.find(|p| p.id.eq(9));
        let error = query()
            .include(|p| p.parts)
            .all()
            .await
            .expect_err("two are missing");
        let Error::MissingReference {
            collection,
            field,
            target,
            ids: missing,
            ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(
            (*collection, field.as_str(), *target),
            ("products", "parts", "parts")
        );
        assert_eq!(missing, &[77.into(), 78.into()]);
        let left_out = query()
            .include(|p| p.parts.leave_out_missing())
            .all()
            .await
            .unwrap();
        assert_eq!(ids(&left_out[0].1), [1, 3]);
        let with_none = query().include(|p| p.parts.or_none()).all().await.unwrap();
        let found: Vec<Option<i32>> = with_none[0].1.iter().map(|p| p.as_ref().map(|p| p.id)).collect();
        assert_eq!(found, [Some(1), None, Some(3), None, None]);
        let nested = query()
            .include(|p| p.parts.include(|q| q.supplier).leave_out_missing())
            .all()
            .await
            .unwrap();
        assert_eq!(nested[0].1.len(), 2);
        let lines = &products.get(9).await.unwrap().expect("is there").parts;
        assert!(matches!(
            lines.load(&odm).await,
            Err(Error::MissingReference { .. })
        ));
        assert_eq!(lines.load(&odm).leave_out_missing().await.unwrap().len(), 2);
        assert_eq!(lines.load(&odm).or_none().await.unwrap().len(), 5);
    });
}

#[odm_tests::test]
fn children_come_to_their_parents() {
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let parts = odm.collection::<Part>();
        let at = |stock: &[Stock]| stock.iter().map(|s| s.at).collect::<Vec<_>>();
        let query = || parts.find_all().sort(|p| p.id.asc());
        let all = query().include(|p| p.children::<Stock>()).all().await.unwrap();
        assert_eq!(
            all.iter().map(|(_, stock)| stock.len()).collect::<Vec<_>>(),
            [10, 10, 0, 0]
        );
        assert_eq!(at(&all[0].1), [18, 16, 14, 12, 10, 8, 6, 4, 2, 0]);
        let newest = query()
            .include(|p| p.children::<Stock>().limit(3))
            .all()
            .await
            .unwrap();
        assert_eq!(at(&newest[0].1), [18, 16, 14]);
        assert_eq!(at(&newest[1].1), [19, 17, 15]);
        assert_eq!(newest[2].1, []);
        let by_queries = query()
            .include(|p| p.children::<Stock>().limit(3).by_queries())
            .all()
            .await
            .unwrap();
        assert_eq!(by_queries, newest);
        let by_lookup = query()
            .include(|p| p.children::<Stock>().limit(3))
            .lookup()
            .all()
            .await;
        same_by_lookup(&odm, by_lookup, &newest).await;
        let one = parts
            .find(|p| p.id.eq(1))
            .include(|p| p.children::<Stock>().limit(2))
            .all()
            .await
            .unwrap();
        assert_eq!(at(&one[0].1), [18, 16]);
        let filtered = query()
            .include(|p| {
                p.children::<Stock>()
                    .filter(|s| s.at.lt(5))
                    .sort(|s| s.at.asc())
                    .limit(2)
            })
            .all()
            .await
            .unwrap();
        assert_eq!((at(&filtered[0].1), at(&filtered[1].1)), (vec![0, 2], vec![1, 3]));
        let nested = query()
            .include(|p| p.children::<Stock>().limit(4).include(|s| s.from))
            .all()
            .await
            .unwrap();
        for (_, stock) in &nested {
            for (stock, from) in stock {
                assert_eq!(stock.from.map(|from| *from.key()), from.as_ref().map(|s| s.id));
            }
        }
        let by_lookup = query()
            .include(|p| p.children::<Stock>().limit(4).include(|s| s.from))
            .lookup()
            .all()
            .await;
        same_by_lookup(&odm, by_lookup, &nested).await;
        let stock = odm.collection::<Stock>();
        assert_eq!(stock.children_of(&all[0].0).all().await.unwrap(), all[0].1);
        assert_eq!(
            parts.load(&all[0].0, |p| p.children::<Stock>()).await.unwrap(),
            all[0].1
        );
    });
}

#[odm_tests::test]
fn children_with_an_array_of_references_are_joined_to_their_parents() {
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let parts = odm.collection::<Part>();
        let all = parts
            .find_all()
            .sort(|p| p.id.asc())
            .include(|p| p.children_by(|r: ProductFields| r.parts).sort(|r| r.id.asc()))
            .all()
            .await
            .unwrap();
        let products: Vec<Vec<i32>> = all
            .iter()
            .map(|(_, p)| p.iter().map(|p| p.id).collect())
            .collect();
        assert_eq!(products, [vec![1, 3], vec![1], vec![1], vec![]]);
        let limited = parts
            .find_all()
            .sort(|p| p.id.asc())
            .include(|p| {
                p.children_by(|r: ProductFields| r.parts)
                    .sort(|r| r.id.desc())
                    .limit(1)
            })
            .all()
            .await
            .unwrap();
        let products: Vec<Vec<i32>> = limited
            .iter()
            .map(|(_, p)| p.iter().map(|p| p.id).collect())
            .collect();
        assert_eq!(products, [vec![3], vec![1], vec![1], vec![]]);
        let by_line = parts
            .find(|p| p.id.eq(4))
            .include(|p| p.children_by(|r: ProductFields| r.lines.part))
            .all()
            .await
            .unwrap();
        assert_eq!(by_line[0].1.len(), 1);
        let by_number = parts
            .find(|p| p.id.eq(2))
            .include(|p| p.children_by(|r: ProductFields| r.spare))
            .all()
            .await
            .unwrap();
        assert_eq!(by_number[0].1.iter().map(|p| p.id).collect::<Vec<_>>(), [1]);
    });
}

#[derive(Projection, Deserialize, Debug, PartialEq)]
#[projection(of = Product)]
struct Named {
    name: String,
}

#[odm_tests::test]
fn projections_streams_and_transactions_join_too() {
    use futures::TryStreamExt;
    with_transactions(async |t| {
        let odm = filled(&t.db).await;
        let products = odm.collection::<Product>();
        let all = products
            .find_all()
            .sort(|p| p.id.asc())
            .include(|p| (p.parts, p.lines.part))
            .all()
            .await
            .unwrap();
        type Row = (Named, (Vec<Part>, Vec<Part>));
        let named: Vec<Row> = products
            .find_all()
            .sort(|p| p.id.asc())
            .select::<Named>()
            .include(|p| (p.parts, p.lines.part))
            .all()
            .await
            .unwrap();
        for ((product, joined), (name, also)) in all.iter().zip(&named) {
            assert_eq!((&product.name, joined), (&name.name, also));
        }
        let streamed: Vec<_> = products
            .find_all()
            .sort(|p| p.id.asc())
            .batch_size(2)
            .include(|p| (p.parts, p.lines.part))
            .stream()
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(streamed, all);
        let first = products.find_all().include(|p| p.parts).page(2).await.unwrap();
        let rest = products
            .find_all()
            .include(|p| p.parts)
            .page(2)
            .after(first.next.clone().unwrap())
            .await
            .unwrap();
        let paged: Vec<_> = first.items.into_iter().chain(rest.items).collect();
        let direct = products
            .find_all()
            .sort(|p| p.id.asc())
            .include(|p| p.parts)
            .all()
            .await
            .unwrap();
        assert_eq!((paged, rest.next), (direct, None));
        let in_tx = odm
            .transaction(async |tx| {
                let products = tx.collection::<Product>();
                products.insert(product(10, &[1])).await?;
                let all = products
                    .find(|p| p.id.gt(2))
                    .sort(|p| p.id.asc())
                    .include(|p| p.parts)
                    .all()
                    .await?;
                let streamed: Vec<_> = products
                    .find(|p| p.id.gt(2))
                    .sort(|p| p.id.asc())
                    .include(|p| p.parts)
                    .stream()
                    .await?
                    .try_collect()
                    .await?;
                assert_eq!(streamed, all);
                let loaded = all[0].0.parts.load(&tx).await?;
                assert_eq!(loaded, all[0].1);
                Ok(all)
            })
            .await
            .unwrap();
        assert_eq!(
            in_tx
                .iter()
                .map(|(p, parts)| (p.id, ids(parts)))
                .collect::<Vec<_>>(),
            [(3, vec![1]), (10, vec![1])]
        );
    });
}

#[odm_tests::test]
fn a_stream_goes_on_behind_a_batch_with_a_missing_target() {
    use futures::{StreamExt, TryStreamExt};
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let products = odm.collection::<Product>();
        let more = [
            product(4, &[77, 2]),
            product(5, &[78, 77]),
            product(6, &[2, 79]),
            product(7, &[4]),
            product(8, &[1]),
        ];
        products.insert_many(more).await.unwrap();
        let query = || products.find_all().sort(|p| p.id.asc()).batch_size(2);
        let found: Vec<_> = query()
            .include(|p| p.parts)
            .stream()
            .await
            .unwrap()
            .map(|row| match row {
                Ok((product, parts)) => Ok((product.id, ids(&parts))),
                Err(Error::MissingReference { ids, field, .. }) => {
                    assert_eq!(field, "parts");
                    Err(ids)
                }
                Err(other) => panic!("{other}"),
            })
            .collect()
            .await;
        // Batches of two: 1 and 2, 3 and 4, 5 and 6, 7 and 8.
        assert_eq!(
            found,
            [
                Ok((1, vec![3, 1, 3, 2])),
                Ok((2, vec![])),
                Err(vec![77.into()]),
                Err(vec![78.into(), 77.into(), 79.into()]),
                Ok((7, vec![4])),
                Ok((8, vec![1])),
            ]
        );
        let stopped: Result<Vec<_>, _> = query()
            .include(|p| p.parts)
            .stream()
            .await
            .unwrap()
            .try_collect()
            .await;
        assert!(
            matches!(stopped, Err(Error::MissingReference { ids, .. }) if ids == [odm::bson::Bson::Int32(77)])
        );
        let left_out: Vec<(Product, Vec<Part>)> = query()
            .include(|p| p.parts.leave_out_missing())
            .stream()
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        let left_out: Vec<Vec<i32>> = left_out.iter().map(|(_, parts)| ids(parts)).collect();
        assert_eq!(left_out[3..6], [vec![2], vec![], vec![2]]);
        let with_none: Vec<(Product, Vec<Option<Part>>)> = query()
            .include(|p| p.parts.or_none())
            .stream()
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        let (_, parts) = &with_none[5];
        assert_eq!(parts[0].as_ref().map(|part| part.id), Some(2));
        assert_eq!((with_none.len(), &parts[1..]), (8, &[None][..]));
    });
}

#[odm_tests::test]
fn a_lossy_join_gives_the_good_and_collects_the_bad() {
    use futures::StreamExt;
    use odm::bson::{Document, doc};
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let (products, parts) = (odm.collection::<Product>(), odm.collection::<Part>());
        products
            .insert_many([product(4, &[4]), product(5, &[2, 77])])
            .await
            .unwrap();
        let expected = products
            .find(|p| p.id.in_([1, 3, 4]))
            .sort(|p| p.id.asc())
            .include(|p| p.parts)
            .all()
            .await
            .unwrap();
        for collection in ["products", "parts"] {
            let off = doc! { "collMod": collection, "validationLevel": "off" };
            t.db.run_command(off).await.unwrap();
        }
        let raw = products.driver::<Document>();
        raw.update_one(doc! { "_id": 2 }, doc! { "$set": { "name": 2 } })
            .await
            .unwrap();
        let query = || products.find(|p| p.id.lt(5)).sort(|p| p.id.asc());
        let lossy = query().include(|p| p.parts).lossy().all().await.unwrap();
        assert_eq!(lossy.items, expected);
        assert!(matches!(&lossy.bad[..], [Error::Decode { path, .. }] if path == "name"));

        let describe = |row: Result<Result<(Product, Vec<Part>), Error>, Error>| match row {
            Ok(Ok((product, parts))) => format!("{} with {:?}", product.id, ids(&parts)),
            Ok(Err(error)) => match error {
                Error::Decode { collection, path, .. } => format!("bad: {collection}, {path}"),
                other => panic!("{other}"),
            },
            Err(Error::MissingReference { ids, .. }) => format!("missing: {ids:?}"),
            Err(Error::Decode { collection, path, .. }) => format!("error: {collection}, {path}"),
            Err(other) => panic!("{other}"),
        };
        let streamed = async |batch_size| -> Vec<String> {
            let all = products.find_all().sort(|p| p.id.asc()).batch_size(batch_size);
            let stream = all.include(|p| p.parts).lossy().stream().await.unwrap();
            stream.map(describe).collect().await
        };
        let [one, two, three, four] = [
            "1 with [3, 1, 3, 2]",
            "bad: products, name",
            "3 with [1]",
            "4 with [4]",
        ];
        assert_eq!(streamed(2).await, [one, two, three, four, "missing: [Int32(77)]"]);
        // The errors of the documents that can't be decoded are reported, whether the others can be joined or not.
        assert_eq!(streamed(10).await, [two, "missing: [Int32(77)]"]);
        let stream = products
            .find_all()
            .sort(|p| p.id.asc())
            .include(|p| p.parts)
            .stream();
        let errors: Vec<_> = stream.await.unwrap().collect().await;
        assert!(matches!(
            &errors[..],
            [Err(Error::Decode { .. }), Err(Error::MissingReference { .. })]
        ));

        // One that is joined and does not fit is no loss that could be borne: who refers to it would lack it.
        let raw = parts.driver::<Document>();
        raw.update_one(doc! { "_id": 1 }, doc! { "$set": { "number": 1 } })
            .await
            .unwrap();
        let error = query().include(|p| p.parts).lossy().all().await.unwrap_err();
        assert!(
            matches!(&error, Error::Decode { collection, path, .. } if collection == "parts" && path == "number")
        );
        let wrong = "error: parts, number";
        assert_eq!(
            streamed(2).await,
            [two, wrong, wrong, "missing: [Int32(77)]"],
            "products 1 and 3 have the part"
        );
    });
}

#[odm_tests::test]
fn the_number_of_queries_does_not_depend_on_the_number_of_documents() {
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let products = odm.collection::<Product>();
        let more = (100..1_100).map(|id| Product {
            lines: vec![line(id % 4 + 1, &[], Some(id % 2 + 1))],
            ..product(id, &[id % 4 + 1, 2])
        });
        products.insert_many(more).await.unwrap();
        for limit in [1, 1_000] {
            let query = || products.find(|p| p.id.gte(100)).limit(limit);
            let sent = || t.commands.take();
            sent();
            assert_eq!(
                query().include(|p| p.parts).all().await.unwrap().len() as u64,
                limit
            );
            assert_eq!(sent(), ["find"; 2], "one join");
            query()
                .include(|p| (p.parts, p.spare, p.lines.detail.supplier))
                .all()
                .await
                .unwrap();
            assert_eq!(sent(), ["find"; 4], "three targets");
            query()
                .include(|p| p.parts.include(|q| q.supplier))
                .all()
                .await
                .unwrap();
            assert_eq!(sent(), ["find"; 3], "two hops");
            query()
                .include(|p| (p.parts, p.main, p.lines.part))
                .all()
                .await
                .unwrap();
            assert_eq!(sent(), ["find"; 2], "three paths to one collection");
            query()
                .include(|p| (p.parts.include(|q| q.supplier), p.lines.detail.supplier))
                .all()
                .await
                .unwrap();
            assert_eq!(sent(), ["find"; 4], "the same collection at two hops");
            query().include(|p| p.parts).lookup().all().await.unwrap();
            assert_eq!(sent(), ["aggregate"]);
            query().include(|p| p.parts).one().await.unwrap();
            assert_eq!(sent(), ["find"; 2]);
            odm.collection::<Part>()
                .find_all()
                .include(|p| p.children::<Stock>())
                .all()
                .await
                .unwrap();
            assert_eq!(sent(), ["find"; 2], "all children");
            odm.collection::<Part>()
                .find_all()
                .include(|p| p.children::<Stock>().limit(8).include(|s| s.from))
                .all()
                .await
                .unwrap();
            let sent: Vec<String> = sent().into_iter().filter(|name| name != "hello").collect();
            // Else one query for each of the four parts.
            let expected = if odm.server().await.unwrap().has_lookup_with_pipeline() {
                vec!["find", "aggregate", "find"]
            } else {
                vec!["find"; 6]
            };
            assert_eq!(sent, expected, "the first few children, and a hop behind them");
        }
        let one = products.get(1).await.unwrap().unwrap();
        t.commands.clear();
        one.parts.load(&odm).await.unwrap();
        assert_eq!(t.commands.take(), ["find"]);
        products
            .load(&one, |p| (p.parts.include(|q| q.supplier), p.main))
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["find", "find"]);
        products
            .get(2)
            .await
            .unwrap()
            .unwrap()
            .parts
            .load(&odm)
            .await
            .unwrap();
        assert_eq!(
            t.commands.take(),
            ["find"],
            "only the product: it has no parts to ask for"
        );
    });
}

#[odm_tests::test]
fn a_join_that_scans_a_collection_is_reported_by_explain() {
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let parts = odm.collection::<Part>();
        let explain = parts
            .find_all()
            .include(|p| {
                (
                    p.supplier,
                    p.children::<Stock>(),
                    p.children_by(|r: ProductFields| r.spare),
                )
            })
            .explain()
            .await
            .unwrap();
        let told: Vec<(&str, &str)> = explain
            .joins
            .iter()
            .map(|join| (join.collection.as_str(), join.field.as_str()))
            .collect();
        assert_eq!(
            told,
            [("suppliers", "_id"), ("stock", "part"), ("products", "spare")]
        );
        // A collection without the index that the relationship declares.
        t.db.collection::<Stock>("stock").drop_indexes().await.unwrap();
        let explain = parts
            .find_all()
            .include(|p| p.children::<Stock>())
            .explain()
            .await
            .unwrap();
        assert!(explain.joins[0].is_collection_scan());
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "carts")]
struct Cart {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[embed(max = 10)]
    lines: Vec<Option<Line>>,
}

#[derive(odm::Projection, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[projection(of = Cart)]
struct CartName {
    name: String,
}

/// The server leaves an item that is `null` out of a projection that takes fields of the items, and what is joined would
/// stand at other places.
#[odm_tests::test]
fn a_projection_does_not_shift_joins_of_items() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Supplier, Part, Cart]).unwrap();
        odm.sync().await.unwrap();
        let part = |id: i32| Part {
            id,
            number: id.to_string(),
            supplier: None,
        };
        odm.collection::<Part>()
            .insert_many([part(1), part(2)])
            .await
            .unwrap();
        let line = |id| {
            Some(Line {
                part: Ref::new(id),
                also: vec![Ref::new(id)],
                detail: None,
            })
        };
        let carts = odm.collection::<Cart>();
        let cart = |id, lines| Cart {
            id,
            name: format!("cart {id}"),
            lines,
        };
        let all = [
            cart(1, vec![None, line(1), None, line(2)]),
            cart(2, vec![line(2), None]),
        ];
        carts.insert_many(all).await.unwrap();
        let find = || carts.find_all().sort(|c| c.id.asc());
        let whole = find()
            .include(|c| (c.lines.part, c.lines.also))
            .all()
            .await
            .unwrap();
        let named = find()
            .select::<CartName>()
            .include(|c| (c.lines.part, c.lines.also));
        let named = named.all().await.unwrap();
        for ((cart, joined), (name, also)) in whole.iter().zip(&named) {
            assert_eq!(
                (&cart.name, format!("{joined:?}")),
                (&name.name, format!("{also:?}"))
            );
        }
        assert_eq!(whole.len(), 2);
        let found = format!("{:?}", whole[0].1);
        assert_eq!(found.matches("Part { id: 1").count(), 2, "{found}");
    });
}

/// A batch is joined before the next one is asked for, and it is not as large as the server would make it.
#[odm_tests::test]
fn a_stream_joins_a_thousand_documents_at_a_time() {
    use futures::TryStreamExt;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Supplier, Part]).unwrap();
        odm.sync().await.unwrap();
        odm.collection::<Supplier>()
            .insert(Supplier {
                id: 1,
                name: "Acme".into(),
            })
            .await
            .unwrap();
        let parts = odm.collection::<Part>();
        let part = |id: i32| Part {
            id,
            number: id.to_string(),
            supplier: Some(Ref::new(1)),
        };
        parts.insert_many((0..1_500).map(part)).await.unwrap();
        t.commands.clear();
        let mut stream = parts.find_all().include(|p| p.supplier).stream().await.unwrap();
        let mut number = 0;
        while let Some((_, supplier)) = stream.try_next().await.unwrap() {
            assert_eq!(supplier.map(|supplier| supplier.id), Some(1));
            number += 1;
            if number == 1 {
                assert_eq!(t.commands.take(), ["find", "find"]);
            }
        }
        assert_eq!(
            (number, t.commands.take()),
            (1_500, vec!["getMore".into(), "find".into()])
        );
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "towns")]
struct Town {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "cafes")]
struct Cafe {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(check = false)]
    town: Ref<Town>,
    #[index(geo)]
    place: odm::geo::Point,
}

#[odm_tests::test]
fn the_nearest_children_of_each_parent_are_asked_for_without_a_pipeline() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Town, Cafe]).unwrap();
        odm.sync().await.unwrap();
        let (towns, cafes) = (odm.collection::<Town>(), odm.collection::<Cafe>());
        towns.insert_many([1, 2, 3].map(|id| Town { id })).await.unwrap();
        let cafe = |id: i32| Cafe {
            id,
            town: Ref::new(1 + id % 2),
            place: odm::geo::Point::new(13.0 + f64::from(id) / 100.0, 52.5),
        };
        cafes.insert_many((0..8).map(cafe)).await.unwrap();
        odm.server().await.unwrap();
        t.commands.clear();
        let nearest = |limit| {
            move |t: TownFields| {
                let here = odm::geo::Point::new(13.2, 52.5);
                let near = t.children::<Cafe>().filter(|c| c.place.near(here, 12_000.0));
                near.limit(limit)
            }
        };
        let of = |rows: Vec<(Town, Vec<Cafe>)>| {
            let ids = |cafes: Vec<Cafe>| cafes.iter().map(|cafe| cafe.id).collect::<Vec<_>>();
            rows.into_iter().map(|(_, cafes)| ids(cafes)).collect::<Vec<_>>()
        };
        let query = || towns.find_all().sort(|t| t.id.asc());
        let two = of(query().include(nearest(2)).all().await.unwrap());
        // The towns, and the cafes of each: MongoDB refuses `$near` in a pipeline.
        assert_eq!(t.commands.take(), ["find"; 4]);
        let mut alone = Vec::new();
        for town in 1..=3 {
            let here = odm::geo::Point::new(13.2, 52.5);
            let of_it = cafes.find(|c| c.town.eq(Ref::new(town)) & c.place.near(here, 12_000.0));
            let found = of_it.limit(2).all().await.unwrap();
            alone.push(found.into_iter().map(|cafe| cafe.id).collect::<Vec<_>>());
        }
        assert_eq!(two, alone);
        // One of the servers that stand in for MongoDB finds those that are near, and does not sort them.
        if !is_the_stand_in(&t.db).await {
            assert_eq!(two, [vec![6, 4], vec![7, 5], vec![]]);
        }
        t.commands.clear();
        let one = query().limit(1).include(nearest(1)).all().await.unwrap();
        assert_eq!(of(one), [&two[0][..1]]);
        assert_eq!(t.commands.take(), ["find"; 2]);

        // For the same reason `lookup` refuses it, also at the beginning of the pipeline, before anything is sent.
        let here = odm::geo::Point::new(13.2, 52.5);
        let children = query().include(nearest(2)).lookup().all().await.map(drop);
        let own = cafes.find(|c| c.place.near(here, 12_000.0)).include(|c| c.town);
        let own = own.lookup().one().await.map(drop);
        for refused in [children, own] {
            let Err(Error::Query { collection, message }) = &refused else {
                panic!("{refused:?}")
            };
            assert_eq!(*collection, "cafes");
            assert!(
                message.contains("`near`") && message.contains("leave out `lookup`"),
                "{message}"
            );
        }
        assert!(t.commands.take().is_empty(), "nothing was sent");
    });
}

#[odm_tests::test]
fn the_parent_of_children_is_named_by_a_reference_too() {
    with_db(async |t| {
        let odm = filled(&t.db).await;
        let stock = odm.collection::<Stock>();
        let part = odm.collection::<Part>().get(1).await.unwrap().unwrap();
        let all = stock.children_of(&part).all().await.unwrap();
        assert!(!all.is_empty());
        let reference: Ref<Part> = part.to_ref();
        let borrowed = &reference;
        assert_eq!(stock.children_of(borrowed).all().await.unwrap(), all);
        assert_eq!(stock.children_of(reference).all().await.unwrap(), all);
        assert_eq!(stock.children_of(all[0].part).all().await.unwrap(), all);
        let by_id = |id: i32| stock.children_of(Ref::<Part>::new(id));
        assert_eq!(by_id(1).limit(1).all().await.unwrap(), all[..1]);
        assert_eq!(by_id(404).count().await.unwrap(), 0);
    });
}

/// A flattened struct has no name under which it could be there: in a join it is there if the reference is.
#[odm_tests::test]
fn a_join_through_a_flattened_option_is_there_if_the_reference_is() {
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "boxes")]
    struct Packed {
        #[serde(rename = "_id")]
        id: i32,
        #[serde(flatten)]
        #[embed]
        content: Option<Content>,
    }
    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    struct Content {
        number: i32,
        #[reference(check = false)]
        part: Ref<Part>,
        #[reference(check = false)]
        from: Option<Ref<Supplier>>,
    }
    with_db(async |t| {
        filled(&t.db).await;
        let odm = Odm::new(t.db.clone(), models![Supplier, Part, Packed]).unwrap();
        odm.sync().await.unwrap();
        let content = |from: Option<i32>| Content {
            number: 1,
            part: Ref::new(1),
            from: from.map(Ref::new),
        };
        let all = [Some(content(Some(1))), Some(content(None)), None];
        let all = (1..).zip(all).map(|(id, content)| Packed { id, content });
        let packed = odm.collection::<Packed>();
        packed.insert_many(all.clone()).await.unwrap();
        let query = || packed.find_all().sort(|p| p.id.asc());
        let rows = query()
            .include(|p| (p.content.part, p.content.from))
            .all()
            .await
            .unwrap();
        let (documents, joined): (Vec<Packed>, Vec<_>) = rows.into_iter().unzip();
        assert_eq!(documents, all.collect::<Vec<_>>());
        let ids = |(part, from): (Option<Part>, Option<Option<Supplier>>)| {
            (
                part.map(|part| part.id),
                from.map(|from| from.map(|from| from.id)),
            )
        };
        let joined: Vec<_> = joined.into_iter().map(ids).collect();
        assert_eq!(
            joined,
            [(Some(1), Some(Some(1))), (Some(1), None), (None, None)],
            "without the reference the struct is not seen"
        );
    });
}

#[odm_tests::test]
fn a_reference_that_is_also_read_from_a_previous_name_is_refused() {
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "crates")]
    struct Crate {
        #[serde(rename = "_id")]
        id: i32,
        #[serde(alias = "rows")]
        #[embed(max = 3)]
        lines: Vec<Line>,
        #[embed]
        kind: Kind,
        #[serde(alias = "remark")]
        note: Option<String>,
    }
    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        From {
            #[reference(check = false)]
            supplier: Ref<Supplier>,
        },
        Unknown,
    }
    with_db(async |t| {
        let error = Odm::new(t.db.clone(), models![Supplier, Part, Crate]).unwrap_err();
        let Error::Models { problems } = &error else {
            panic!("{error}")
        };
        let says = |path: &str, within: &str, alias: &str| {
            let start =
                format!("`Crate.{path}` is a reference in `{within}`, which is read from `{alias}` too");
            assert!(
                problems.iter().any(|problem| problem.starts_with(&start)),
                "{start}\n{error}"
            );
        };
        says("lines.part", "lines", "rows");
        says("lines.also", "lines", "rows");
        says("lines.detail.supplier", "lines", "rows");
        assert_eq!(problems.len(), 3, "{error}");
    });
}
