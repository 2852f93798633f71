//! A parent after random updates of its children: whatever operator changed a child, what is derived from it agrees with it.

use odm::Error;
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm_tests::random::Random;
use odm_tests::{TestDb, assert_clean_after, with_db};

#[derive(Embed, Clone, Debug, PartialEq)]
struct Place {
    row: i32,
    column: Option<i64>,
    #[embed(max = 1000)]
    tags: Vec<String>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "shelves")]
struct Shelf {
    id: i32,
    #[subset(of = Item, limit = 4, order(-size), fields(name: String, size: i64, weight: Option<i32>, stock: i32, place: Place))]
    largest: Vec<LargestEntry>,
    #[subset(of = Item, limit = 8, order(id), keep = first, filter = |i| i.weight.gt(3), fields(place: Place))]
    heavy: Vec<HeavyEntry>,
    #[computed(count = Item)]
    items: i64,
    #[computed(sum = Item.size)]
    sizes: i64,
    #[computed(sum = Item.stock)]
    stocks: i64,
    #[computed(max = Item.weight)]
    heaviest: Option<i32>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "items")]
struct Item {
    id: i32,
    #[parent_ref(on_delete = cascade)]
    shelf: Ref<Shelf>,
    name: String,
    size: i64,
    weight: Option<i32>,
    // Older documents lack it.
    #[field(default = 5)]
    stock: i32,
    #[embed]
    place: Place,
}

const SHELVES: i32 = 3;
const ITEMS: i32 = 12;

async fn stored(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Shelf, Item]).unwrap();
    odm.sync().await.unwrap();
    let shelves = odm.collection::<Shelf>();
    shelves
        .insert_many((0..SHELVES).map(|id| NewShelf { id }))
        .await
        .unwrap();
    let item = |id: i32| NewItem {
        id,
        shelf: Ref::new(id % SHELVES),
        name: format!("item {id}"),
        size: i64::from(id),
        stock: 5,
        weight: (id % 2 == 0).then_some(id),
        place: Place {
            row: id,
            column: None,
            tags: Vec::new(),
        },
    };
    odm.collection::<Item>()
        .insert_many((0..ITEMS).map(item))
        .await
        .unwrap();
    let items = t.db.collection::<Doc>("items");
    items
        .update_many(doc! {}, doc! { "$unset": { "stock": "" } })
        .await
        .unwrap();
    odm
}

/// One to three changes of different fields, of which each is made by an operator that suits the field.
fn changed<C: Change<Item>>(mut update: C, random: &mut Random, log: &mut Vec<String>) -> C {
    let from = random.below(7_usize);
    for field in (0..1 + random.below(3_usize))
        .map(|n| (from + n) % 7)
        .filter(|field| *field != if from == 3 { 4 } else { 3 })
    {
        let n = random.below(9_i32) - 4;
        let operator = random.below(4_u32);
        log.push(format!("{field}/{operator} {n}"));
        update = match (field, operator) {
            (0, 0) => update.set(|i| i.name, format!("renamed {n}")),
            (0, _) => update.set(|i| i.name, format!("{n}")),
            (1, 0) => update.set(|i| i.size, i64::from(n)),
            (1, 1) => update.max(|i| i.size, i64::from(n)),
            (1, 2) => update.mul(|i| i.size, 2),
            (1, _) => update.inc(|i| i.size, i64::from(n)),
            (2, 0) => update.set(|i| i.weight, Some(n)),
            (2, 1) => update.unset(|i| i.weight),
            (2, _) => update.inc(|i| i.weight, n),
            (3, 0) => update.set(
                |i| i.place,
                Place {
                    row: n,
                    column: (n > 0).then_some(1),
                    tags: vec!["new".into()],
                },
            ),
            (3, 1) => update.set(|i| i.place.column, Some(i64::from(n))),
            (3, 2) => update.unset(|i| i.place.column),
            (3, _) => update
                .inc(|i| i.place.row, n)
                .min(|i| i.place.column, i64::from(n)),
            (4, 0) => update.set(|i| i.place.tags, vec![format!("only {n}")]),
            (4, 1) => update.pull(|i| i.place.tags, format!("tag {n}")),
            (4, 2) => update.pop(|i| i.place.tags),
            (4, _) => update
                .push(|i| i.place.tags, format!("tag {n}"))
                .push(|i| i.place.tags, "and"),
            (5, _) => update.inc(|i| i.stock, n),
            (_, _) => update.set(|i| i.shelf, Ref::new(random.below(SHELVES))),
        };
    }
    update
}

/// The shelf with the values that follow from these items.
fn expected(shelf: i32, items: &[Item]) -> Shelf {
    let on = || items.iter().filter(|item| item.shelf == Ref::new(shelf));
    let mut largest: Vec<&Item> = on().collect();
    largest.sort_by_key(|item| (-item.size, -item.id));
    let largest = largest.into_iter().take(4).map(|item| LargestEntry {
        id: Ref::new(item.id),
        name: item.name.clone(),
        size: item.size,
        weight: item.weight,
        stock: item.stock,
        place: item.place.clone(),
    });
    let heavy = on().filter(|item| item.weight.is_some_and(|weight| weight > 3));
    let heavy = heavy.take(8).map(|item| HeavyEntry {
        id: Ref::new(item.id),
        place: item.place.clone(),
    });
    Shelf {
        id: shelf,
        largest: largest.collect(),
        heavy: heavy.collect(),
        items: on().count() as i64,
        sizes: on().map(|item| item.size).sum(),
        stocks: on().map(|item| i64::from(item.stock)).sum(),
        heaviest: on().filter_map(|item| item.weight).max(),
    }
}

/// One update of one item by its id, of the first or of all that match, alone or in a transaction of the application.
async fn change(odm: &Odm, random: &mut Random, log: &mut Vec<String>) -> odm::Result<()> {
    let (id, shelf) = (random.below(ITEMS), random.below(SHELVES));
    let (way, is_within) = (random.below(4_u32), random.one_in(3));
    log.push(format!(
        "way {way}, item {id}, shelf {shelf}, in a transaction: {is_within}"
    ));
    let seed = random.next();
    let write = async |items: odm::Collection<Item>| {
        let (random, mut made) = (&mut Random::new(seed), Vec::new());
        match way {
            0 => {
                let which = |i: ItemFields| i.shelf.eq(Ref::new(shelf));
                changed(items.update_where(which), random, &mut made).await?;
            }
            1 => {
                let largest = items
                    .update_first(|i| i.shelf.eq(Ref::new(shelf)))
                    .sort(|i| i.size.desc());
                changed(largest, random, &mut made).await?;
            }
            2 => drop(changed(items.update(id), random, &mut made).returning().await?),
            _ => drop(changed(items.update(id), random, &mut made).await?),
        }
        Ok(made)
    };
    let made = if is_within {
        odm.transaction(async |tx| write(tx.collection::<Item>()).await)
            .await
    } else {
        write(odm.collection::<Item>()).await
    };
    log.extend(made?);
    Ok(())
}

#[odm_tests::test]
fn parents_follow_random_updates_of_their_children() {
    with_db(async |t| {
        let odm = stored(&t).await;
        let seed = std::env::var("ODM_RANDOM_SEED").map_or(51, |seed| seed.parse().unwrap());
        let random = &mut Random::new(seed);
        for number in 0..150 {
            let mut log = vec![format!("seed {seed}, update {number}")];
            match change(&odm, random, &mut log).await {
                Ok(()) | Err(Error::IsNull { .. }) => {}
                Err(error) => panic!("{log:?}: {error}"),
            }
            let items = odm
                .collection::<Item>()
                .find_all()
                .sort(|i| i.id.asc())
                .all()
                .await
                .unwrap();
            let shelves = odm
                .collection::<Shelf>()
                .find_all()
                .sort(|s| s.id.asc())
                .all()
                .await
                .unwrap();
            let expected: Vec<Shelf> = (0..SHELVES).map(|shelf| expected(shelf, &items)).collect();
            assert_eq!(shelves, expected, "{log:?}");
        }
        assert_clean_after(&odm, "random updates of children").await;
    });
}
