//! The commands that a test sent.

use crate::store::trace::executed;
use mongodb::bson::{Bson, Document};
use mongodb::event::EventHandler;
use mongodb::event::command::{CommandEvent, CommandStartedEvent};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

/// Commands that say nothing about the application: the driver sends them by itself.
const HOUSEKEEPING: [&str; 5] = ["endSessions", "hello", "isMaster", "ping", "killCursors"];

/// The fields of a command that belong to the connection, the session and the transaction.
pub(super) const OF_THE_CONNECTION: [&str; 11] = [
    "lsid",
    "txnNumber",
    "startTransaction",
    "autocommit",
    "$db",
    "$clusterTime",
    "$readPreference",
    "readConcern",
    "writeConcern",
    "apiVersion",
    "comment",
];

/// A command that was sent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sent {
    /// Its name: `find`, `update`.
    pub name: String,
    /// The collection that it names.
    pub collection: Option<String>,
    /// The whole command.
    pub command: Document,
    /// The operation of the library that sent it, as its span in `tracing` names it: `get`, `update_where`. `None` for a command that
    /// the test sent by the driver.
    pub operation: Option<&'static str>,
}

impl Sent {
    fn of(event: &CommandStartedEvent) -> Sent {
        let name = event.command_name.clone();
        // The rest of a result names its collection elsewhere.
        let at = if name == "getMore" {
            "collection"
        } else {
            name.as_str()
        };
        let collection = event.command.get_str(at).ok().map(str::to_owned);
        Sent {
            name,
            collection,
            command: event.command.clone(),
            operation: executed::operation(),
        }
    }

    /// The command without its values: commands of one shape differ in values alone.
    ///
    /// ```
    /// # use odm::testing::Commands;
    /// # fn shapes(commands: &Commands) {
    /// for sent in commands.all() {
    ///     println!("{}", sent.shape()); // find people { filter: { email: { $eq: ? } }, limit: ? }
    /// }
    /// # }
    /// ```
    pub fn shape(&self) -> String {
        let mut rest = Document::new();
        for (key, value) in &self.command {
            let is_known =
                key == &self.name || key == "collection" || OF_THE_CONNECTION.contains(&key.as_str());
            if !is_known {
                rest.insert(key, value.clone());
            }
        }
        let collection = self.collection.as_deref().unwrap_or("-");
        format!("{} {collection} {}", self.name, shape_of(&Bson::Document(rest)))
    }
}

/// A value's shape: names of fields and operators, and `?` for each value.
fn shape_of(value: &Bson) -> String {
    match value {
        Bson::Document(document) if document.is_empty() => "{}".to_owned(),
        Bson::Document(document) => {
            let fields: Vec<String> = document
                .iter()
                .map(|(key, value)| format!("{key}: {}", shape_of(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Bson::Array(items) => {
            let mut shapes: Vec<String> = items.iter().map(shape_of).collect();
            // The number of values in a list is a value, too.
            shapes.dedup();
            format!("[{}]", shapes.join(", "))
        }
        _ => "?".to_owned(),
    }
}

/// The commands that a test sent, in their order. The driver's own housekeeping is left out.
///
/// ```
/// # use samples::model::*;
/// # async fn test(db: odm::testing::TestDatabase, people: Collection<Person>) -> odm::Result<()> {
/// db.commands().clear();
/// people.find(|p| p.age.gte(18)).all().await?;
/// assert_eq!(db.commands().names(), ["find"]); // one round trip
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Commands(Arc<Mutex<Vec<Sent>>>);

impl Commands {
    fn list(&self) -> MutexGuard<'_, Vec<Sent>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// All of them.
    pub fn all(&self) -> Vec<Sent> {
        self.list().clone()
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.list().iter().map(|sent| sent.name.clone()).collect()
    }

    /// How many commands of a name were sent.
    ///
    /// ```
    /// # fn example(commands: odm::testing::Commands) {
    /// assert!(commands.count("find") <= 2);
    /// # }
    /// ```
    pub fn count(&self, name: &str) -> usize {
        self.list().iter().filter(|sent| sent.name == name).count()
    }

    /// Forgets what was sent so far.
    pub fn clear(&self) {
        self.list().clear();
    }

    /// Prints them to standard output: the output of a test is shown where it fails, and with `--nocapture`.
    pub fn print(&self) {
        println!("{self}");
    }

    /// How often each shape of command was sent.
    pub(super) fn shapes(&self) -> BTreeMap<String, usize> {
        let mut shapes = BTreeMap::new();
        // The batches of one result are not one query repeated.
        for sent in self.list().iter().filter(|sent| sent.name != "getMore") {
            *shapes.entry(sent.shape()).or_default() += 1;
        }
        shapes
    }

    /// Records the commands to a database.
    pub(super) fn handler(&self, database: String) -> EventHandler<CommandEvent> {
        let commands = self.clone();
        EventHandler::callback(move |event| {
            if let CommandEvent::Started(started) = &event
                && started.db == database
                && !HOUSEKEEPING.contains(&started.command_name.as_str())
            {
                commands.list().push(Sent::of(started));
            }
        })
    }
}

impl fmt::Display for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.list();
        write!(f, "{} commands", list.len())?;
        for (n, sent) in list.iter().enumerate() {
            let mut command = sent.command.clone();
            for field in OF_THE_CONNECTION {
                command.remove(field);
            }
            write!(f, "\n{:4}. {command}", n + 1)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::doc;

    fn sent(command: Document) -> Sent {
        let name = command.keys().next().cloned().unwrap_or_default();
        Sent {
            collection: command.get_str(&name).ok().map(str::to_owned),
            name,
            command,
            operation: None,
        }
    }

    #[test]
    fn commands_of_one_shape_differ_in_values_alone() {
        let of = |email: &str, session: i32| {
            sent(doc! { "find": "people", "filter": { "email": { "$eq": email } }, "lsid": session }).shape()
        };
        assert_eq!(of("a@example.com", 1), of("b@example.com", 2));
        assert_eq!(of("a", 1), "find people { filter: { email: { $eq: ? } } }");
        let other = sent(doc! { "find": "people", "filter": { "age": { "$eq": 1 } } }).shape();
        assert_ne!(of("a", 1), other);
    }

    #[test]
    fn the_length_of_a_list_is_no_part_of_the_shape() {
        let of = |ids: Vec<i32>| sent(doc! { "find": "people", "filter": { "_id": { "$in": ids } } }).shape();
        assert_eq!(of(vec![1]), of(vec![1, 2, 3]));
    }

    #[test]
    fn shapes_are_counted_and_further_batches_are_not() {
        let commands = Commands::default();
        for n in 0..3 {
            commands
                .list()
                .push(sent(doc! { "find": "people", "filter": { "_id": n } }));
            commands
                .list()
                .push(sent(doc! { "getMore": n, "collection": "people" }));
        }
        let shapes = commands.shapes();
        assert_eq!(shapes.len(), 1, "{shapes:?}");
        assert_eq!(shapes.values().sum::<usize>(), 3);
        assert_eq!(commands.count("find"), 3);
    }

    #[test]
    fn what_is_printed_has_neither_session_nor_cluster_time() {
        let commands = Commands::default();
        commands.list().push(sent(
            doc! { "find": "people", "filter": {}, "lsid": 7, "$db": "x" },
        ));
        assert_eq!(
            commands.to_string(),
            "1 commands\n   1. { \"find\": \"people\", \"filter\": {} }"
        );
    }
}
