//! A text as a tree. A name that stands twice in one object is a mistake: parsers differ in which of the two values they take.

use super::faults::{Faults, JsonPlace};
use crate::error::{BadValue, ValueProblem};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;

/// The name of the only entry as which `serde_json` gives a number where its feature `arbitrary_precision` is on.
const NUMBER: &str = "$serde_json::private::Number";

/// The tree, and the names that stand twice.
pub(super) fn parse<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(Value, Vec<BadValue>), D::Error> {
    let faults = RefCell::new(Faults::default());
    let tree = JsonTree {
        at: &JsonPlace::Root,
        faults: &faults,
    };
    let value = tree.deserialize(deserializer)?;
    Ok((value, faults.into_inner().into_values()))
}

/// Reads the value at a place.
#[derive(Clone, Copy)]
struct JsonTree<'a> {
    at: &'a JsonPlace<'a>,
    faults: &'a RefCell<Faults>,
}

impl<'de> DeserializeSeed<'de> for JsonTree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonTree<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        loop {
            let at = JsonPlace::Item(self.at, all.len());
            let tree = JsonTree { at: &at, ..self };
            match items.next_element_seed(tree)? {
                Some(item) => all.push(item),
                None => return Ok(Value::Array(all)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if name == NUMBER {
                let text: String = entries.next_value()?;
                let number: Number = text.parse().map_err(A::Error::custom)?;
                return Ok(Value::Number(number));
            }
            let at = JsonPlace::Name(self.at, &name);
            let value = entries.next_value_seed(JsonTree { at: &at, ..self })?;
            if all.contains_key(&name) {
                let mut faults = self.faults.borrow_mut();
                faults.add::<()>(&at, ValueProblem::Repeated, "stands twice in one object");
                continue;
            }
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}
