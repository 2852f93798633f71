//! How far the reconcilers of a program, and the change streams with a name, have come, as the database stores it, and whether
//! the server can still go on there.

use crate::graph::Graph;
use crate::model::document::DocumentMeta;
use crate::model::own_fields::Token;
use crate::store::each::is_one_of;
use crate::{Odm, Result, rules};
use mongodb::bson::{DateTime, Document, Timestamp, doc};
use mongodb::change_stream::event::ResumeToken;
use mongodb::options::{CollectionOptions, ReadConcern, WriteConcern};
use std::sync::atomic::{AtomicI64, Ordering};

/// The collection in which reconcilers and named change streams keep their places, and by which reconcilers know that they have
/// caught up.
pub(crate) const STATE: &str = "_odm_state";

/// Entries that were not written for this time are removed: resume tokens of models that no program has any more, heartbeats of
/// processes that ended. A program that returns later compares everything, as it would have to anyway: hardly a server keeps
/// changes for that long.
const KEPT: i64 = 30 * 24 * 60 * 60 * 1_000;

/// Where a change stream begins.
#[derive(Clone, Debug)]
pub(crate) enum Begin {
    /// With the changes from now on.
    Now,
    /// Behind this change.
    After(ResumeToken),
    /// With the changes of this time.
    At(Timestamp),
}

impl Begin {
    /// At a stored token, if there is one.
    pub(crate) fn at(token: Option<&ResumeToken>) -> Begin {
        token.cloned().map_or(Begin::Now, Begin::After)
    }
}

/// Made another one when [`filter`] lets other changes through: a server goes on only at a change that it lets through,
/// too.
const FILTER: i32 = 1;

pub(crate) fn state(odm: &Odm) -> mongodb::Collection<Document> {
    let options = CollectionOptions::builder()
        .read_concern(ReadConcern::majority())
        .write_concern(WriteConcern::majority())
        .build();
    odm.database().collection_with_options(STATE, options)
}

/// Writes a heartbeat, which comes back through the stream behind everything before it.
pub(crate) async fn beat(odm: &Odm, name: Token, count: &AtomicI64) -> Result<i64> {
    let beat = count.fetch_add(1, Ordering::Relaxed) + 1;
    let update = doc! { "$max": { "beat": beat }, "$set": { "at": DateTime::now() } };
    state(odm)
        .update_one(doc! { "_id": name }, update)
        .upsert(true)
        .await?;
    Ok(beat)
}

/// Removes what was left long ago.
pub(crate) async fn tidy(odm: &Odm) -> Result<()> {
    let long_ago = DateTime::from_millis(DateTime::now().timestamp_millis().saturating_sub(KEPT));
    state(odm).delete_many(doc! { "at": { "$lt": long_ago } }).await?;
    Ok(())
}

/// Which changes are followed: those of the collections that take part in copies or have two-way references, a collection
/// that gets the name of one, and the heartbeats, of all reconcilers. It is the same in all processes with the same models,
/// since MongoDB resumes only at a change that matches the filter, whichever process has stored the token. Places are stored in
/// the same collection, and are not followed.
pub(crate) fn filter(odm: &Odm) -> Document {
    let names = watched(odm);
    doc! { "$or": [
        { "ns.coll": { "$in": &names } },
        { "to.coll": { "$in": &names } },
        { "ns.coll": STATE, "documentKey._id": { "$type": "objectId" } },
    ] }
}

fn watched(odm: &Odm) -> Vec<&'static str> {
    let mut names: Vec<&str> = followed(odm.graph()).map(|meta| meta.collection).collect();
    names.sort_unstable();
    names
}

/// The documents whose changes are followed: those of which something is kept true, in others or in themselves.
pub(crate) fn followed(graph: &Graph) -> impl Iterator<Item = &'static DocumentMeta> {
    graph
        .models()
        .filter(|meta| graph.is_depended_on(meta) || meta.bucket.is_some())
}

/// A place in a change stream.
#[derive(Debug)]
pub(crate) struct StreamPosition {
    id: String,
    /// The field with the time of the last write. [`tidy`] goes by `at`.
    time: &'static str,
}

impl StreamPosition {
    /// That of all reconcilers with the same models.
    ///
    /// It says that everything before it was taken up, which is true of what these models declare and of nothing else:
    /// programs with other models have other places, and one whose declarations are changed begins with a comparison. The
    /// place that it had before is harmless, and is removed after some weeks.
    pub(crate) fn of(odm: &Odm) -> StreamPosition {
        let graph = odm.graph();
        let declared = rules::values(graph).map(|value| value.declaration(graph));
        let mut edges: Vec<String> = declared
            .map(|edge| doc! { "id": edge.id, "from": edge.from, "is": edge.is }.to_string())
            .collect();
        edges.sort_unstable();
        let mut followed = doc! { "filter": FILTER, "collections": watched(odm), "edges": edges };
        let mut links: Vec<String> = graph
            .depended_on()
            .flat_map(|meta| graph.outgoing(meta).filter(|edge| edge.is_two_way()))
            .map(|edge| format!("{}.{}", edge.holder.collection, edge.path))
            .collect();
        links.sort_unstable();
        if !links.is_empty() {
            followed.insert("links", links);
        }
        StreamPosition {
            id: format!("reconciler:{}", fingerprint(followed.to_string().as_bytes())),
            time: "at",
        }
    }

    /// That of the change stream with this name. It is kept however old it is: a stream that can't go on there fails, where one
    /// without a place begins with the changes from now on.
    pub(crate) fn named(name: &str) -> StreamPosition {
        StreamPosition {
            id: format!("watch:{name}"),
            time: "stored_at",
        }
    }

    /// The stored entry of it.
    pub(crate) async fn entry(&self, odm: &Odm) -> Result<Option<Document>> {
        Ok(state(odm).find_one(doc! { "_id": &self.id }).await?)
    }

    /// Where somebody has left it: `None` where everything is to be compared first.
    pub(crate) async fn stored(&self, odm: &Odm) -> Result<Option<ResumeToken>> {
        Ok(self.entry(odm).await?.as_ref().and_then(token_of))
    }

    pub(crate) async fn store(&self, odm: &Odm, token: Option<&ResumeToken>) -> Result<()> {
        match token {
            Some(token) => self.store_with(odm, token, Document::new()).await,
            None => Ok(()),
        }
    }

    /// Stores the token with other fields.
    pub(crate) async fn store_with(&self, odm: &Odm, token: &ResumeToken, mut more: Document) -> Result<()> {
        let Ok(token) = mongodb::bson::serialize_to_bson(token) else {
            return Ok(());
        };
        more.insert("token", token);
        more.insert(self.time, DateTime::now());
        state(odm)
            .update_one(doc! { "_id": &self.id }, doc! { "$set": more })
            .upsert(true)
            .await?;
        Ok(())
    }
}

/// The token in what is stored of a place.
pub(crate) fn token_of(entry: &Document) -> Option<ResumeToken> {
    let token = entry.get("token")?.clone();
    mongodb::bson::deserialize_from_bson(token).ok()
}

/// A number for some bytes that is the same in every process and in every version of the compiler (FNV-1a), in hexadecimal digits.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Whether the server says of a stream that it can't go on: it has no more what came since, or does not know the place.
/// Every other error passes, and the place is kept: an election, an interruption, a right that is missing.
pub(crate) fn is_lost(error: &mongodb::error::Error) -> bool {
    // InvalidResumeToken, ChangeStreamFatalError, ChangeStreamHistoryLost, CappedPositionLost; BSONObjectTooLarge: the next
    // change is greater than a document may be, and would be so whenever it is asked for.
    is_one_of(error, &[260, 280, 286, 136, 10334]) || error.contains_label("NonResumableChangeStreamError")
}

/// The same of the answer to a request to go on at a place, which the server may not find, or not be able to read.
pub(crate) fn is_refused(error: &mongodb::error::Error) -> bool {
    is_lost(error) || is_one_of(error, &[40585, 40615, 40647, 40648, 40649, 50811])
}

/// The same where nothing else in the request can be wrong: an older server, or one of another kind, may answer so to a token of
/// a newer one.
pub(crate) fn is_unknown(error: &mongodb::error::Error) -> bool {
    // BadValue, FailedToParse.
    is_refused(error) || is_one_of(error, &[2, 9])
}

#[cfg(test)]
mod tests {
    use crate::upkeep::position::*;
    use mongodb::error::CommandError;
    use mongodb::error::ErrorKind;

    fn refusal(code: i32) -> mongodb::error::Error {
        let reply = doc! { "code": code, "codeName": "", "errmsg": "" };
        let error: CommandError = mongodb::bson::deserialize_from_document(reply).unwrap();
        ErrorKind::Command(error).into()
    }

    #[test]
    fn a_place_is_lost_only_where_the_server_says_so() {
        for code in [136, 260, 280, 286, 10334] {
            assert!(is_lost(&refusal(code)), "{code}");
            assert!(is_refused(&refusal(code)), "{code}");
            assert!(is_unknown(&refusal(code)), "{code}");
        }
        // The server reports a missing privilege only in reply to the token.
        for code in [2, 9, 40585, 40615, 40647, 40648, 40649, 50811] {
            assert!(!is_lost(&refusal(code)), "{code}");
            assert_eq!(is_refused(&refusal(code)), code > 9, "{code}");
            assert!(is_unknown(&refusal(code)), "{code}");
        }
        // Elections, interruptions, moved chunks, a missing right, a lost cursor.
        for code in [
            13, 18, 43, 50, 63, 91, 133, 134, 150, 189, 202, 234, 262, 10107, 11600, 11602, 13435, 13436,
        ] {
            assert!(!is_lost(&refusal(code)), "{code}");
            assert!(!is_unknown(&refusal(code)), "{code}");
        }
        let io: mongodb::error::Error = std::io::Error::other("reset").into();
        assert!(!is_lost(&io) && !is_unknown(&io));
    }

    /// As they are stored: another number would let all programs begin anew.
    #[test]
    fn a_fingerprint_is_the_same_for_ever() {
        assert_eq!(fingerprint(b""), "cbf29ce484222325");
        assert_eq!(fingerprint(b"a"), "af63dc4c8601ec8c");
        assert_eq!(fingerprint(b"foobar"), "85944171f73967e8");
    }
}
