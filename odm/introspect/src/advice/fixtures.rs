//! Designs for tests.

use crate::design::{Collection, Copied, Design, Field, Index, Map, Place, Reference, TwoWay};
use crate::kind::{Kind, TextForm};
use crate::sketch::{Distribution, Spread};
use bson::doc;

/// The figures of values, each with its number.
pub fn spread(values: &[(u64, u64)]) -> Spread {
    let mut distribution = Distribution::default();
    for (value, number) in values {
        for _ in 0..*number {
            distribution.add(*value);
        }
    }
    distribution.spread()
}

fn of_kind(path: &str, number: u64, kind: Kind) -> Field {
    let last = path.rsplit('.').next().unwrap_or(path);
    let name = if last.ends_with([']', '}']) { "" } else { last };
    Field {
        path: path.to_owned(),
        name: name.to_owned(),
        present: number,
        of: number,
        kinds: [(kind, number)].into(),
        ..Default::default()
    }
}

/// Text of this length.
pub fn text(path: &str, number: u64, length: u64) -> Field {
    Field {
        text: Some(spread(&[(length, number)])),
        ..of_kind(path, number, Kind::String)
    }
}

/// Numbers of 32 bits.
pub fn number(path: &str, number: u64) -> Field {
    of_kind(path, number, Kind::Int)
}

/// ObjectIds.
pub fn id(path: &str, number: u64) -> Field {
    of_kind(path, number, Kind::ObjectId)
}

/// Dates.
pub fn date(path: &str, number: u64) -> Field {
    of_kind(path, number, Kind::Date)
}

/// Embedded documents.
pub fn object(path: &str, number: u64, fields: Vec<Field>) -> Field {
    Field {
        fields,
        ..of_kind(path, number, Kind::Object)
    }
}

/// Arrays of these lengths.
pub fn array_of(path: &str, number: u64, lengths: &[(u64, u64)], items: Field) -> Field {
    Field {
        lengths: Some(spread(lengths)),
        items: Some(Box::new(items)),
        ..of_kind(path, number, Kind::Array)
    }
}

/// A collection whose `_id` are ObjectIds.
pub fn collection(name: &str, documents: u64, fields: Vec<Field>) -> Collection {
    let mut all = vec![id("_id", documents)];
    all.extend(fields);
    Collection {
        name: name.to_owned(),
        documents,
        read: documents,
        sizes: spread(&[(200, documents.min(1_000))]),
        indexes: vec![Index {
            name: "_id_".to_owned(),
            ..index(doc! { "_id": 1 })
        }],
        root: object("", documents, all),
        ..Default::default()
    }
}

/// An index with the name that MongoDB gives.
pub fn index(keys: bson::Document) -> Index {
    let parts: Vec<String> = keys
        .iter()
        .map(|(key, value)| format!("{key}_{}", value.to_string().trim_matches('"')))
        .collect();
    Index {
        name: parts.join("_"),
        keys,
        ..Default::default()
    }
}

/// A database.
pub fn database(collections: Vec<Collection>) -> Design {
    Design {
        database: "shop".to_owned(),
        collections,
        ..Default::default()
    }
}

/// Orders with a log of these lengths.
pub fn with_array(lengths: &[(u64, u64)]) -> Collection {
    let number = lengths.iter().map(|(_, number)| number).sum();
    let items = object(
        "log[]",
        500,
        vec![date("log[].at", 500), text("log[].text", 500, 40)],
    );
    collection("orders", number, vec![array_of("log", number, lengths, items)])
}

/// A reference that is sure.
pub fn reference(id: usize, from: &str, path: &str, to: &str) -> Reference {
    Reference {
        id,
        from: Place {
            collection: from.to_owned(),
            paths: vec![path.to_owned()],
        },
        to: Place {
            collection: to.to_owned(),
            paths: vec!["_id".to_owned()],
        },
        values: 300,
        found: 300,
        distinct: 50,
        per_document: spread(&[(1, 300)]),
        per_target: spread(&[(6, 50)]),
        unique: true,
        indexed: true,
        evidence: "All values are ObjectIds of the other collection".to_owned(),
        confidence: 1.0,
        ..Default::default()
    }
}

/// Orders that refer to customers, and copy their names.
pub fn orders() -> Design {
    let mut orders = collection(
        "orders",
        300,
        vec![
            id("customer", 300),
            text("customer_name", 300, 12),
            date("placed", 300),
        ],
    );
    orders.indexes.push(index(doc! { "customer": 1 }));
    let customers = collection("customers", 50, vec![text("name", 50, 12)]);
    let mut design = database(vec![orders, customers]);
    design
        .references
        .push(reference(0, "orders", "customer", "customers"));
    design.copies.push(Copied {
        path: "customer_name".to_owned(),
        by: 0,
        from: "name".to_owned(),
        equal: 300,
        distinct: 50,
        commonest: 0.02,
        evidence: "300 of 300 are equal".to_owned(),
        ..Default::default()
    });
    design
}

/// Tasks and people that refer to each other.
pub fn linked() -> Design {
    let arrays = |path: &str, of: &str| array_of(path, 100, &[(2, 100)], id(of, 200));
    let mut design = database(vec![
        collection("people", 100, vec![arrays("tasks", "tasks[]")]),
        collection("tasks", 100, vec![arrays("people", "people[]")]),
    ]);
    let mut people = reference(0, "people", "tasks[]", "tasks");
    people.many = true;
    let mut tasks = reference(1, "tasks", "people[]", "people");
    tasks.many = true;
    design.references = vec![people, tasks];
    design.two_way.push(TwoWay {
        a: 0,
        b: 1,
        agree: 200,
        ..Default::default()
    });
    design
}

/// A database with a fault of many kinds, each value of which has the word *secret* in it.
pub fn faulty() -> Design {
    let mut design = orders();
    design.references[0].dangling = 12;
    design.references[0].found = 288;
    design.references[0].examples = vec!["secret customer".to_owned()];
    design.copies[0].stale = 30;
    design.copies[0].equal = 270;
    design.copies[0].examples = vec!["1: secret name, name".to_owned()];
    let mut state = text("state", 300, 6);
    state.enumeration = true;
    state.values = [("secret", 250), ("Secret", 50)]
        .map(|(value, number)| (value.to_owned(), number))
        .to_vec();
    let mut amount = text("amount", 300, 4);
    amount.form = Some(TextForm::Number);
    amount.text = Some(spread(&[(2, 100), (5, 200)]));
    let mut weight = number("weight", 300);
    weight.kinds = [(Kind::Int, 278), (Kind::String, 22)].into();
    let mut note = text("note", 300, 10);
    note.present = 250;
    note.kinds.insert(Kind::Null, 50);
    let mut hosts = object("hosts", 300, Vec::new());
    hosts.map = Some(Map {
        keys: 40,
        awkward: 1,
        per_map: spread(&[(4, 300)]),
        values: Box::new(number("hosts{}", 1_200)),
        examples: vec!["secret.host".to_owned()],
        ..Default::default()
    });
    let log = with_array(&[(0, 280), (1_800, 20)]).root.fields.remove(1);
    let orders = &mut design.collections[0];
    orders
        .root
        .fields
        .extend([state, amount, weight, note, hosts, log]);
    orders.documents = 5_000;
    orders.indexes = vec![orders.indexes[0].clone()];
    orders.indexes.push(index(doc! { "state": 1 }));
    orders.indexes.push(index(doc! { "state": 1, "placed": -1 }));
    let links = linked();
    design.collections.extend(links.collections);
    for mut reference in links.references {
        reference.id += 1;
        design.references.push(reference);
    }
    design.two_way.push(TwoWay {
        a: 1,
        b: 2,
        agree: 190,
        only_a: 10,
        examples: vec!["secret → other".to_owned()],
        ..Default::default()
    });
    design
}
