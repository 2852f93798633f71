//! The rules of values: the verdict of the library and that of the server, and what updates do with them.

use odm::Error;
use odm::bson::{self, Document as Doc, doc};
use odm::error::Rule;
use odm::expr::expr;
use odm::mongodb::error::ErrorKind;
use odm::prelude::*;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A newtype with a rule of its own.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Isbn(#[field(pattern = r"\d{9}[\dX]")] pub String);

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Line {
    #[field(pattern = "[A-Z]{2}-[0-9]+")]
    pub sku: String,
    #[field(multiple_of = 6)]
    pub bottles: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[document(collection = "samples")]
pub struct Sample {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(pattern = r"[a-z]+(-[a-z0-9]+)*")]
    pub slug: Option<String>,
    #[field(pattern = r"\w.\s[^a-c]?|x{2,3}", max_len = 5)]
    pub code: Option<String>,
    #[field(email)]
    pub email: Option<String>,
    #[field(url)]
    pub site: Option<String>,
    #[field(one_of("new", "open", "sent on"))]
    pub status: Option<String>,
    #[field(one_of(1, 2, 5, -10))]
    pub coin: Option<i64>,
    #[field(multiple_of = 25, min = -1000)]
    pub cents: Option<i64>,
    #[embed(max = 6)]
    #[field(unique_items, pattern = "[a-z]*")]
    pub tags: Option<Vec<String>>,
    #[embed(max = 6)]
    #[field(unique_items)]
    pub points: Option<Vec<f64>>,
    #[field(pattern = "[0-8]+X?")]
    pub isbn: Option<Isbn>,
    #[embed(max = 4, key_len = 5)]
    #[field(multiple_of = 3)]
    pub counts: Option<BTreeMap<String, i32>>,
    #[embed(max = 4)]
    #[field(unique_items)]
    pub lines: Option<Vec<Line>>,
}

async fn samples(t: &odm_tests::TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Sample]).unwrap();
    odm.sync().await.unwrap();
    odm.server().await.unwrap();
    t.commands.clear();
    odm
}

fn rules(error: Error) -> Vec<(String, Rule)> {
    match error {
        Error::Invalid { violations, .. } => violations.into_iter().map(|v| (v.path, v.rule)).collect(),
        other => panic!("not refused for its values: {other}"),
    }
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// A string that is, or nearly is, one of these.
    fn text(&mut self, nearly: &[&str]) -> String {
        const CHARS: &[char] = &[
            'a',
            'z',
            'x',
            'X',
            'Z',
            '0',
            '9',
            '-',
            '_',
            '.',
            '@',
            ':',
            '/',
            '[',
            ']',
            ' ',
            '\n',
            '\r',
            '\t',
            '\u{b}',
            '\u{c}',
            '\u{85}',
            '\u{a0}',
            '\u{2028}',
            '\u{0}',
            'ä',
            'ſ',
            '\u{212a}',
            '٣',
            '日',
            '\u{1f600}',
            '\u{301}',
            '\u{feff}',
        ];
        let mut text: Vec<char> = self.of(nearly).chars().collect();
        for _ in 0..self.below(3) {
            let at = self.below(text.len() + 1);
            match self.below(3) {
                0 => text.insert(at, self.of(CHARS)),
                1 if at < text.len() => text[at] = self.of(CHARS),
                _ if at < text.len() => drop(text.remove(at)),
                _ => {}
            }
        }
        text.into_iter().collect()
    }

    fn sample(&mut self, rule: usize, id: i32) -> Sample {
        let mut sample = Sample {
            id,
            ..Sample::default()
        };
        let numbers: [i64; 12] = [0, 1, 2, 5, -10, 25, -25, 30, 1_000_000, i64::MAX, i64::MIN, -1001];
        match rule {
            0 => sample.slug = Some(self.text(&["a-b-1", "abc", "a", "a--b"])),
            1 => sample.code = Some(self.text(&["a. d", "_ä\n", "xx", "xxx", "1\t\t", "a. "])),
            2 => sample.email = Some(self.text(&["a@b.cd", "x.y+z@a-b.c", "a@b", "a_b@c.d.e"])),
            3 => {
                sample.site = Some(self.text(&[
                    "https://a.b/c?d#e",
                    "http://[::1]:80/",
                    "http://a",
                    "https://a:1?x",
                ]))
            }
            4 => sample.status = Some(self.text(&["new", "open", "sent on", "New"])),
            5 => sample.coin = Some(self.of(&numbers)),
            6 => sample.cents = Some(self.of(&numbers).saturating_mul(self.of(&[1, 1, 5, 25]))),
            7 => sample.tags = Some((0..self.below(5)).map(|_| self.text(&["a", "b", "a"])).collect()),
            8 => {
                let numbers = [
                    0.0,
                    -0.0,
                    1.5,
                    2.0,
                    f64::NAN,
                    -f64::NAN,
                    f64::INFINITY,
                    9e15,
                    1e19,
                    1.5000000000000002,
                ];
                sample.points = Some((0..self.below(4)).map(|_| self.of(&numbers)).collect());
            }
            9 => sample.isbn = Some(Isbn(self.text(&["012345678X", "0123456789", "0123456780"]))),
            10 => {
                let keys = ["a", "b", "c"].map(str::to_owned);
                sample.counts = Some(
                    (0..self.below(3))
                        .map(|_| (self.of(&keys), self.below(7) as i32))
                        .collect(),
                );
            }
            _ => {
                let line = |random: &mut Random| Line {
                    sku: random.of(&["AB-1", "AB-2", "ab-1"]).to_owned(),
                    bottles: random.of(&[0, 6, 6, 7]),
                };
                sample.lines = Some((0..self.below(4)).map(|_| line(self)).collect());
            }
        }
        sample
    }
}

const RULES: usize = 12;
const BATCH: usize = 1000;

/// `ODM_RANDOM_VALUES` says how many values are generated for each rule.
fn number_of_values() -> usize {
    let number = std::env::var("ODM_RANDOM_VALUES").ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(1000)
}

#[odm_tests::test]
fn the_verdict_of_the_library_is_that_of_the_server() {
    with_db(async |t| {
        if odm_tests::is_the_stand_in_in_python(&t.db).await {
            odm_tests::skip("needs a server whose patterns are PCRE2's");
        }
        samples(&t).await;
        let stored = t.db.collection::<Doc>("samples");
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for rule in 0..RULES {
            let mut refused = 0;
            let mut done = 0;
            while done < number_of_values() {
                let batch: Vec<Sample> = (0..BATCH).map(|at| random.sample(rule, at as i32)).collect();
                let documents: Vec<Doc> = batch
                    .iter()
                    .map(|one| bson::serialize_to_document(one).unwrap())
                    .collect();
                let by_server: Vec<usize> = match stored.insert_many(&documents).ordered(false).await {
                    Ok(_) => Vec::new(),
                    Err(error) => match *error.kind {
                        ErrorKind::InsertMany(failed) => {
                            let errors = failed.write_errors.unwrap_or_default();
                            assert!(errors.iter().all(|error| error.code == 121), "{errors:?}");
                            errors.into_iter().map(|error| error.index).collect()
                        }
                        other => panic!("{other}"),
                    },
                };
                for (at, sample) in batch.iter().enumerate() {
                    let verdict = odm::__private::values::verdict(sample);
                    assert_eq!(
                        verdict.is_err(),
                        by_server.contains(&at),
                        "{sample:?}: {verdict:?}"
                    );
                }
                refused += by_server.len();
                done += BATCH;
                stored.delete_many(doc! {}).await.unwrap();
            }
            assert!(
                refused > done / 50 && refused < done * 49 / 50,
                "rule {rule}: {refused} of {done} refused"
            );
        }
    });
}

#[odm_tests::test]
fn a_value_that_breaks_a_rule_is_refused_before_the_network() {
    with_db(async |t| {
        let odm = samples(&t).await;
        let samples = odm.collection::<Sample>();
        let ada = Sample {
            id: 1,
            slug: Some("a-b".to_owned()),
            cents: Some(50),
            tags: Some(vec!["a".to_owned()]),
            lines: Some(vec![Line {
                sku: "AB-1".to_owned(),
                bottles: 6,
            }]),
            ..Sample::default()
        };
        samples.save(ada.clone()).await.unwrap();
        t.commands.clear();
        let broken = |error: Error| rules(error).remove(0);
        let slug = Rule::Pattern("[a-z]+(?:-[a-z0-9]+)*".to_owned());
        let error = samples
            .update(1)
            .set(|s| s.slug, "A".to_owned())
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("`slug` must be a match of `[a-z]+"),
            "{error}"
        );
        assert_eq!(broken(error), ("slug".to_owned(), slug));
        let error = samples.update(1).inc(|s| s.cents, 30).await.unwrap_err();
        assert_eq!(broken(error), ("cents".to_owned(), Rule::MultipleOf(25)));
        let error = samples
            .update(1)
            .push(|s| s.tags, "B".to_owned())
            .await
            .unwrap_err();
        assert_eq!(broken(error).1, Rule::Pattern("[a-z]*".to_owned()));
        let line = |sku: &str, bottles| Line {
            sku: sku.to_owned(),
            bottles,
        };
        let error = samples
            .update(1)
            .push(|s| s.lines, line("AB-2", 7))
            .await
            .unwrap_err();
        assert_eq!(broken(error), ("lines.bottles".to_owned(), Rule::MultipleOf(6)));
        let error = samples
            .update(1)
            .each(|s| s.lines, |line| line.set(|l| l.sku, "ab"))
            .await
            .unwrap_err();
        assert!(matches!(broken(error).1, Rule::Pattern(_)));
        let error = samples.update(1).inc(|s| s.coin, 1).await.unwrap_err();
        assert!(
            matches!(&error, Error::Query { message, .. } if message.contains("`one_of`")),
            "{error}"
        );
        assert!(t.commands.take().is_empty(), "nothing was sent");
        // Changes that keep the rules are written.
        samples
            .update(1)
            .inc(|s| s.cents, 25)
            .push_all(|s| s.tags, ["a".to_owned(), "b".to_owned()])
            .await
            .unwrap();
        let stored = samples.get(1).await.unwrap().unwrap();
        assert_eq!(stored.cents, Some(75));
        assert_eq!(stored.tags, Some(vec!["a".to_owned(), "b".to_owned()]));
        // An item that the array has already is no change.
        samples
            .update(1)
            .push(|s| s.lines, line("AB-1", 6))
            .await
            .unwrap();
        assert_eq!(samples.get(1).await.unwrap().unwrap().lines, ada.lines);
    });
}

#[odm_tests::test]
fn a_computed_value_keeps_the_rules_of_its_field() {
    use odm::expr::value;
    with_db(async |t| {
        let odm = samples(&t).await;
        let samples = odm.collection::<Sample>();
        let ada = Sample {
            id: 1,
            cents: Some(50),
            ..Sample::default()
        };
        samples.save(ada.clone()).await.unwrap();
        let half = |by: i64| {
            samples
                .update(1)
                .compute(|s| s.cents, move |s| (expr(s.cents) * value(by)) - value(25))
        };
        half(2).await.unwrap();
        let error = samples
            .update(1)
            .compute(|s| s.cents, |s| expr(s.cents) - value(1))
            .await
            .unwrap_err();
        assert_eq!(rules(error), [("cents".to_owned(), Rule::MultipleOf(25))]);
        let error = samples
            .update(1)
            .compute(|s| s.coin, |s| expr(s.cents))
            .await
            .unwrap_err();
        assert!(matches!(rules(error).remove(0).1, Rule::OneOf(_)));
        samples
            .update(1)
            .compute(|s| s.coin, |s| expr(s.cents) - value(70))
            .await
            .unwrap();
        let stored = samples.get(1).await.unwrap().unwrap();
        assert_eq!((stored.cents, stored.coin), (Some(75), Some(5)));
    });
}

/// A struct whose strings are normalized wherever they stand.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Contact {
    #[field(normalize(trim, lowercase), email)]
    pub email: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "members")]
pub struct Member {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(normalize(trim, lowercase))]
    #[index(unique)]
    pub login: String,
    #[field(normalize(trim))]
    pub name: Option<String>,
    pub contact: Contact,
    #[embed(max = 5)]
    #[field(normalize(lowercase), unique_items)]
    pub tags: Vec<String>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(id)]
pub struct Login(#[field(max_len = 100, normalize(lowercase))] String);

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "sessions")]
pub struct Session {
    #[serde(rename = "_id")]
    pub id: Login,
}

/// It would be stored under another id than `get` names.
#[odm_tests::test]
fn an_id_is_not_normalized_within_its_type_either() {
    with_db(async |t| {
        let error = Odm::new(t.db.clone(), models![Session]).unwrap_err();
        let Error::Models { problems } = &error else {
            panic!("{error}")
        };
        assert!(
            problems[0].starts_with("`Session._id` has a string with `normalize` in its type"),
            "{error}"
        );
    });
}

/// It names members by their login, which is normalized.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "notes")]
pub struct Note {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference(by = login, on_delete = cascade)]
    pub author: Ref<Member, String>,
    #[reference(by = login, on_delete = nullify)]
    pub editor: Option<Ref<Member, String>>,
    #[reference(many, max = 3, by = login, on_delete = pull)]
    pub readers: Vec<Ref<Member, String>>,
    #[denormalize(from = author.login)]
    pub signed: String,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Signature {
    #[reference(by = login)]
    pub who: Ref<Member, String>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Node {
    #[field(max_len = 20, normalize(trim))]
    pub name: String,
    #[embed(max = 3, depth = 4)]
    pub nodes: Vec<Node>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "letters")]
pub struct Letter {
    #[serde(rename = "_id")]
    pub id: i32,
    #[embed(max = 3)]
    pub signatures: Vec<Signature>,
    pub last: Signature,
    pub root: Node,
}

/// Wherever a field stands: in the items of an array, in a struct, in a type that contains itself.
#[odm_tests::test]
fn what_stands_in_a_struct_is_normalized_too() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Member, Letter]).unwrap();
        let (members, letters) = (odm.collection::<Member>(), odm.collection::<Letter>());
        let kate = NewMember {
            id: 1,
            login: "kate".to_owned(),
            name: None,
            contact: Contact {
                email: "kate@example.com".to_owned(),
            },
            tags: Vec::new(),
        };
        let mut kate = members.insert(kate).await.unwrap();
        let signed = |login: &str| Signature {
            who: Ref::new(login.to_owned()),
        };
        let node = |name: &str, nodes| Node {
            name: name.to_owned(),
            nodes,
        };
        let letter = Letter {
            id: 1,
            signatures: vec![signed(" KATE")],
            last: signed("Kate"),
            root: node(" a ", vec![node(" b", vec![])]),
        };
        let stored = letters.insert(letter).await.unwrap();
        assert_eq!(
            (&stored.signatures, &stored.last),
            (&vec![signed("kate")], &signed("kate"))
        );
        assert_eq!(stored.root, node("a", vec![node("b", vec![])]));
        letters
            .update(1)
            .push(|l| l.signatures, signed("KATE "))
            .set(|l| l.last, signed("KATE"))
            .push(|l| l.root.nodes, node(" c ", vec![node(" d ", vec![])]))
            .await
            .unwrap();
        let stored = letters.get(1).await.unwrap().unwrap();
        assert_eq!(stored.signatures, [signed("kate"), signed("kate")]);
        let nodes = vec![node("b", vec![]), node("c", vec![node("d", vec![])])];
        assert_eq!((stored.last, stored.root), (signed("kate"), node("a", nodes)));
        let count = letters.find(|l| l.last.who.eq(Ref::new("KATE".to_owned())));
        assert_eq!(count.count().await.unwrap(), 1);
        let of_node = letters.find(|l| l.root.nodes.name.eq(" c"));
        assert_eq!(of_node.count().await.unwrap(), 1);
        // The children of a parent that the application has made.
        kate.login = "KATE".to_owned();
        let last = members
            .load(&kate, |m| m.children_by(|l: LetterFields| l.last.who))
            .await;
        assert_eq!(last.unwrap().len(), 1);
    });
}

/// A reference holds what its key is as it is stored, in each place where the application names one, and so does the operand of a copy.
#[odm_tests::test]
fn a_reference_by_a_normalized_key_is_normalized() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Member, Note]).unwrap();
        odm.sync().await.unwrap();
        let (members, notes) = (odm.collection::<Member>(), odm.collection::<Note>());
        for (id, login) in [(1, "kate"), (2, "ann")] {
            let contact = Contact {
                email: format!("{login}@example.com"),
            };
            let member = NewMember {
                id,
                login: login.to_owned(),
                name: None,
                contact,
                tags: Vec::new(),
            };
            members.insert(member).await.unwrap();
        }
        let of = |login: &str| Ref::<Member, String>::new(login.to_owned());
        let new = |id| NewNote {
            id,
            author: of(" Kate"),
            editor: Some(of("ANN ")),
            readers: vec![of("Kate"), of("Ann")],
        };
        let note = notes.insert(new(1)).await.unwrap();
        assert_eq!(
            (note.author.clone(), note.editor.clone()),
            (of("kate"), Some(of("ann")))
        );
        assert_eq!(
            (note.readers.clone(), note.signed.as_str()),
            (vec![of("kate"), of("ann")], "kate")
        );
        assert_eq!(notes.get(1).await.unwrap().as_ref(), Some(&note));
        notes.insert_many([new(2), new(3)]).await.unwrap();
        let stored =
            t.db.collection::<Doc>("notes")
                .find_one(doc! { "_id": 3 })
                .await
                .unwrap()
                .unwrap();
        assert_eq!(
            (
                stored.get_str("author").unwrap(),
                stored.get_str("editor").unwrap()
            ),
            ("kate", "ann")
        );
        // Conditions, and joins of stored documents and of one that the application has made.
        assert_eq!(notes.find(|n| n.author.eq(of("KATE"))).count().await.unwrap(), 3);
        assert_eq!(
            notes
                .find(|n| n.author.in_([of("KATE"), of("x")]))
                .count()
                .await
                .unwrap(),
            3
        );
        assert_eq!(notes.find(|n| n.author.ne(of("KATE"))).count().await.unwrap(), 0);
        assert_eq!(
            notes
                .find(|n| n.editor.eq(Some(of("Ann"))))
                .count()
                .await
                .unwrap(),
            3
        );
        assert_eq!(
            notes
                .find(|n| n.readers.contains(of("ANN")))
                .count()
                .await
                .unwrap(),
            3
        );
        assert_eq!(notes.find(|n| n.signed.eq(" KATE")).count().await.unwrap(), 3);
        let mut made = note.clone();
        made.author = of("KATE");
        made.readers = vec![of("ANN"), of("Kate")];
        assert_eq!(notes.load(&made, |n| n.author).await.unwrap().id, 1);
        let readers = notes.load(&made, |n| n.readers).await.unwrap();
        assert_eq!(readers.iter().map(|member| member.id).collect::<Vec<_>>(), [2, 1]);
        // Changes.
        let author = async |id| notes.get(id).await.unwrap().unwrap();
        notes
            .update(1)
            .set(|n| n.author, of("ANN"))
            .pull(|n| n.readers, of("KATE"))
            .await
            .unwrap();
        let changed = author(1).await;
        assert_eq!(
            (changed.author, changed.signed.as_str(), changed.readers),
            (of("ann"), "ann", vec![of("ann")])
        );
        notes
            .update(1)
            .push(|n| n.readers, of("Kate"))
            .set(|n| n.editor, Some(of("KATE")))
            .await
            .unwrap();
        let changed = author(1).await;
        assert_eq!(
            (changed.readers, changed.editor),
            (vec![of("ann"), of("kate")], Some(of("kate")))
        );
        let replaced = notes
            .replace(Note {
                author: of("Kate "),
                ..author(2).await
            })
            .await
            .unwrap();
        assert_eq!((replaced.author, replaced.signed.as_str()), (of("kate"), "kate"));
        assert!(matches!(
            notes
                .insert(NewNote {
                    author: of("nobody"),
                    ..new(4)
                })
                .await,
            Err(Error::MissingReference { .. })
        ));
        // What refers to a member is found when it is deleted.
        members.delete_by(|m| m.login, "KATE").await.unwrap();
        let left = notes.find_all().all().await.unwrap();
        let left: Vec<_> = left
            .into_iter()
            .map(|note| (note.id, note.author, note.editor, note.readers))
            .collect();
        assert_eq!(left, [(1, of("ann"), None, vec![of("ann")])]);
    });
}

#[odm_tests::test]
fn strings_are_normalized_in_values_conditions_and_upserts() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Member]).unwrap();
        odm.sync().await.unwrap();
        let members = odm.collection::<Member>();
        let new = |id, login: &str| NewMember {
            id,
            login: login.to_owned(),
            name: Some("  Kate Monster\n".to_owned()),
            contact: Contact {
                email: " Kate@Example.com ".to_owned(),
            },
            tags: vec!["Rust".to_owned()],
        };
        let kate = members.insert(new(1, " KATE ")).await.unwrap();
        assert_eq!(
            (kate.login.as_str(), kate.name.as_deref()),
            ("kate", Some("Kate Monster"))
        );
        assert_eq!(kate.contact.email, "kate@example.com");
        assert_eq!(kate.tags, ["rust"]);
        assert_eq!(members.get(1).await.unwrap().unwrap(), kate);
        // The unique index sees one login.
        assert!(matches!(
            members.insert(new(2, "Kate")).await,
            Err(Error::DuplicateKey { .. })
        ));
        // Conditions find what was stored, in each place.
        assert_eq!(members.find(|m| m.login.eq(" Kate")).count().await.unwrap(), 1);
        assert_eq!(
            members
                .find(|m| m.login.in_(["KATE", "x"]))
                .count()
                .await
                .unwrap(),
            1
        );
        assert_eq!(
            members
                .find(|m| m.contact.email.eq("KATE@example.com"))
                .count()
                .await
                .unwrap(),
            1
        );
        assert_eq!(
            members.find(|m| m.tags.contains("RUST")).count().await.unwrap(),
            1
        );
        assert_eq!(
            members
                .find(|m| m.name.eq(" Kate Monster "))
                .count()
                .await
                .unwrap(),
            1
        );
        // Changes.
        members
            .update(1)
            .set(|m| m.name, Some(" Kate ".to_owned()))
            .push(|m| m.tags, "RUST")
            .push(|m| m.tags, "MongoDB")
            .await
            .unwrap();
        members
            .update(1)
            .replace_item(|m| m.tags, "MONGODB", "DB")
            .await
            .unwrap();
        members.update(1).pull(|m| m.tags, "Rust").await.unwrap();
        let stored = members.get(1).await.unwrap().unwrap();
        assert_eq!(
            (stored.name.as_deref(), stored.tags),
            (Some("Kate"), vec!["db".to_owned()])
        );
        // An upsert by the key finds it.
        members
            .update_where(|m| m.login.eq(" KATE "))
            .set(|m| m.name, Some("Kate".to_owned()))
            .upsert_with(new(1, "kate"))
            .await
            .unwrap();
        let all = members.find_all().count().await.unwrap();
        assert_eq!(all, 1);
        // A replacement and a batch.
        members
            .save(Member {
                login: " KaTe".to_owned(),
                ..kate.clone()
            })
            .await
            .unwrap();
        assert_eq!(members.get(1).await.unwrap().unwrap().login, "kate");
        members
            .insert_many([new(5, "ANN"), new(6, "Bob ")])
            .await
            .unwrap();
        assert_eq!(
            members
                .find(|m| m.login.in_(["ann", "bob"]))
                .count()
                .await
                .unwrap(),
            2
        );
        let raw =
            t.db.collection::<Doc>("members")
                .find_one(doc! { "_id": 6 })
                .await
                .unwrap()
                .unwrap();
        assert_eq!(raw.get_str("login").unwrap(), "bob");
    });
}

fn plausible(booking: &Booking) -> Result<(), String> {
    if booking.guests.len() as i64 > booking.beds {
        Err(format!(
            "has {} guests in {} beds",
            booking.guests.len(),
            booking.beds
        ))
    } else {
        Ok(())
    }
}

fn a_real_name(name: &str) -> Result<(), &'static str> {
    if name == "anonymous" {
        Err("must be a real name")
    } else {
        Ok(())
    }
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Stay {
    pub starts: i64,
    pub ends: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(
    collection = "bookings",
    check = |b| expr(b.stay.ends).gt(expr(b.stay.starts)),
    check = |b| expr(b.deposit).lte(expr(b.price)),
    check_with = plausible,
)]
pub struct Booking {
    #[serde(rename = "_id")]
    pub id: i32,
    pub stay: Stay,
    pub price: i64,
    #[serde(default)]
    pub deposit: i64,
    pub beds: i64,
    #[embed(max = 5)]
    #[field(check_with = a_real_name)]
    pub guests: Vec<String>,
}

fn booking(id: i32, starts: i64, ends: i64) -> NewBooking {
    NewBooking {
        id,
        stay: Stay { starts, ends },
        price: 10,
        deposit: 0,
        beds: 2,
        guests: vec!["Kate".to_owned()],
    }
}

#[odm_tests::test]
fn comparisons_of_fields_hold_in_writes_and_in_the_server() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Booking]).unwrap();
        odm.sync().await.unwrap();
        odm.server().await.unwrap();
        let bookings = odm.collection::<Booking>();
        t.commands.clear();
        let later = (
            "".to_owned(),
            Rule::Check("must satisfy `expr(b.stay.ends).gt(expr(b.stay.starts))`".to_owned()),
        );
        let deposit = (
            "".to_owned(),
            Rule::Check("must satisfy `expr(b.deposit).lte(expr(b.price))`".to_owned()),
        );
        assert_eq!(
            rules(bookings.insert(booking(1, 2, 2)).await.unwrap_err()),
            std::slice::from_ref(&later)
        );
        let mut crowded = booking(1, 1, 2);
        crowded.guests = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let error = bookings.insert(crowded).await.unwrap_err();
        assert_eq!(
            rules(error),
            [("".to_owned(), Rule::Check("has 3 guests in 2 beds".to_owned()))]
        );
        let mut anonymous = booking(1, 1, 2);
        anonymous.guests = vec!["anonymous".to_owned()];
        let error = bookings.insert(anonymous).await.unwrap_err();
        assert_eq!(
            rules(error),
            [(
                "guests.0".to_owned(),
                Rule::Check("must be a real name".to_owned())
            )]
        );
        assert!(t.commands.take().is_empty(), "nothing was sent");
        bookings
            .insert_many([booking(1, 1, 4), booking(2, 1, 9)])
            .await
            .unwrap();
        // A change of one field is compared with what is stored of the others.
        let refused = async |error: Error| rules(error);
        let error = bookings.update(1).set(|b| b.stay.ends, 1).await.unwrap_err();
        assert_eq!(refused(error).await, std::slice::from_ref(&later));
        let error = bookings.update(1).inc(|b| b.stay.starts, 3).await.unwrap_err();
        assert_eq!(refused(error).await, std::slice::from_ref(&later));
        let error = bookings
            .update(1)
            .set(|b| b.stay, Stay { starts: 5, ends: 5 })
            .await
            .unwrap_err();
        assert_eq!(refused(error).await, std::slice::from_ref(&later));
        let error = bookings.update(1).max(|b| b.stay.starts, 4).await.unwrap_err();
        assert_eq!(refused(error).await, std::slice::from_ref(&later));
        let error = bookings
            .update(1)
            .compute(|b| b.deposit, |b| expr(b.price) + odm::expr::value(1))
            .await
            .unwrap_err();
        assert_eq!(refused(error).await, std::slice::from_ref(&deposit));
        let error = bookings
            .update(1)
            .push(|b| b.guests, "anonymous")
            .await
            .unwrap_err();
        assert_eq!(
            refused(error).await[0].1,
            Rule::Check("must be a real name".to_owned())
        );
        assert!(
            bookings
                .update_where(|b| b.price.gt(0))
                .set(|b| b.stay.ends, 2)
                .await
                .is_ok()
        );
        // Of many documents those are left as they are that would break it.
        let done = bookings
            .update_where(|b| b.price.gt(0))
            .inc(|b| b.deposit, 11)
            .await
            .unwrap();
        assert_eq!((done.matched, done.refused), (0, 2));
        // Both at once, and what keeps it.
        bookings
            .update(1)
            .set(|b| b.stay.starts, 10)
            .set(|b| b.stay.ends, 12)
            .inc(|b| b.deposit, 10)
            .await
            .unwrap();
        let stored = bookings.get(1).await.unwrap().unwrap();
        assert_eq!((stored.stay, stored.deposit), (Stay { starts: 10, ends: 12 }, 10));
        // The server holds it of other programs.
        let raw = t.db.collection::<Doc>("bookings");
        let change = raw.update_one(doc! { "_id": 1 }, doc! { "$set": { "stay.ends": 3_i64 } });
        assert!(change.await.is_err());
        assert!(odm.plan().await.unwrap().is_empty());
    });
}

#[odm_tests::test]
fn new_rules_are_planned_in_words_and_looked_for_in_documents() {
    mod before {
        use odm::prelude::*;
        use serde::{Deserialize, Serialize};

        #[derive(Document, Serialize, Deserialize)]
        #[document(collection = "bookings")]
        pub struct Booking {
            #[serde(rename = "_id")]
            pub id: i32,
            pub slug: String,
            pub starts: i64,
            pub ends: i64,
            #[embed(max = 5)]
            pub tags: Vec<String>,
        }
    }
    mod after {
        use super::expr;
        use odm::prelude::*;
        use serde::{Deserialize, Serialize};

        #[derive(Document, Serialize, Deserialize)]
        #[document(collection = "bookings", check = |b| expr(b.ends).gt(expr(b.starts)))]
        pub struct Booking {
            #[serde(rename = "_id")]
            pub id: i32,
            #[field(pattern = "[a-z]+")]
            pub slug: String,
            pub starts: i64,
            #[field(multiple_of = 2)]
            pub ends: i64,
            #[embed(max = 5)]
            #[field(unique_items, one_of("a", "b"))]
            pub tags: Vec<String>,
        }
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![before::Booking]).unwrap();
        odm.sync().await.unwrap();
        let old = before::NewBooking {
            id: 1,
            slug: "A".to_owned(),
            starts: 2,
            ends: 1,
            tags: vec!["a".to_owned(), "a".to_owned()],
        };
        odm.collection::<before::Booking>().insert(old).await.unwrap();
        let odm = Odm::new(t.db.clone(), models![after::Booking]).unwrap();
        let plan = odm.plan().await.unwrap();
        let shown = plan.to_string();
        for line in [
            "slug: a match of `[a-z]+` (new)",
            "ends: multiples of 2 (was 1)",
            "tags: no item twice (new)",
            "tags[]: one of \"a\", \"b\" (new)",
            "demand that `expr(b.ends).gt(expr(b.starts))`",
            "1 existing document",
        ] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "trips", check = |t| expr(t.ends).gt(expr(t.starts)))]
pub struct Trip {
    #[serde(rename = "_id")]
    pub id: i32,
    #[index(unique)]
    pub code: String,
    pub starts: i64,
    pub ends: i64,
}

/// Where a change has no condition of its own that keeps a comparison, the server's refusal names it.
#[odm_tests::test]
fn refusals_of_the_server_name_the_comparison() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Trip, Booking]).unwrap();
        odm.sync().await.unwrap();
        let trips = odm.collection::<Trip>();
        let trip = |id: i32, starts, ends| NewTrip {
            id,
            code: format!("T{id}"),
            starts,
            ends,
        };
        trips.insert(trip(1, 1, 5)).await.unwrap();
        let later = [(
            String::new(),
            Rule::Check("must satisfy `expr(t.ends).gt(expr(t.starts))`".to_owned()),
        )];
        // Upserts, which insert or update.
        for (id, code) in [(2, "T2"), (1, "T1")] {
            let refused = trips
                .update(id)
                .set(|t| t.starts, 9)
                .set(|t| t.ends, 3)
                .set_on_insert(|t| t.code, code)
                .upsert();
            assert_eq!(rules(refused.await.unwrap_err()), later, "{id}");
            let refused = trips.update(id).inc(|t| t.starts, 9).upsert_with(trip(id, 8, 9));
            assert_eq!(rules(refused.await.unwrap_err()), later, "{id}");
            let refused = trips
                .update_where(|t| t.code.eq(code))
                .inc(|t| t.starts, 9)
                .upsert_with(trip(id, 8, 9));
            assert_eq!(rules(refused.await.unwrap_err()), later, "{id}");
        }
        // MongoDB's own words: what the library can evaluate is a condition of the update.
        let set = doc! { "$set": { "starts": 9_i64 } };
        let refused = trips.update(1).raw(set.clone()).await.unwrap_err();
        assert_eq!(rules(refused), later);
        let done = trips.update_where(|t| t.starts.gt(0)).raw(set).await.unwrap();
        assert_eq!((done.matched, done.refused), (0, 1));
        let eight_more = || doc! { "$bit": { "starts": { "or": 8_i64 } } };
        let refused = trips.update(1).raw(eight_more()).await.unwrap_err();
        assert_eq!(rules(refused), later);
        let many = trips.update_where(|t| t.starts.gt(0)).raw(eight_more());
        assert_eq!(rules(many.await.unwrap_err()), later);
        // In a bulk, at its position.
        let bulk = odm.bulk().add(odm.collection().insert(trip(3, 1, 2))).add(
            trips
                .update(4)
                .set(|t| t.starts, 9)
                .set(|t| t.ends, 3)
                .set(|t| t.code, "T4")
                .upsert(),
        );
        match bulk.await.unwrap_err() {
            Error::Bulk { errors, .. } => {
                let [(1, Error::Invalid { .. })] = errors.as_slice() else {
                    panic!("{errors:?}")
                };
                // SecantusDB in Python, which `may_stand_still` knows, gives no details of a refusal within a `bulkWrite`.
                let text = errors[0].1.to_string();
                assert!(
                    text.contains("expr(t.ends).gt(expr(t.starts))")
                        || odm_tests::may_stand_still(&t.db).await,
                    "{text}"
                );
            }
            other => panic!("{other}"),
        }
        assert_eq!(trips.get(1).await.unwrap().unwrap().starts, 1);

        // Of several the server does not say which: a document satisfies all of them.
        let bookings = odm.collection::<Booking>();
        bookings.insert(booking(1, 1, 4)).await.unwrap();
        let both = [(
            String::new(),
            Rule::Check(
                "must satisfy `expr(b.stay.ends).gt(expr(b.stay.starts))` and `expr(b.deposit).lte(expr(b.price))`".to_owned(),
            ),
        )];
        let refused = bookings
            .update(1)
            .inc(|b| b.deposit, 99)
            .upsert_with(booking(1, 1, 2));
        assert_eq!(rules(refused.await.unwrap_err()), both);
        let refused = bookings
            .update(2)
            .inc(|b| b.deposit, 99)
            .upsert_with(booking(2, 1, 2));
        assert_eq!(rules(refused.await.unwrap_err()), both);
    });
}
