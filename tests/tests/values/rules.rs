//! The rules of values: the verdict of the library and that of the server, and what updates do with them.

use odm::Error;
use odm::bson::{self, Document as Doc, doc};
use odm::error::Rule;
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
    #[field(one_of("new", "paid", "sent on"))]
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
            4 => sample.status = Some(self.text(&["new", "paid", "sent on", "New"])),
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
