//! Every loader against the most obvious join: one query for each reference. The data are random, with
//! duplicates, missing targets and empty arrays, and each join is executed in every way that there is.

use futures::TryStreamExt;
use odm::AsStored;
use odm::Error;
use odm::bson::{Bson, Document as Raw, doc};
use odm::mongodb::Database;
use odm::prelude::*;
use odm::query::{Join, Order};
use odm_tests::random::Random;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "makers")]
struct Maker {
    #[serde(rename = "_id")]
    id: i32,
    #[index(unique)]
    code: String,
    #[reference(check = false)]
    owner: Option<Ref<Maker>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: i32,
    #[index(unique)]
    number: String,
    #[reference(check = false)]
    maker: Option<Ref<Maker>>,
    #[parent_ref(order(-number), check = false)]
    of: Option<Ref<Part>>,
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
    main: Ref<Part>,
    #[reference(check = false)]
    second: Option<Ref<Part>>,
    #[reference(by = number, check = false)]
    spare: Option<Ref<Part, String>>,
    #[reference(many, max = 50, by = code, check = false)]
    makers: Vec<Ref<Maker, String>>,
    #[reference(any(Part, Maker), check = false)]
    about: AboutRef,
    #[reference(any, check = false)]
    also: Option<AboutRef>,
    #[reference(many, max = 50, any, check = false)]
    more: Vec<AboutRef>,
    #[reference(many, max = 50, check = false)]
    #[denormalize(from = Part, fields(number: String))]
    kept: Vec<KeptPart>,
    #[embed]
    note: Note,
    #[embed(max = 10)]
    lines: Vec<Line>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Note {
    #[reference(check = false)]
    by: Option<Ref<Maker>>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Line {
    #[reference(check = false)]
    part: Ref<Part>,
    #[reference(many, max = 5, check = false)]
    also: Vec<Ref<Part>>,
    #[reference(any, check = false)]
    about: Option<AboutRef>,
    #[embed]
    detail: Option<Detail>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Detail {
    #[reference(check = false)]
    maker: Ref<Maker>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "labels")]
struct Label {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(one, check = false)]
    part: Ref<Part>,
    #[reference(check = false)]
    maker: Option<Ref<Maker>>,
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
    from: Option<Ref<Maker>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "samples")]
struct Sample {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(by = number, order(at), check = false)]
    part: Ref<Part, String>,
    at: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "remarks")]
struct Remark {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(any(Part, Product), order(-at), check = false)]
    on: RemarkedRef,
    at: i32,
}

#[derive(Projection, Deserialize, Debug)]
#[projection(of = Product)]
struct ProductName {
    name: String,
}

#[derive(Projection, Deserialize, Debug)]
#[projection(of = Part)]
struct PartNumber {
    number: String,
}

/// A document that things are joined to.
trait Asked: odm::Document + Clone + PartialEq + Debug + 'static {
    /// A projection that has none of the fields by which anything is joined.
    type Narrow: Projection<Self> + Debug + 'static;
    fn in_order(paths: Self::Paths) -> Order<Self>;
    fn text(&self) -> &str;
    fn text_of(narrow: &Self::Narrow) -> &str;
}

impl Asked for Product {
    type Narrow = ProductName;
    fn in_order(p: ProductFields) -> Order<Product> {
        p.id.asc()
    }
    fn text(&self) -> &str {
        &self.name
    }
    fn text_of(narrow: &ProductName) -> &str {
        &narrow.name
    }
}

impl Asked for Part {
    type Narrow = PartNumber;
    fn in_order(p: PartFields) -> Order<Part> {
        p.id.asc()
    }
    fn text(&self) -> &str {
        &self.number
    }
    fn text_of(narrow: &PartNumber) -> &str {
        &narrow.number
    }
}

/// A reference without its target. A query reports those of the lowest place: those at an earlier hop before
/// those behind it, and of one hop the join that is named first.
#[derive(Clone, Debug, PartialEq)]
struct Lost {
    place: u8,
    holder: &'static str,
    field: &'static str,
    target: &'static str,
    id: Bson,
}

/// The documents that are joined to one document, or why none is.
type Expected<O> = Result<O, Vec<Lost>>;

/// The collection, field, target and ids of the error.
type Missing = (String, String, String, Vec<Bson>);

fn of_all<O: Clone>(expected: &[Expected<O>]) -> Result<Vec<O>, Missing> {
    let lost: Vec<&Lost> = expected
        .iter()
        .filter_map(|e| e.as_ref().err())
        .flatten()
        .collect();
    let Some(first) = lost.iter().min_by_key(|lost| lost.place) else {
        return Ok(expected.iter().flatten().cloned().collect());
    };
    let mut ids: Vec<Bson> = Vec::new();
    for lost in &lost {
        if (lost.place, lost.target) == (first.place, first.target) && !ids.contains(&lost.id) {
            ids.push(lost.id.clone());
        }
    }
    Err((first.holder.into(), first.field.into(), first.target.into(), ids))
}

fn rows<T: Clone, O: Clone>(documents: &[T], expected: &[Expected<O>]) -> Result<Vec<(T, O)>, Missing> {
    Ok(documents.iter().cloned().zip(of_all(expected)?).collect())
}

fn given<X>(result: odm::Result<X>) -> Result<X, Missing> {
    result.map_err(|error| match error {
        Error::MissingReference {
            collection,
            field,
            target,
            ids,
            ..
        } => (collection.into(), field, target.into(), ids),
        other => panic!("{other}"),
    })
}

/// What `lookup` does with a join.
#[derive(Clone, Copy, PartialEq)]
enum Lookup {
    Same,
    Refused,
    /// It is more than this server can do.
    NotCompared,
}

/// Whether the server's `$lookup` finds documents by a field of the items of an array. MongoDB's does, SecantusDB's does
/// not.
async fn lookup_reads_items(db: &Database) -> bool {
    let probe = db.collection::<Raw>("probe");
    probe
        .insert_one(doc! { "_id": 1, "items": [{ "id": 1 }] })
        .await
        .unwrap();
    let by_item = doc! { "$lookup": { "from": "probe", "localField": "_id", "foreignField": "items.id", "as": "found" } };
    let found: Vec<Raw> = probe
        .aggregate([by_item])
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    !found[0].get_array("found").unwrap().is_empty()
}

/// Asks for one join in every way, of which each has to give the same.
async fn every_way<T, J, O>(
    odm: &Odm,
    what: &str,
    documents: &[T],
    expected: Vec<Expected<O>>,
    lookup: Lookup,
    join: impl Fn(T::Paths) -> J + Copy,
) where
    T: Asked,
    O: Clone + PartialEq + Debug,
    J: Join<T, Out = O>,
    J: Join<T, Row<T> = (T, O)>,
    J: Join<T, Row<T::Narrow> = (T::Narrow, O)>,
{
    let expected = &expected;
    assert_eq!(expected.len(), documents.len());
    // On the heap, since in a debug build all of it together is more than a test's stack.
    Box::pin(async move {
        let collection = odm.collection::<T>();
        let query = || collection.find_all().sort(T::in_order).include(join);
        let whole = rows(documents, expected);
        assert_eq!(given(query().all().await), whole, "{what}");
        let first = rows(
            &documents[..documents.len().min(1)],
            &expected[..documents.len().min(1)],
        );
        let first = first.map(|mut first| first.pop());
        assert_eq!(given(query().one().await), first, "{what}, one");

        let mut stream = query().batch_size(2).stream().await.unwrap();
        let mut lossy = query().batch_size(2).lossy().stream().await.unwrap();
        for (documents, expected) in documents.chunks(2).zip(expected.chunks(2)) {
            match rows(documents, expected) {
                Ok(rows) => {
                    for row in rows {
                        let lossy = lossy.try_next().await.unwrap().map(Result::unwrap);
                        assert_eq!(lossy.as_ref(), Some(&row), "{what}, lossy stream");
                        assert_eq!(stream.try_next().await.unwrap(), Some(row), "{what}, stream");
                    }
                }
                Err(missing) => {
                    let lossy = lossy.try_next().await.map(|_| ());
                    assert_eq!(given(lossy), Err(missing.clone()), "{what}, lossy stream");
                    assert_eq!(given(stream.try_next().await), Err(missing), "{what}, stream");
                }
            }
        }
        assert_eq!(stream.try_next().await.unwrap(), None, "{what}, stream");
        assert!(lossy.try_next().await.unwrap().is_none(), "{what}, lossy stream");
        let mut after = None;
        for (documents, expected) in documents.chunks(2).zip(expected.chunks(2)) {
            let page = query().page(2);
            let page = match after {
                Some(token) => page.after(token),
                None => page,
            };
            match (given(page.await), rows(documents, expected)) {
                (Ok(page), Ok(rows)) => {
                    assert_eq!(page.items, rows, "{what}, page");
                    after = page.next;
                }
                (page, rows) => {
                    assert_eq!(page.map(|page| page.items), rows, "{what}, page");
                    break; // a page that was not given has no token for the next one
                }
            }
        }

        let narrow = given(query().select::<T::Narrow>().all().await).map(|rows| {
            rows.into_iter()
                .zip(documents)
                .map(|((narrow, joined), document)| {
                    assert_eq!(T::text_of(&narrow), document.text());
                    joined
                })
                .collect()
        });
        assert_eq!(narrow, of_all(expected), "{what}, select");

        for (document, expected) in documents.iter().zip(expected) {
            let expected = of_all(std::slice::from_ref(expected)).map(|mut joined| joined.pop());
            let loaded = collection.load(document, join).await;
            assert_eq!(given(loaded.map(Some)), expected, "{what}, load");
        }

        let by_lookup = query().lookup().all().await;
        let with_pipeline = odm.server().await.unwrap().has_lookup_with_pipeline();
        match lookup {
            // More than one stage without a pipeline can do.
            Lookup::Same if !with_pipeline && matches!(by_lookup, Err(Error::Unsupported { .. })) => {}
            Lookup::Same => {
                assert_eq!(given(by_lookup), whole, "{what}, lookup");
                let by_lookup = query().lookup().one().await;
                assert_eq!(given(by_lookup), first, "{what}, lookup of one");
            }
            Lookup::Refused => {
                assert!(matches!(by_lookup, Err(Error::Query { .. })), "{what}, lookup");
            }
            Lookup::NotCompared => {}
        }

        if odm.server().await.unwrap().has_transactions() {
            let seen = odm.transaction(|tx| async move {
                let collection = tx.collection::<T>();
                let query = || collection.find_all().sort(T::in_order).include(join);
                let all = query().all().await;
                let streamed: odm::Result<Vec<_>> = query().stream().await?.try_collect().await;
                let loaded = match documents.first() {
                    Some(document) => collection.load(document, join).await.map(Some),
                    None => Ok(None),
                };
                Ok((all, streamed, loaded))
            });
            let (all, streamed, loaded) = seen.await.unwrap();
            assert_eq!(given(all), whole, "{what}, in a transaction");
            assert_eq!(given(streamed), whole, "{what}, stream in a transaction");
            let loaded = given(loaded);
            assert_eq!(
                loaded,
                first.map(|first| first.map(|(_, joined)| joined)),
                "{what}"
            );
        }
    })
    .await;
}

/// A target as one query of its own gives it.
#[derive(Clone, Debug)]
struct Found<X> {
    target: &'static str,
    id: Bson,
    document: Option<X>,
}

/// One query for each reference.
struct Naive<'d>(&'d Database);

impl Naive<'_> {
    async fn one<T: odm::Document>(&self, by: &str, value: impl Into<Bson>) -> Found<T> {
        let value = value.into();
        let collection = self.0.collection::<AsStored<T>>(T::META.collection);
        let document = collection.find_one(doc! { by: &value }).await.unwrap();
        let document = document.map(|AsStored(document)| document);
        Found {
            target: T::META.collection,
            id: value,
            document,
        }
    }

    async fn parts(&self, refs: impl IntoIterator<Item = &Ref<Part>>) -> Vec<Found<Part>> {
        let mut found = Vec::new();
        for part in refs {
            found.push(self.one("_id", *part.key()).await);
        }
        found
    }

    async fn makers(&self, refs: impl IntoIterator<Item = &Ref<Maker>>) -> Vec<Found<Maker>> {
        let mut found = Vec::new();
        for maker in refs {
            found.push(self.one("_id", *maker.key()).await);
        }
        found
    }

    async fn makers_by_code(&self, refs: &[Ref<Maker, String>]) -> Vec<Found<Maker>> {
        let mut found = Vec::new();
        for code in refs {
            found.push(self.one("code", code.key().clone()).await);
        }
        found
    }

    async fn abouts(&self, refs: impl IntoIterator<Item = &AboutRef>) -> Vec<Found<About>> {
        let mut found = Vec::new();
        for about in refs {
            found.push(match about {
                AboutRef::Part(part) => self.one("_id", *part.key()).await.map(About::Part),
                AboutRef::Maker(maker) => self.one("_id", *maker.key()).await.map(About::Maker),
            });
        }
        found
    }

    /// The matching documents, sorted, at most a number of them.
    async fn children<C: odm::Document>(&self, filter: Raw, sort: Raw, limit: Option<u32>) -> Vec<C> {
        if limit == Some(0) {
            return Vec::new(); // MongoDB takes it as no limit
        }
        let collection = self.0.collection::<AsStored<C>>(C::META.collection);
        let mut find = collection.find(filter).sort(sort);
        if let Some(limit) = limit {
            find = find.limit(limit.into());
        }
        let found: Vec<AsStored<C>> = find.await.unwrap().try_collect().await.unwrap();
        found.into_iter().map(|AsStored(child)| child).collect()
    }
}

impl<X> Found<X> {
    fn map<Y>(self, f: impl FnOnce(X) -> Y) -> Found<Y> {
        Found {
            target: self.target,
            id: self.id,
            document: self.document.map(f),
        }
    }
}

/// With the error for what is missing.
fn strict<X: Clone>(
    place: u8,
    holder: &'static str,
    field: &'static str,
    found: &[Found<X>],
) -> Expected<Vec<X>> {
    let lost: Vec<Lost> = found
        .iter()
        .filter(|found| found.document.is_none())
        .map(|found| Lost {
            place,
            holder,
            field,
            target: found.target,
            id: found.id.clone(),
        })
        .collect();
    if lost.is_empty() {
        Ok(present(found))
    } else {
        Err(lost)
    }
}

/// `None` for what is missing.
fn or_none<X: Clone>(found: &[Found<X>]) -> Vec<Option<X>> {
    found.iter().map(|found| found.document.clone()).collect()
}

/// Without what is missing.
fn present<X: Clone>(found: &[Found<X>]) -> Vec<X> {
    found.iter().filter_map(|found| found.document.clone()).collect()
}

/// Both parts, or what is missing in either.
fn both<A, B>(a: Expected<A>, b: Expected<B>) -> Expected<(A, B)> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (a, b) => Err(a.err().into_iter().chain(b.err()).flatten().collect()),
    }
}

/// The only one.
fn single<X>(mut all: Vec<X>) -> X {
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// One random set of data.
struct Data {
    makers: Vec<Maker>,
    parts: Vec<Part>,
    products: Vec<Product>,
    labels: Vec<Label>,
    stock: Vec<Stock>,
    samples: Vec<Sample>,
    remarks: Vec<Remark>,
}

/// Ids from 1 up to these are referred to.
const PARTS: i32 = 8;
const MAKERS: i32 = 5;

struct Dice {
    random: Random,
    /// The ids that references are made of.
    parts: Vec<i32>,
    makers: Vec<i32>,
}

impl Dice {
    fn some_of(&mut self, n: i32, percent: i32) -> Vec<i32> {
        (1..=n).filter(|_| self.random.below(100) < percent).collect()
    }

    fn part_id(&mut self) -> i32 {
        self.parts[self.random.below(self.parts.len() as i32) as usize]
    }

    fn maker_id(&mut self) -> i32 {
        self.makers[self.random.below(self.makers.len() as i32) as usize]
    }

    fn part(&mut self) -> Ref<Part> {
        Ref::new(self.part_id())
    }

    fn maker(&mut self) -> Ref<Maker> {
        Ref::new(self.maker_id())
    }

    fn about(&mut self) -> AboutRef {
        match self.random.below(2) {
            0 => self.part().into(),
            _ => self.maker().into(),
        }
    }

    fn maybe<X>(&mut self, x: impl FnOnce(&mut Dice) -> X) -> Option<X> {
        (self.random.below(3) > 0).then(|| x(self))
    }

    fn up_to<X>(&mut self, n: i32, mut x: impl FnMut(&mut Dice) -> X) -> Vec<X> {
        (0..self.random.below(n + 1)).map(|_| x(self)).collect()
    }
}

impl Data {
    /// `whole`: nothing that is referred to is missing.
    fn random(seed: u64, whole: bool) -> Data {
        let mut dice = Dice {
            random: Random(seed),
            parts: Vec::new(),
            makers: Vec::new(),
        };
        let (maker_ids, part_ids) = (dice.some_of(MAKERS, 70), dice.some_of(PARTS, 70));
        let is_impossible = whole && (maker_ids.is_empty() || part_ids.is_empty());
        assert!(!is_impossible, "seed {seed} has nothing to refer to");
        (dice.makers, dice.parts) = if whole {
            (maker_ids.clone(), part_ids.clone())
        } else {
            ((1..=MAKERS).collect(), (1..=PARTS).collect())
        };
        let d = &mut dice;
        let makers = maker_ids.iter().map(|id| Maker {
            id: *id,
            code: format!("m{id}"),
            owner: d.maybe(Dice::maker),
        });
        let makers = makers.collect();
        let parts = part_ids.iter().map(|id| Part {
            id: *id,
            number: format!("p{id}"),
            maker: d.maybe(Dice::maker),
            of: d.maybe(Dice::part),
        });
        let parts = parts.collect();
        let products = (0..d.random.below(6)).map(|id| Product {
            id,
            name: format!("product {id}"),
            parts: d.up_to(5, Dice::part),
            main: d.part(),
            second: d.maybe(Dice::part),
            spare: d.maybe(|d| Ref::new(format!("p{}", d.part_id()))),
            makers: d.up_to(3, |d| Ref::new(format!("m{}", d.maker_id()))),
            about: d.about(),
            also: d.maybe(Dice::about),
            more: d.up_to(4, Dice::about),
            kept: d.up_to(3, |d| {
                let id = d.part();
                let number = format!("p{id}");
                KeptPart { id, number }
            }),
            note: Note {
                by: d.maybe(Dice::maker),
            },
            lines: d.up_to(3, |d| Line {
                part: d.part(),
                also: d.up_to(3, Dice::part),
                about: d.maybe(Dice::about),
                detail: d.maybe(|d| Detail { maker: d.maker() }),
            }),
        });
        let products: Vec<Product> = products.collect();
        let labels = d.some_of(PARTS, 50);
        let labels = labels.into_iter().map(|part| Label {
            id: 100 - part,
            part: Ref::new(part),
            maker: d.maybe(Dice::maker),
        });
        let labels = labels.collect();
        // No two of the same time, so that there is one order.
        let at = |id: i32| id * 7 % 17;
        let stock = (0..d.random.below(17)).map(|id| Stock {
            id,
            part: d.part(),
            at: at(id),
            from: d.maybe(Dice::maker),
        });
        let stock = stock.collect();
        let samples = (0..d.random.below(9)).map(|id| Sample {
            id,
            part: Ref::new(format!("p{}", d.part_id())),
            at: at(id),
        });
        let samples = samples.collect();
        let remarks = (0..d.random.below(17)).map(|id| Remark {
            id,
            on: match d.random.below(2) {
                0 => d.part().into(),
                _ => Ref::<Product>::new(d.random.below(6)).into(),
            },
            at: at(id),
        });
        let remarks = remarks.collect();
        Data {
            makers,
            parts,
            products,
            labels,
            stock,
            samples,
            remarks,
        }
    }

    async fn store(&self, db: &Database) {
        store(db, &self.makers).await;
        store(db, &self.parts).await;
        store(db, &self.products).await;
        store(db, &self.labels).await;
        store(db, &self.stock).await;
        store(db, &self.samples).await;
        store(db, &self.remarks).await;
    }
}

async fn store<T: odm::Document>(db: &Database, documents: &[T]) {
    let collection = db.collection::<odm::bson::Document>(T::META.collection);
    collection.delete_many(doc! {}).await.unwrap();
    if !documents.is_empty() {
        let stored = documents.iter().map(|one| odm::to_document(one).unwrap());
        collection.insert_many(stored).await.unwrap();
    }
}

fn clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_micros() as u64
}

#[odm_tests::test]
fn every_loader_agrees_with_one_query_for_each_reference() {
    with_db(async |t| {
        let models = models![Maker, Part, Product, Label, Stock, Sample, Remark];
        let odm = Odm::new(t.db.clone(), models).unwrap();
        odm.sync().await.unwrap();
        let naive = Naive(&t.db);
        let in_items = lookup_reads_items(&t.db).await;
        // And one that is another each time, or the one that failed once.
        let seed = std::env::var("ODM_RANDOM_SEED").ok();
        let seed = seed
            .and_then(|seed| seed.parse().ok())
            .unwrap_or_else(|| Random(std::process::id().into()).next() ^ clock());
        for (seed, whole) in [(1, false), (2, true), (3, false), (seed, false)] {
            println!("ODM_RANDOM_SEED={seed}");
            let data = Data::random(seed, whole);
            data.store(&t.db).await;
            single_references(&odm, &naive, &data.products).await;
            arrays(&odm, &naive, &data.products).await;
            unions(&odm, &naive, &data.products).await;
            embedded(&odm, &naive, &data.products).await;
            nested(&odm, &naive, &data.products).await;
            of_parts(&odm, &naive, &data.parts).await;
            children(&odm, &naive, &data).await;
            children_by_any_field(&odm, &data, in_items).await;
            loads(&odm, &naive, &data.products).await;
            of_one_parent(&odm, &naive, &data).await;
        }
    });
}

async fn single_references(odm: &Odm, naive: &Naive<'_>, products: &[Product]) {
    let (mut refused, mut chosen) = (vec![], vec![]);
    for p in products {
        let main = naive.parts([&p.main]).await;
        let second = naive.parts(&p.second).await;
        let mut spare = Vec::new();
        if let Some(number) = &p.spare {
            spare.push(naive.one::<Part>("number", number.key().clone()).await);
        }
        let makers = naive.makers_by_code(&p.makers).await;
        let by_id = both(
            strict(0, "products", "main", &main).map(single),
            strict(1, "products", "second", &second).map(|mut second| second.pop()),
        );
        let by_other = both(
            strict(2, "products", "spare", &spare).map(|mut spare| spare.pop()),
            strict(3, "products", "makers", &makers),
        );
        refused.push(both(by_id, by_other).map(|((a, b), (c, d))| (a, b, c, d)));
        chosen.push(Ok((
            single(or_none(&main)),
            present(&main).pop(),
            or_none(&second).pop(),
            present(&second).pop(),
            or_none(&spare).pop(),
            or_none(&makers),
        )));
    }
    every_way(odm, "one", products, refused, Lookup::Same, |p: ProductFields| {
        (p.main, p.second, p.spare, p.makers)
    })
    .await;
    every_way(
        odm,
        "one, chosen",
        products,
        chosen,
        Lookup::Same,
        |p: ProductFields| {
            (
                p.main.or_none(),
                p.main.leave_out_missing(),
                p.second.or_none(),
                p.second.leave_out_missing(),
                p.spare.or_none(),
                p.makers.or_none(),
            )
        },
    )
    .await;
}

async fn arrays(odm: &Odm, naive: &Naive<'_>, products: &[Product]) {
    let (mut refused, mut chosen) = (vec![], vec![]);
    for p in products {
        let parts = naive.parts(&p.parts).await;
        let kept = naive.parts(p.kept.iter().map(|kept| &kept.id)).await;
        let makers = naive.makers_by_code(&p.makers).await;
        refused.push(both(
            strict(0, "products", "parts", &parts),
            strict(1, "products", "kept", &kept),
        ));
        chosen.push(Ok((
            or_none(&parts),
            present(&parts),
            or_none(&kept),
            present(&kept),
            present(&makers),
        )));
    }
    every_way(
        odm,
        "arrays",
        products,
        refused,
        Lookup::Same,
        |p: ProductFields| (p.parts, p.kept),
    )
    .await;
    every_way(
        odm,
        "arrays, chosen",
        products,
        chosen,
        Lookup::Same,
        |p: ProductFields| {
            (
                p.parts.or_none(),
                p.parts.leave_out_missing(),
                p.kept.or_none(),
                p.kept.leave_out_missing(),
                p.makers.leave_out_missing(),
            )
        },
    )
    .await;
}

async fn unions(odm: &Odm, naive: &Naive<'_>, products: &[Product]) {
    let (mut refused, mut chosen) = (vec![], vec![]);
    for p in products {
        let about = naive.abouts([&p.about]).await;
        let also = naive.abouts(&p.also).await;
        let more = naive.abouts(&p.more).await;
        let one = both(
            strict(0, "products", "about", &about).map(single),
            strict(1, "products", "also", &also).map(|mut also| also.pop()),
        );
        let all = both(one, strict(2, "products", "more", &more));
        refused.push(all.map(|((about, also), more)| (about, also, more)));
        chosen.push(Ok((
            single(or_none(&about)),
            or_none(&also).pop(),
            present(&also).pop(),
            or_none(&more),
            present(&more),
        )));
    }
    every_way(
        odm,
        "unions",
        products,
        refused,
        Lookup::Refused,
        |p: ProductFields| (p.about, p.also, p.more),
    )
    .await;
    every_way(
        odm,
        "unions, chosen",
        products,
        chosen,
        Lookup::Refused,
        |p: ProductFields| {
            (
                p.about.or_none(),
                p.also.or_none(),
                p.also.leave_out_missing(),
                p.more.or_none(),
                p.more.leave_out_missing(),
            )
        },
    )
    .await;
}

async fn embedded(odm: &Odm, naive: &Naive<'_>, products: &[Product]) {
    let (mut refused, mut chosen, mut of_union) = (vec![], vec![], vec![]);
    for p in products {
        let by = naive.makers(&p.note.by).await;
        let part = naive.parts(p.lines.iter().map(|line| &line.part)).await;
        let (mut also, mut details, mut abouts) = (vec![], vec![], vec![]);
        for line in &p.lines {
            also.push(naive.parts(&line.also).await);
            details.push(naive.makers(line.detail.iter().map(|detail| &detail.maker)).await);
            abouts.push(naive.abouts(&line.about).await);
        }
        let strict_also: Vec<_> = also
            .iter()
            .map(|also| strict(1, "products", "lines.also", also))
            .collect();
        let lost: Vec<Lost> = strict_also
            .iter()
            .filter_map(|e| e.as_ref().err())
            .flatten()
            .cloned()
            .collect();
        let strict_also = if lost.is_empty() {
            Ok(strict_also.into_iter().flatten().collect::<Vec<_>>())
        } else {
            Err(lost)
        };
        refused.push(both(strict(0, "products", "lines.part", &part), strict_also));
        chosen.push(Ok((
            or_none(&by).pop(),
            or_none(&part),
            also.iter().map(|also| or_none(also)).collect::<Vec<_>>(),
            also.iter().map(|also| present(also)).collect::<Vec<_>>(),
            details
                .iter()
                .map(|maker| or_none(maker).pop())
                .collect::<Vec<_>>(),
        )));
        of_union.push(Ok((
            abouts
                .iter()
                .map(|about| or_none(about).pop())
                .collect::<Vec<_>>(),
            abouts
                .iter()
                .map(|about| present(about).pop())
                .collect::<Vec<_>>(),
        )));
    }
    every_way(
        odm,
        "embedded",
        products,
        refused,
        Lookup::Same,
        |p: ProductFields| (p.lines.part, p.lines.also),
    )
    .await;
    every_way(
        odm,
        "embedded, chosen",
        products,
        chosen,
        Lookup::Same,
        |p: ProductFields| {
            (
                p.note.by.or_none(),
                p.lines.part.or_none(),
                p.lines.also.or_none(),
                p.lines.also.leave_out_missing(),
                p.lines.detail.maker.or_none(),
            )
        },
    )
    .await;
    every_way(
        odm,
        "embedded union",
        products,
        of_union,
        Lookup::Refused,
        |p: ProductFields| (p.lines.about.or_none(), p.lines.about.leave_out_missing()),
    )
    .await;
}

async fn nested(odm: &Odm, naive: &Naive<'_>, products: &[Product]) {
    let (mut refused, mut chosen, mut inverse) = (vec![], vec![], vec![]);
    for p in products {
        let parts = naive.parts(&p.parts).await;
        let (mut lost, mut strictly, mut with_maker, mut with_stock) = (vec![], vec![], vec![], vec![]);
        for found in &parts {
            let Some(part) = &found.document else {
                with_maker.push(None);
                continue;
            };
            let maker = naive.makers(&part.maker).await;
            match strict(1, "parts", "maker", &maker) {
                Ok(mut maker) => strictly.push((part.clone(), maker.pop())),
                Err(missing) => lost.extend(missing),
            }
            let mut with_owner = None;
            for maker in present(&maker) {
                let owner = naive.makers(&maker.owner).await;
                with_owner = Some((maker, or_none(&owner).pop()));
            }
            let with_owner = part.maker.map(|_| with_owner);
            let of = naive.parts(&part.of).await;
            with_maker.push(Some((part.clone(), (with_owner, present(&of).pop()))));
            let stock = stock_of(naive, part, Some(2)).await;
            with_stock.push((part.clone(), stock));
        }
        refused.push(match strict(0, "products", "parts", &parts) {
            Err(missing) => Err(missing),
            Ok(_) if lost.is_empty() => Ok(strictly),
            Ok(_) => Err(lost),
        });
        chosen.push(Ok(with_maker));
        inverse.push(Ok(with_stock));
    }
    every_way(
        odm,
        "two hops",
        products,
        refused,
        Lookup::Same,
        |p: ProductFields| p.parts.include(|q| q.maker),
    )
    .await;
    every_way(
        odm,
        "three hops",
        products,
        chosen,
        Lookup::Same,
        |p: ProductFields| {
            p.parts
                .include(|q| {
                    (
                        q.maker.include(|m| m.owner.or_none()).or_none(),
                        q.of.leave_out_missing(),
                    )
                })
                .or_none()
        },
    )
    .await;
    every_way(
        odm,
        "children of targets",
        products,
        inverse,
        Lookup::Same,
        |p: ProductFields| {
            p.parts
                .include(|q| q.children::<Stock>().limit(2))
                .leave_out_missing()
        },
    )
    .await;
}

async fn of_parts(odm: &Odm, naive: &Naive<'_>, parts: &[Part]) {
    let (mut tree, mut above) = (vec![], vec![]);
    for part in parts {
        let of = naive.parts(&part.of).await;
        let maker = naive.makers(&part.maker).await;
        tree.push(both(
            strict(0, "parts", "of", &of).map(|mut of| of.pop()),
            strict(1, "parts", "maker", &maker).map(|mut maker| maker.pop()),
        ));
        let mut with_above = None;
        for of in present(&of) {
            let above = naive.parts(&of.of).await;
            with_above = Some((of, or_none(&above).pop()));
        }
        above.push(Ok(part.of.map(|_| with_above)));
    }
    every_way(odm, "tree", parts, tree, Lookup::Same, |p: PartFields| {
        (p.of, p.maker)
    })
    .await;
    every_way(odm, "up a tree", parts, above, Lookup::Same, |p: PartFields| {
        p.of.include(|p| p.of.or_none()).or_none()
    })
    .await;
}

async fn stock_of(naive: &Naive<'_>, part: &Part, limit: Option<u32>) -> Vec<Stock> {
    let filter = doc! { "part": part.id };
    naive.children(filter, doc! { "at": -1 }, limit).await
}

async fn remarks_on(naive: &Naive<'_>, of: &str, id: i32, limit: Option<u32>) -> Vec<Remark> {
    let filter = doc! { "on.type": of, "on.id": id };
    naive.children(filter, doc! { "at": -1 }, limit).await
}

async fn children(odm: &Odm, naive: &Naive<'_>, data: &Data) {
    let parts = &data.parts;
    for limit in [None, Some(0), Some(1), Some(2), Some(50)] {
        let limited = |p: PartFields| match limit {
            None => p.children::<Stock>(),
            Some(limit) => p.children::<Stock>().limit(limit),
        };
        let (mut all, mut with_maker) = (vec![], vec![]);
        for part in parts {
            let stock = stock_of(naive, part, limit).await;
            let mut joined = Vec::new();
            for stock in &stock {
                let from = naive.makers(&stock.from).await;
                joined.push((stock.clone(), or_none(&from).pop()));
            }
            all.push(Ok(stock));
            with_maker.push(Ok(joined));
        }
        let what = format!("children, limit {limit:?}");
        every_way(odm, &what, parts, all, Lookup::Same, |p: PartFields| {
            limited(p).by_queries()
        })
        .await;
        every_way(odm, &what, parts, with_maker, Lookup::Same, |p: PartFields| {
            limited(p).include(|s| s.from.or_none())
        })
        .await;
    }
    let (mut strictly, mut chosen, mut below) = (vec![], vec![], vec![]);
    for part in parts {
        let mut joined = Ok(Vec::new());
        for stock in stock_of(naive, part, None).await {
            let from = naive.makers(&stock.from).await;
            let from = strict(1, "stock", "from", &from).map(|mut from| vec![(stock, from.pop())]);
            joined = both(joined, from).map(|(mut all, one)| {
                all.extend(one);
                all
            });
        }
        strictly.push(joined);
        let old = doc! { "part": part.id, "at": { "$lt": 9 } };
        let of_number = doc! { "part": &part.number };
        chosen.push(Ok((
            naive.children::<Stock>(old, doc! { "at": 1 }, Some(2)).await,
            naive
                .children::<Sample>(of_number.clone(), doc! { "at": 1 }, None)
                .await,
            naive
                .children::<Sample>(of_number, doc! { "at": 1 }, Some(1))
                .await,
            remarks_on(naive, "Part", part.id, None).await,
            remarks_on(naive, "Part", part.id, Some(2)).await,
        )));
        let label = naive
            .children::<Label>(doc! { "part": part.id }, doc! {}, None)
            .await;
        assert!(label.len() < 2);
        let mut with_maker = None;
        for label in &label {
            let maker = naive.makers(&label.maker).await;
            with_maker = Some((label.clone(), or_none(&maker).pop()));
        }
        let down = |id: i32| naive.children::<Part>(doc! { "of": id }, doc! { "number": -1 }, None);
        let mut two_down = Vec::new();
        for child in down(part.id).await {
            let first = down(child.id).await.into_iter().take(1).collect::<Vec<_>>();
            two_down.push((child, first));
        }
        below.push(Ok((label.into_iter().next(), with_maker, two_down)));
    }
    every_way(
        odm,
        "children, strict",
        parts,
        strictly,
        Lookup::Same,
        |p: PartFields| p.children::<Stock>().include(|s| s.from),
    )
    .await;
    every_way(
        odm,
        "children, chosen",
        parts,
        chosen,
        Lookup::Same,
        |p: PartFields| {
            (
                p.children::<Stock>()
                    .filter(|s| s.at.lt(9))
                    .sort(|s| s.at.asc())
                    .limit(2),
                p.children::<Sample>(),
                p.children::<Sample>().limit(1),
                p.children::<Remark>(),
                p.children::<Remark>().limit(2),
            )
        },
    )
    .await;
    let what = "the only child, and down a tree";
    every_way(odm, what, parts, below, Lookup::Same, |p: PartFields| {
        (
            p.child::<Label>(),
            p.child::<Label>().include(|l| l.maker.or_none()),
            p.children::<Part>().include(|p| {
                p.children_by(|c: PartFields| c.of)
                    .sort(|c| c.number.desc())
                    .limit(1)
            }),
        )
    })
    .await;
    let mut of_products = vec![];
    for product in &data.products {
        of_products.push(Ok((
            remarks_on(naive, "Product", product.id, None).await,
            remarks_on(naive, "Product", product.id, Some(1)).await,
        )));
    }
    let what = "children of a union's other document";
    every_way(
        odm,
        what,
        &data.products,
        of_products,
        Lookup::Same,
        |p: ProductFields| (p.children::<Remark>(), p.children::<Remark>().limit(1)),
    )
    .await;
}

async fn children_by_any_field(odm: &Odm, data: &Data, in_items: bool) {
    // What refers to a part is known without a question, too.
    let by = |refers: &dyn Fn(&Product, &Part) -> bool, limit: usize| {
        let of = |part: &Part| -> Vec<Product> {
            let all = data.products.iter().filter(|product| refers(product, part));
            all.take(limit).cloned().collect()
        };
        data.parts.iter().map(of).collect::<Vec<_>>()
    };
    let is = |about: &AboutRef, part: &Part| *about == part.to_ref().into();
    let all = usize::MAX;
    let parts = &data.parts;
    let direct: Vec<_> = by(&|p, q| p.parts.contains(&q.to_ref()), all);
    let first: Vec<_> = by(&|p, q| p.parts.contains(&q.to_ref()), 1);
    let main: Vec<_> = by(&|p, q| p.main == q.to_ref(), all);
    let spare: Vec<_> = by(
        &|p, q| p.spare.as_ref().is_some_and(|s| *s.key() == q.number),
        all,
    );
    let kept: Vec<_> = by(&|p, q| p.kept.iter().any(|kept| kept.id == q.to_ref()), all);
    let first_kept: Vec<_> = by(&|p, q| p.kept.iter().any(|kept| kept.id == q.to_ref()), 1);
    let also: Vec<_> = by(&|p, q| p.also.as_ref().is_some_and(|also| is(also, q)), all);
    let first_also: Vec<_> = by(&|p, q| p.also.as_ref().is_some_and(|also| is(also, q)), 1);
    let expected = (0..parts.len()).map(|at| {
        Ok((
            direct[at].clone(),
            first[at].clone(),
            main[at].clone(),
            spare[at].clone(),
            also[at].clone(),
            first_also[at].clone(),
        ))
    });
    let (what, expected) = ("children by any field", expected.collect());
    every_way(odm, what, parts, expected, Lookup::Same, |p: PartFields| {
        (
            p.children_by(|r: ProductFields| r.parts).sort(|r| r.id.asc()),
            p.children_by(|r: ProductFields| r.parts)
                .sort(|r| r.id.asc())
                .limit(1),
            p.children_by(|r: ProductFields| r.main).sort(|r| r.id.asc()),
            p.children_by(|r: ProductFields| r.spare).sort(|r| r.id.asc()),
            p.children_by(|r: ProductFields| r.also).sort(|r| r.id.asc()),
            p.children_by(|r: ProductFields| r.also)
                .sort(|r| r.id.asc())
                .limit(1),
        )
    })
    .await;
    let line: Vec<_> = by(&|p, q| p.lines.iter().any(|l| l.part == q.to_ref()), all);
    let lines: Vec<_> = by(&|p, q| p.lines.iter().any(|l| l.also.contains(&q.to_ref())), all);
    let expected = (0..parts.len()).map(|at| {
        Ok((
            kept[at].clone(),
            first_kept[at].clone(),
            line[at].clone(),
            lines[at].clone(),
        ))
    });
    let (what, expected) = ("children by a field of items", expected.collect());
    let lookup = if in_items {
        Lookup::Same
    } else {
        Lookup::NotCompared
    };
    every_way(odm, what, parts, expected, lookup, |p: PartFields| {
        let first = p.children_by(|r: ProductFields| r.kept).sort(|r| r.id.asc());
        let first = first.limit(1);
        (
            p.children_by(|r: ProductFields| r.kept).sort(|r| r.id.asc()),
            if in_items { first } else { first.by_queries() },
            p.children_by(|r: ProductFields| r.lines.part)
                .sort(|r| r.id.asc()),
            p.children_by(|r: ProductFields| r.lines.also)
                .sort(|r| r.id.asc()),
        )
    })
    .await;
    let more: Vec<_> = by(&|p, q| p.more.iter().any(|more| is(more, q)), all);
    let first_more: Vec<_> = by(&|p, q| p.more.iter().any(|more| is(more, q)), 1);
    let in_line = |p: &Product, q: &Part| p.lines.iter().any(|l| l.about.as_ref().is_some_and(|a| is(a, q)));
    let about: Vec<_> = by(&in_line, all);
    let first_about: Vec<_> = by(&in_line, 1);
    let expected = (0..parts.len()).map(|at| {
        Ok((
            more[at].clone(),
            first_more[at].clone(),
            about[at].clone(),
            first_about[at].clone(),
        ))
    });
    let what = "children by unions in arrays";
    every_way(
        odm,
        what,
        parts,
        expected.collect(),
        Lookup::Refused,
        |p: PartFields| {
            (
                p.children_by(|r: ProductFields| r.more).sort(|r| r.id.asc()),
                p.children_by(|r: ProductFields| r.more)
                    .sort(|r| r.id.asc())
                    .limit(1),
                p.children_by(|r: ProductFields| r.lines.about)
                    .sort(|r| r.id.asc()),
                p.children_by(|r: ProductFields| r.lines.about)
                    .sort(|r| r.id.asc())
                    .limit(1),
            )
        },
    )
    .await;
    // A child of several parents is joined several times, what is behind it each time once.
    let remarks = |product: &Product| {
        let on = |remark: &&Remark| remark.on == product.to_ref().into();
        let mut remarks: Vec<Remark> = data.remarks.iter().filter(on).cloned().collect();
        remarks.sort_by_key(|remark| -remark.at);
        remarks
    };
    let nested = direct.iter().map(|products| {
        let with_remarks = products.iter().map(|product| {
            let all = remarks(product);
            let first = all.iter().take(1).cloned().collect();
            (product.clone(), (all, first))
        });
        Ok(with_remarks.collect::<Vec<(Product, (Vec<Remark>, Vec<Remark>))>>())
    });
    let (what, expected) = ("children of children with several parents", nested.collect());
    every_way(odm, what, parts, expected, Lookup::Same, |p: PartFields| {
        p.children_by(|r: ProductFields| r.parts)
            .sort(|r| r.id.asc())
            .include(|r| (r.children::<Remark>(), r.children::<Remark>().limit(1)))
    })
    .await;
}

/// `x.field.load(…)`, of which the error names no field of a document.
async fn loads(odm: &Odm, naive: &Naive<'_>, products: &[Product]) {
    fn same<X: PartialEq + Debug + Clone>(loaded: odm::Result<X>, expected: Expected<X>) {
        let ids = |missing: Missing| (missing.2, missing.3);
        let expected = of_all(&[expected]).map(|mut all| all.remove(0));
        assert_eq!(given(loaded).map_err(ids), expected.map_err(ids));
    }
    for p in products {
        let parts = naive.parts(&p.parts).await;
        same(p.parts.load(odm).await, strict(0, "", "", &parts));
        assert_eq!(p.parts.load(odm).or_none().await.unwrap(), or_none(&parts));
        assert_eq!(
            p.parts.load(odm).leave_out_missing().await.unwrap(),
            present(&parts)
        );
        let with_maker = p.parts.load(odm).include(|q| q.maker.or_none()).or_none();
        let with_maker = with_maker.await.unwrap();
        assert_eq!(with_maker.len(), parts.len());
        for (loaded, found) in with_maker.iter().zip(&parts) {
            assert_eq!(loaded.as_ref().map(|(part, _)| part), found.document.as_ref());
            if let Some((part, maker)) = loaded {
                assert_eq!(*maker, or_none(&naive.makers(&part.maker).await).pop());
            }
        }
        let kept = naive.parts(p.kept.iter().map(|kept| &kept.id)).await;
        same(p.kept.load(odm).await, strict(0, "", "", &kept));
        let main = naive.parts([&p.main]).await;
        same(p.main.load(odm).await, strict(0, "", "", &main).map(single));
        assert_eq!(p.main.load(odm).or_none().await.unwrap(), single(or_none(&main)));
        let second = naive.parts(&p.second).await;
        same(
            p.second.load(odm).await,
            strict(0, "", "", &second).map(|mut second| second.pop()),
        );
        assert_eq!(
            p.second.load(odm).or_none().await.unwrap(),
            or_none(&second).pop()
        );
        assert_eq!(
            p.second.load(odm).leave_out_missing().await.unwrap(),
            present(&second).pop()
        );
        let about = naive.abouts([&p.about]).await;
        same(p.about.load(odm).await, strict(0, "", "", &about).map(single));
        let more = naive.abouts(&p.more).await;
        same(p.more.load(odm).await, strict(0, "", "", &more));
        assert_eq!(p.more.load(odm).or_none().await.unwrap(), or_none(&more));
        assert_eq!(
            p.more.load(odm).leave_out_missing().await.unwrap(),
            present(&more)
        );
        for line in &p.lines {
            let also = naive.parts(&line.also).await;
            same(line.also.load(odm).await, strict(0, "", "", &also));
            let about = naive.abouts(&line.about).await;
            assert_eq!(
                line.about.load(odm).or_none().await.unwrap(),
                or_none(&about).pop()
            );
        }
        if odm.server().await.unwrap().has_transactions() {
            let seen = odm.transaction(|tx| async move {
                let parts = p.parts.load(&tx).or_none().await?;
                let more = p.more.load(&tx).leave_out_missing().await?;
                Ok((parts, more))
            });
            assert_eq!(seen.await.unwrap(), (or_none(&parts), present(&more)));
        }
    }
}

/// `collection.children_of(&parent)`.
async fn of_one_parent(odm: &Odm, naive: &Naive<'_>, data: &Data) {
    let (stock, samples) = (odm.collection::<Stock>(), odm.collection::<Sample>());
    let (remarks, labels) = (odm.collection::<Remark>(), odm.collection::<Label>());
    for part in &data.parts {
        let expected = stock_of(naive, part, None).await;
        assert_eq!(stock.children_of(part).all().await.unwrap(), expected);
        assert_eq!(
            stock.children_of(part).count().await.unwrap(),
            expected.len() as u64
        );
        let newest = expected.iter().take(2).cloned().collect::<Vec<_>>();
        assert_eq!(stock.children_of(part).limit(2).all().await.unwrap(), newest);
        assert_eq!(stock.children_of(part).page(2).await.unwrap().items, newest);
        let joined = stock
            .children_of(part)
            .include(|s| s.from.or_none())
            .all()
            .await
            .unwrap();
        assert_eq!(joined.len(), expected.len());
        for ((stock, from), expected) in joined.iter().zip(&expected) {
            assert_eq!(stock, expected);
            assert_eq!(*from, or_none(&naive.makers(&stock.from).await).pop());
        }
        let of_number = doc! { "part": &part.number };
        let expected: Vec<Sample> = naive.children(of_number, doc! { "at": 1 }, None).await;
        assert_eq!(samples.children_of(part).all().await.unwrap(), expected);
        let expected = remarks_on(naive, "Part", part.id, None).await;
        assert_eq!(remarks.children_of(part).all().await.unwrap(), expected);
        let label: Vec<Label> = naive.children(doc! { "part": part.id }, doc! {}, None).await;
        assert_eq!(
            labels.children_of(part).one().await.unwrap(),
            label.into_iter().next()
        );
        let below: Vec<Part> = naive
            .children(doc! { "of": part.id }, doc! { "number": -1 }, None)
            .await;
        assert_eq!(
            odm.collection::<Part>().children_of(part).all().await.unwrap(),
            below
        );
    }
    for product in &data.products {
        let expected = remarks_on(naive, "Product", product.id, None).await;
        assert_eq!(remarks.children_of(product).all().await.unwrap(), expected);
    }
}

/// A projection does not read the references, so a document without one is found out by the join.
#[odm_tests::test]
fn a_document_without_its_reference_is_named_and_left_out() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Maker, Part, Product]).unwrap();
        let product = |id: i32| doc! { "_id": id, "name": format!("product {id}"), "main": 1, "parts": [1], "lines": [] };
        let mut products: Vec<Raw> = (0..5).map(product).collect();
        products[1].remove("main");
        products[3].insert("parts", vec![Bson::Int32(1), Bson::Null]);
        let parts = [doc! { "_id": 1, "number": "p1" }];
        t.db.collection::<Raw>("products")
            .insert_many(products)
            .await
            .unwrap();
        t.db.collection::<Raw>("parts").insert_many(parts).await.unwrap();
        let products = odm.collection::<Product>();
        let query = || products.find_all().sort(|p| p.id.asc()).select::<ProductName>();
        let bad = |error: &Error| match error {
            Error::Decode {
                id: Some(id), path, ..
            } => (id.as_i32().unwrap(), path.clone()),
            other => panic!("{other}"),
        };
        let main = |p: ProductFields| (p.parts, p.main);
        let found = query().include(main).lossy().all().await.unwrap();
        let names: Vec<_> = found
            .items
            .iter()
            .map(|(product, _)| product.name.as_str())
            .collect();
        assert_eq!(names, ["product 0", "product 2", "product 4"]);
        for (_, (parts, main)) in &found.items {
            assert_eq!(parts[..], *std::slice::from_ref(main));
        }
        let both = [(1, "main".to_owned()), (3, "parts".to_owned())];
        assert_eq!(found.bad.iter().map(bad).collect::<Vec<_>>(), both);
        assert!(
            found.bad[1].to_string().contains("an item of this array"),
            "{}",
            found.bad[1]
        );

        // In a stream it is an error in its place, and the others of its batch are given.
        let stream = query().include(main).stream().await.unwrap();
        let rows: Vec<_> = futures::StreamExt::collect(stream).await;
        let rows: Vec<_> = rows
            .iter()
            .map(|row| row.as_ref().map(|_| ()).map_err(bad))
            .collect();
        let [main_lacks, part_lacks] = both.clone();
        assert_eq!(rows, [Ok(()), Err(main_lacks), Ok(()), Err(part_lacks), Ok(())]);

        let first = &both[0];
        assert_eq!(bad(&query().include(main).all().await.unwrap_err()), *first);
        assert_eq!(bad(&query().include(main).page(9).await.unwrap_err()), *first);
        assert_eq!(
            bad(&query().include(main).lookup().all().await.unwrap_err()),
            *first
        );
        let second = query().filter(|p| p.id.eq(1)).include(main).one().await;
        assert_eq!(bad(&second.unwrap_err()), *first);
        // A document that can't be decoded is not a missing one.
        let chosen = |p: ProductFields| (p.main.leave_out_missing(), p.second);
        assert_eq!(query().include(chosen).all().await.unwrap().len(), 5);
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "purchases")]
struct Purchase {
    #[serde(rename = "_id")]
    id: i32,
    #[embed]
    detail: Option<Parcel>,
    #[embed(max = 5)]
    lines: Vec<Option<Parcel>>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Parcel {
    #[reference(check = false)]
    maker: Option<Ref<Maker>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[reference(many, max = 5, check = false)]
    makers: Vec<Ref<Maker>>,
    #[embed]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inner: Option<Detail>,
}

#[derive(Projection, Deserialize, Debug)]
#[projection(of = Purchase)]
struct PurchaseId {
    #[serde(rename = "_id")]
    id: i32,
}

impl Asked for Purchase {
    type Narrow = PurchaseId;
    fn in_order(p: PurchaseFields) -> Order<Purchase> {
        p.id.asc()
    }
    fn text(&self) -> &str {
        ""
    }
    fn text_of(order: &PurchaseId) -> &str {
        assert!(order.id > 0);
        ""
    }
}

/// An embedded document without a reference is not the same as none.
#[odm_tests::test]
fn a_join_keeps_the_shape_of_missing_structs() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Maker, Purchase]).unwrap();
        let maker = Maker {
            id: 1,
            code: "m1".to_owned(),
            owner: None,
        };
        store(&t.db, std::slice::from_ref(&maker)).await;
        let parcel = |whole: bool| Parcel {
            maker: whole.then(|| maker.to_ref()),
            makers: whole.then(|| maker.to_ref()).into_iter().collect(),
            inner: whole.then(|| Detail {
                maker: maker.to_ref(),
            }),
        };
        let orders = [
            (None, vec![]),
            (
                Some(parcel(false)),
                vec![Some(parcel(false)), None, Some(parcel(true))],
            ),
            (Some(parcel(true)), vec![None]),
        ];
        let orders: Vec<Purchase> = (1..)
            .zip(orders)
            .map(|(id, (detail, lines))| Purchase { id, detail, lines })
            .collect();
        store(&t.db, &orders).await;
        let one = |parcel: &Parcel| parcel.maker.is_some().then(|| maker.clone());
        let many = |parcel: &Parcel| one(parcel).into_iter().collect::<Vec<_>>();
        let expected = orders.iter().map(|order| {
            let detail = order.detail.as_ref();
            let lines = || order.lines.iter().map(Option::as_ref);
            Ok((
                detail.map(one),
                detail.map(many),
                detail.map(one),
                lines().map(|line| line.map(one)).collect::<Vec<_>>(),
                lines().map(|line| line.map(many)).collect::<Vec<_>>(),
                lines().map(|line| line.map(one)).collect::<Vec<_>>(),
            ))
        });
        let expected = expected.collect();
        every_way(
            &odm,
            "what may be missing",
            &orders,
            expected,
            Lookup::Same,
            |o: PurchaseFields| {
                (
                    o.detail.maker,
                    o.detail.makers,
                    o.detail.inner.maker,
                    o.lines.maker,
                    o.lines.makers,
                    o.lines.inner.maker,
                )
            },
        )
        .await;
    });
}
