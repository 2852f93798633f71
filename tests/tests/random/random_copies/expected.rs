//! The documents that have to be there at the end, and those that are.

use super::*;

pub(super) const COPIES: [(&str, &str); 49] = [
    ("logs", "host_name"),
    ("logs", "host_ip"),
    ("logs", "host_load"),
    ("products", "parts.name"),
    ("products", "parts.note"),
    ("products", "parts.tags"),
    ("orders", "user.name"),
    ("orders", "user.mail"),
    ("shops", "best"),
    ("bars", "votes"),
    ("bars", "public_votes"),
    ("bars", "rating"),
    ("bars", "total"),
    ("bars", "most"),
    ("cities", "region_name"),
    ("cities", "region_code"),
    ("cities", "streets"),
    ("streets", "region_name"),
    ("streets", "region_code"),
    ("mayors", "streets"),
    ("receipts", "host_name"),
    ("wells", "samples"),
    ("wells", "deepest"),
    ("wells", "guards"),
    ("markets", "cheapest"),
    ("courses", "least"),
    ("courses", "greatest"),
    ("courses", "mean"),
    ("courses", "least_public"),
    ("courses", "sum_public"),
    ("boards", "newest"),
    ("baskets", "items.name"),
    ("baskets", "items.note"),
    ("baskets", "gift.name"),
    ("members", "fan_of_name"),
    // The members say which team is theirs.
    ("teams", "members"),
    ("teams", "size"),
    ("ballots", "poll_name"),
    ("districts", "ballots"),
    ("districts", "weight"),
    ("districts", "heaviest"),
    ("districts", "heaviest_of"),
    ("districts", "lightest_of"),
    // The acrobats say which circuses are theirs.
    ("circuses", "acrobats"),
    ("acrobats", "home_name"),
    ("shelves", "books"),
    ("books", "shelf_name"),
    ("folders", "papers"),
    ("papers", "folder_name"),
];

/// The application's own fields of a document.
pub(super) fn written(collection: &str, mut document: Raw) -> Option<Raw> {
    if document
        .get_document("_odm")
        .and_then(|own| own.get_document("pending"))
        .is_ok_and(|pending| pending.get_bool("delete").unwrap_or(false))
    {
        return None;
    }
    for (of, path) in COPIES {
        if of == collection {
            remove(&mut document, path);
        }
    }
    document.remove("version");
    say_deleted(&mut document);
    clean(&mut document);
    Some(document)
}

/// That it is deleted, instead of the time.
fn say_deleted(document: &mut Raw) {
    if matches!(document.remove("deleted_at"), Some(Bson::DateTime(_))) {
        document.insert("deleted", true);
    }
}

pub(super) fn cleaned(mut document: Raw) -> Raw {
    clean(&mut document);
    document
}

/// The application's own fields of a stored document or item.
pub(super) async fn now(db: &Database, (collection, id): Key) -> Option<Raw> {
    let Some((_, buckets, parent)) = BUCKETS.into_iter().find(|(items, ..)| *items == collection) else {
        let documents = db.collection::<Raw>(collection);
        let now = documents.find_one(doc! { "_id": id }).await.unwrap();
        return now.and_then(|now| written(collection, now));
    };
    let holding = doc! { format!("{collection}.n"): id };
    let bucket = db.collection::<Raw>(buckets).find_one(holding).await.unwrap()?;
    items(&bucket, collection, parent).remove(&id)
}

/// The items of a bucket, by their numbers, with the parent that they are of.
pub(super) fn items(bucket: &Raw, items: &str, parent: &str) -> BTreeMap<i32, Raw> {
    let all = bucket.get_array(items).unwrap();
    all.iter()
        .map(|item| {
            let mut item = item.as_document().unwrap().clone();
            item.insert(parent, bucket.get(parent).unwrap().clone());
            (item.get_i32("n").unwrap(), cleaned(item))
        })
        .collect()
}

/// All documents, without what the library alone knows of them.
pub(super) async fn stored(db: &Database) -> Written {
    let mut all = Written::new();
    for collection in COLLECTIONS {
        let documents = db.collection::<Raw>(collection).find(doc! {}).await.unwrap();
        let documents: Vec<Raw> = documents.try_collect().await.unwrap();
        for mut document in documents {
            let id = document.get_i32("_id").unwrap();
            document.remove("version");
            say_deleted(&mut document);
            for side in ["members", "acrobats"] {
                if let Ok(linked) = document.get_array_mut(side) {
                    // In whichever order they came.
                    linked.sort_by_key(|id| id.as_i32());
                }
            }
            all.insert((collection, id), cleaned(document));
        }
    }
    for (name, collection, parent) in BUCKETS {
        let order = doc! { parent: 1, "start": 1, "page": 1 };
        let stored = db.collection::<Raw>(collection);
        let buckets = stored.find(doc! {}).sort(order).await.unwrap();
        let buckets: Vec<Raw> = buckets.try_collect().await.unwrap();
        holds_what_it_says(&buckets, name, parent);
        for bucket in &buckets {
            for (n, item) in items(bucket, name, parent) {
                assert_eq!(all.insert((name, n), item), None, "{n} of {name} is there twice");
            }
        }
    }
    all
}

/// What each bucket says of its items is so, none is overfilled, no page is missing, and each task's items stand in the order
/// in which it has pushed them.
pub(super) fn holds_what_it_says(buckets: &[Raw], name: &str, parent: &str) {
    let mut before: Option<(Bson, Option<DateTime>, i32)> = None;
    let mut pushed: BTreeMap<(String, i32), i32> = BTreeMap::new();
    let number = |document: &Raw, name: &str| document.get_i32(name).unwrap();
    for bucket in buckets {
        let start = bucket.get_datetime("start").ok().copied();
        let (of, page) = (bucket.get(parent).unwrap().clone(), number(bucket, "page"));
        let wanted = match &before {
            Some((parent, started, page)) if (parent, *started) == (&of, start) => page + 1,
            _ => 1,
        };
        assert_eq!(page, wanted, "{bucket}");
        before = Some((of.clone(), start, page));
        let items: Vec<&Raw> = bucket
            .get_array(name)
            .unwrap()
            .iter()
            .map(|item| item.as_document().unwrap())
            .collect();
        let (count, room) = (number(bucket, "count"), number(bucket, "room"));
        assert!(
            count as usize == items.len() && count + room <= 3 && room >= 0,
            "{bucket}"
        );
        let times: Vec<DateTime> = items
            .iter()
            .map(|item| *item.get_datetime("at").unwrap())
            .collect();
        assert_eq!(bucket.get_datetime("first").ok(), times.iter().min(), "{bucket}");
        assert_eq!(bucket.get_datetime("last").ok(), times.iter().max(), "{bucket}");
        let summed = if name == "comments" { "stars" } else { "degrees" };
        let sum: i64 = items.iter().map(|item| i64::from(number(item, summed))).sum();
        assert_eq!(bucket.get_i64(format!("sum_{summed}")).unwrap(), sum, "{bucket}");
        for (item, at) in items.iter().zip(times) {
            if let Some(start) = start {
                let since = at.timestamp_millis() - start.timestamp_millis();
                assert!((0..3_600_000).contains(&since), "{bucket}");
            }
            let n = number(item, "n");
            let key = (format!("{of} {start:?}"), n % TASKS);
            let last = pushed.insert(key, n);
            assert!(
                last.is_none_or(|last| last < n),
                "{last:?} comes before {n}: {bucket}"
            );
        }
    }
}

/// The application's documents, with the copies that follow from them.
pub(super) fn with_copies(own: &Written) -> Written {
    let mut all = own.clone();
    let copy = |document: &mut Raw, source: &Raw, names: &[(&str, &str)]| {
        for (name, from) in names {
            if let Some(value) = source.get(from) {
                document.insert(*name, value.clone());
            }
        }
    };
    let of = |collection: &'static str| own.range((collection, i32::MIN)..=(collection, i32::MAX));
    // Cities first, since their copies are copied.
    let mut cities: BTreeMap<i32, Raw> = BTreeMap::new();
    for ((_, id), city) in of("cities") {
        let mut city = city.clone();
        let region = &own[&("regions", city.get_i32("region").unwrap())];
        copy(
            &mut city,
            region,
            &[("region_name", "name"), ("region_code", "code")],
        );
        let streets = of("streets")
            .filter(|(_, street)| street.get_i32("city").ok() == Some(*id))
            .count();
        city.insert("streets", streets as i64);
        cities.insert(*id, city);
    }
    for ((collection, id), document) in &mut all {
        let key = |name: &str| document.get_i32(name).unwrap();
        match *collection {
            "logs" => {
                let host = &own[&("hosts", key("host"))];
                let names = [("host_name", "name"), ("host_ip", "ip"), ("host_load", "load")];
                copy(document, host, &names);
            }
            "products" => {
                for entry in document.get_array_mut("parts").unwrap() {
                    let entry = entry.as_document_mut().unwrap();
                    let part = &own[&("parts", entry.get_i32("id").unwrap())];
                    copy(
                        entry,
                        part,
                        &[("name", "name"), ("note", "note"), ("tags", "tags")],
                    );
                }
            }
            "orders" => {
                if let Ok(user) = document.get_document_mut("user") {
                    let source = &own[&("users", user.get_i32("id").unwrap())];
                    copy(user, source, &[("name", "name"), ("mail", "mail")]);
                }
            }
            "cities" => *document = cities[id].clone(),
            "streets" => {
                let city = &cities[&key("city")];
                let names = [("region_name", "region_name"), ("region_code", "region_code")];
                copy(document, city, &names);
            }
            "mayors" => {
                let city = &cities[&key("city")];
                copy(document, city, &[("streets", "streets")]);
            }
            "shops" => {
                let mut children: Vec<(i32, i32, &Raw)> = of("reviews")
                    .filter(|(_, child)| child.get_i32("above").ok() == Some(*id))
                    .map(|((_, child_id), child)| (child.get_i32("stars").unwrap(), *child_id, child))
                    .collect();
                children.sort_by_key(|(stars, child_id, _)| std::cmp::Reverse((*stars, *child_id)));
                let best = children.iter().take(2).map(|(_, child_id, child)| {
                    let mut element = doc! { "id": child_id };
                    copy(&mut element, child, &[("text", "text"), ("stars", "stars")]);
                    element
                });
                document.insert("best", best.collect::<Vec<_>>());
            }
            "bars" => {
                let children: Vec<(i32, bool)> = of("votes")
                    .filter(|(_, child)| child.get_i32("above").ok() == Some(*id))
                    .map(|(_, child)| (child.get_i32("stars").unwrap(), child.get_bool("public").unwrap()))
                    .collect();
                let public: Vec<i32> = children
                    .iter()
                    .filter(|(_, public)| *public)
                    .map(|(stars, _)| *stars)
                    .collect();
                let sum = f64::from(public.iter().sum::<i32>());
                document.insert("votes", children.len() as i64);
                document.insert("public_votes", public.len() as i64);
                document.insert("rating", doc! { "sum": sum, "count": public.len() as i64 });
                let total: i64 = children.iter().map(|(stars, _)| i64::from(*stars)).sum();
                document.insert("total", total);
                if let Some(most) = children.iter().map(|(stars, _)| *stars).max() {
                    document.insert("most", most);
                }
            }
            "wells" => {
                let mut children: Vec<(i32, i32)> = of("samples")
                    .filter(|(_, child)| child.get_i32("well").ok() == Some(*id))
                    .map(|((_, child_id), child)| (child.get_i32("depth").unwrap(), *child_id))
                    .collect();
                children.sort_by_key(|child| std::cmp::Reverse(*child));
                let deepest = children.iter().take(2);
                let deepest = deepest.map(|(depth, child_id)| doc! { "id": child_id, "depth": depth });
                document.insert("samples", children.len() as i64);
                document.insert("deepest", deepest.collect::<Vec<_>>());
                document.insert("guards", 0_i64);
            }
            "markets" => {
                let mut children: Vec<(i32, i32, &Raw)> = of("offers")
                    .filter(|(_, child)| child.get_i32("above").ok() == Some(*id))
                    .filter(|(_, child)| child.get_bool("public").unwrap())
                    .map(|((_, child_id), child)| (child.get_i32("stars").unwrap(), *child_id, child))
                    .collect();
                children.sort_by_key(|(stars, child_id, _)| (*stars, *child_id));
                let cheapest = children.iter().take(2).map(|(_, child_id, child)| {
                    let mut element = doc! { "id": child_id };
                    copy(&mut element, child, &[("text", "text"), ("stars", "stars")]);
                    element
                });
                document.insert("cheapest", cheapest.collect::<Vec<_>>());
            }
            "courses" => {
                let children: Vec<(i32, bool)> = of("grades")
                    .filter(|(_, child)| child.get_i32("above").ok() == Some(*id))
                    .map(|(_, child)| (child.get_i32("stars").unwrap(), child.get_bool("public").unwrap()))
                    .collect();
                let all = || children.iter().map(|(stars, _)| *stars);
                let public = || {
                    children
                        .iter()
                        .filter(|(_, public)| *public)
                        .map(|(stars, _)| *stars)
                };
                let sum = f64::from(all().sum::<i32>());
                document.insert("mean", doc! { "sum": sum, "count": children.len() as i64 });
                document.insert("sum_public", i64::from(public().sum::<i32>()));
                document.insert("least", all().min());
                document.insert("greatest", all().max());
                document.insert("least_public", public().min());
            }
            "boards" => {
                let mut children: Vec<(i32, i32, &Raw)> = of("lines")
                    .filter(|(_, child)| child.get_i32("board").ok() == Some(*id))
                    .map(|((_, child_id), child)| (child.get_i32("at").unwrap(), *child_id, child))
                    .collect();
                children.sort_by_key(|(at, child_id, _)| (*at, *child_id));
                let newest = children.iter().skip(children.len().saturating_sub(2));
                let newest =
                    newest.map(|(at, _, child)| doc! { "at": at, "text": child.get_str("text").unwrap() });
                document.insert("newest", newest.collect::<Vec<_>>());
            }
            "baskets" => {
                let good = |within: &Raw| Some(&own[&("goods", within.get_i32("good").ok()?)]);
                for item in document.get_array_mut("items").unwrap() {
                    let item = item.as_document_mut().unwrap();
                    if let Some(good) = good(item) {
                        copy(item, good, &[("name", "name"), ("note", "note")]);
                    }
                }
                let gift = document.get_document_mut("gift").unwrap();
                if let Some(good) = good(gift) {
                    copy(gift, good, &[("name", "name")]);
                }
            }
            "members" => {
                let team = &own[&("teams", key("fan_of"))];
                copy(document, team, &[("fan_of_name", "name")]);
            }
            "teams" => {
                let members: Vec<i32> = of("members")
                    .filter(|(_, member)| member.get_i32("team").ok() == Some(*id))
                    .map(|((_, member_id), _)| *member_id)
                    .collect();
                document.insert("size", members.len() as i64);
                document.insert("members", members);
            }
            "ballots" => {
                let poll = &own[&("polls", key("poll"))];
                copy(document, poll, &[("poll_name", "name")]);
            }
            "districts" => {
                let mut children: Vec<(i32, i32, &Raw)> = of("ballots")
                    .filter(|(_, child)| child.get_i32("district").ok() == Some(*id))
                    .map(|((_, child_id), child)| (child.get_i32("weight").unwrap(), *child_id, child))
                    .collect();
                children.sort_by_key(|(weight, child_id, _)| std::cmp::Reverse((*weight, *child_id)));
                let heaviest = children.iter().take(2).map(|(weight, child_id, child)| {
                    let poll = &own[&("polls", child.get_i32("poll").unwrap())];
                    let mut element = doc! { "id": child_id, "weight": weight };
                    copy(&mut element, poll, &[("poll_name", "name")]);
                    element
                });
                document.insert("heaviest", heaviest.collect::<Vec<_>>());
                let poll = |child: &(i32, i32, &Raw)| &own[&("polls", child.2.get_i32("poll").unwrap())];
                for (name, child) in [
                    ("heaviest_of", children.first()),
                    ("lightest_of", children.last()),
                ] {
                    let value = child.and_then(|child| poll(child).get("name"));
                    document.extend(value.map(|value| (name.to_owned(), value.clone())));
                }
                document.insert("ballots", children.len() as i64);
                let weight: i64 = children.iter().map(|(weight, ..)| i64::from(*weight)).sum();
                document.insert("weight", weight);
            }
            "circuses" => {
                let acrobats = of("acrobats").filter(|(_, acrobat)| {
                    acrobat
                        .get_array("circuses")
                        .is_ok_and(|of| of.contains(&Bson::from(*id)))
                });
                let acrobats: Vec<i32> = acrobats.map(|((_, acrobat), _)| *acrobat).collect();
                document.insert("acrobats", acrobats);
            }
            "acrobats" => {
                let circus = &own[&("circuses", key("home"))];
                copy(document, circus, &[("home_name", "name")]);
            }
            "tills" => {
                let mut children: Vec<(i32, i32)> = of("stubs")
                    .filter(|(_, child)| child.get_i32("till").ok() == Some(*id))
                    .map(|((_, child_id), child)| (child.get_i32("amount").unwrap(), *child_id))
                    .collect();
                children.sort_by_key(|child| std::cmp::Reverse(*child));
                let greatest = children.iter().take(2);
                let greatest = greatest.map(|(amount, child_id)| doc! { "id": child_id, "amount": amount });
                document.insert("greatest", greatest.collect::<Vec<_>>());
                document.insert("stubs", children.len() as i64);
                let sum: i64 = children.iter().map(|(amount, _)| i64::from(*amount)).sum();
                document.insert("amount", sum);
            }
            "shelves" => {
                let books = of("books").filter(|(_, book)| book.get_i32("shelf").ok() == Some(*id));
                document.insert("books", books.count() as i64);
            }
            "books" => {
                let shelf = &own[&("shelves", key("shelf"))];
                copy(document, shelf, &[("shelf_name", "name")]);
            }
            "folders" => {
                let papers = of("papers").filter(|(_, paper)| paper.get_i32("folder").ok() == Some(*id));
                let living = papers.filter(|(_, paper)| !paper.contains_key("deleted"));
                document.insert("papers", living.count() as i64);
            }
            "papers" => {
                let folder = &own[&("folders", key("folder"))];
                copy(document, folder, &[("folder_name", "name")]);
            }
            "stubs" => {
                let till = &own[&("tills", key("till"))];
                copy(document, till, &[("till_name", "name"), ("till_total", "total")]);
            }
            _ => {}
        }
        clean(document);
    }
    all
}

/// The expected documents that all tasks write, without their copies, after the operations that they list.
pub(super) fn after_all(events: &[Event], found: &Written) -> Written {
    let known: BTreeMap<(i32, Key), &Event> = events
        .iter()
        .map(|event| ((event.number, event.key), event))
        .collect();
    for event in events.iter().filter(|event| event.done == Some(false)) {
        // A document that is there already is not inserted, and one that another task has changed is not replaced.
        let may_lose = matches!(event.deed, Deed::Put { .. }) || may_be_gone(event.key);
        assert!(may_lose, "{event:?} has found nothing to change");
    }
    let mut wanted = Written::new();
    for (key, document) in found {
        if !["tills", "stubs"].contains(&key.0) {
            continue;
        }
        let mut after = doc! { "_id": key.1 };
        if key.0 == "tills" {
            after.extend(doc! { "name": "", "total": 0_i64 });
        } else {
            after.extend(doc! { "amount": 0, "till": key.1 % TILLS });
        }
        let done = document.get_array("done").unwrap();
        let mut seen = BTreeSet::new();
        for number in done.iter().map(|number| number.as_i32().unwrap()) {
            assert!(seen.insert(number), "{number} has happened twice: {document}");
            let event = known.get(&(number, *key));
            let event = event.unwrap_or_else(|| panic!("{number} was never of {key:?}: {document}"));
            assert_ne!(event.done, Some(false), "{event:?} has happened: {document}");
            match event.deed {
                Deed::Collect(amount) => {
                    after.insert("name", format!("{number}"));
                    after.insert("total", after.get_i64("total").unwrap() + amount);
                }
                Deed::Move(till) => drop(after.insert("till", till)),
                Deed::Add(amount) => drop(after.insert("amount", after.get_i32("amount").unwrap() + amount)),
                Deed::Put { till, amount } => after.extend(doc! { "till": till, "amount": amount }),
                Deed::Delete => panic!("{event:?} is listed: {document}"),
            }
        }
        after.insert("done", done.clone());
        wanted.insert(*key, cleaned(after));
    }
    for event in events.iter().filter(|event| event.done == Some(true)) {
        let may_be_gone = may_be_gone(event.key);
        let Some(document) = found.get(&event.key) else {
            assert!(may_be_gone, "{event:?}, and the document is gone");
            continue;
        };
        let listed = document
            .get_array("done")
            .is_ok_and(|done| done.contains(&Bson::from(event.number)));
        assert!(listed || may_be_gone, "{event:?} is lost: {document}");
    }
    wanted
}

/// Whether a document that all tasks write may be deleted.
fn may_be_gone((collection, id): Key) -> bool {
    collection == "stubs" && id >= STAYING
}
