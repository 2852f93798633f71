//! The schema in the database: collections, validators and indexes, as the models declare them.
//!
//! [`Odm::plan`](crate::Odm::plan) compares what is declared with what is there, and says in words what would change;
//! [`Odm::apply`](crate::Odm::apply) changes it; [`Odm::sync`](crate::Odm::sync) does both until nothing is left. An index with other
//! options than the declared one is replaced where the plan is told to, by [`Plan::replace`]. What no
//! model declares is left alone: another index, another collection, another validator of a collection of ours.
//!
//! The validator is a `$jsonSchema` of every declared field, with a condition beside it that UUIDs are ones. Two rules are checked before the network only, since MongoDB
//! has no keyword for them: the length of binary values (`max_len`, `min_len`), and of a map's keys (`key_len`). An `$expr`
//! beside the schema could say the first, but its refusal names no field; a pattern of the keys' names would depend on how
//! the server's regular expressions count characters. A recursive type is written out to its declared depth.

// `json_schema` and `index` express the declarations in MongoDB's terms; `validator` combines them with the application's own
// validator; `plan` finds the differences and `apply` removes them; `words` describes them. `declared` finds indexes that can't
// work on any server; `partial` knows the filters of partial indexes, `language` those of text indexes, `search` the indexes of Atlas,
// `shard` how a cluster distributes collections, `shard_key` the indexes that it needs for that. `replace` says how an index that is there
// becomes the declared one, and retires the one that it supersedes by what `usage` reads.
mod apply;
mod checks;
mod declared;
mod existing;
mod id_order;
pub(crate) mod index;
mod json_schema;
mod kind;
mod language;
mod partial;
mod plan;
mod renamed;
mod replace;
mod rust_names;
mod search;
mod shard;
mod shard_key;
mod usage;
mod uuids;
mod validator;
mod values;
mod words;

pub use crate::model::document::{Action as ValidationAction, Level as ValidationLevel, Validation};
pub use apply::Applied;
pub(crate) use apply::remove_index;
pub(crate) use declared::problems;
pub use existing::Violations;
pub(crate) use existing::indexes;
pub(crate) use index::parallel;
#[cfg(feature = "cli")]
pub(crate) use json_schema::tighter;
#[cfg(feature = "cli")]
pub(crate) use plan::declared_indexes;
pub use plan::{Change, Lacking, Plan, SharedValues};
pub use renamed::Renamed;
pub use replace::{ReplaceWay, RetireStep};
pub(crate) use shard_key::{StoredShardKey, StoredShardKeys};
pub use usage::{IndexReport, ReportedIndex};
#[cfg(feature = "cli")]
pub(crate) use validator::declared as declared_rules;
pub(crate) use values::plural;
#[cfg(feature = "cli")]
pub(crate) use values::same_document;
#[cfg(feature = "cli")]
pub(crate) use words::diff as rules_in_words;

#[cfg(test)]
mod tests {
    use crate::Odm;

    #[test]
    fn a_task_may_do_everything() {
        fn sendable<T: Send>(_: fn(&'static Odm, &'static super::Plan) -> T) {}
        sendable(|odm, _| odm.plan());
        sendable(|odm, _| odm.sync());
        sendable(|odm, plan| odm.apply(plan));
    }
}
