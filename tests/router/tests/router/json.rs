//! JSON as BSON, with the fields in their order.

use bson::{Bson, Document};

/// Reads a text.
pub fn read(text: &str) -> Document {
    let mut reader = Reader { rest: text };
    match reader.value() {
        Bson::Document(document) => document,
        other => panic!("no object: {other}"),
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn take(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self) -> Bson {
        if self.take("{") {
            let mut fields = Document::new();
            while !self.take("}") {
                self.take(",");
                let name = self.text();
                assert!(self.take(":"), "{}", self.rest);
                fields.insert(name, self.value());
            }
            return match fields.keys().next().map(String::as_str) {
                Some("$minKey") => Bson::MinKey,
                Some("$maxKey") => Bson::MaxKey,
                _ => Bson::Document(fields),
            };
        }
        if self.take("[") {
            let mut items = Vec::new();
            while !self.take("]") {
                self.take(",");
                items.push(self.value());
            }
            return Bson::Array(items);
        }
        for (word, value) in [
            ("true", Bson::Boolean(true)),
            ("false", Bson::Boolean(false)),
            ("null", Bson::Null),
        ] {
            if self.take(word) {
                return value;
            }
        }
        if self.rest.starts_with('"') {
            return Bson::String(self.text());
        }
        let end = self
            .rest
            .find([',', '}', ']', ' ', '\n'])
            .unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        match number.parse::<i32>() {
            Ok(number) => Bson::Int32(number),
            Err(_) => Bson::Double(number.parse().unwrap_or_else(|_| panic!("no number: {number}"))),
        }
    }

    fn text(&mut self) -> String {
        assert!(self.take("\""), "{}", self.rest);
        let mut text = String::new();
        let mut letters = self.rest.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return text;
                }
                '\\' => match letters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, escaped)) => text.push(escaped),
                    None => break,
                },
                letter => text.push(letter),
            }
        }
        panic!("a text without an end")
    }
}
