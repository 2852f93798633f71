//! Buckets in all their forms.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    #[serde(rename = "_id")]
    pub id: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Post)]
pub struct Plain {
    pub name: String,
}

type Points = u32;

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[bucket(
    of = self::Post,
    name = Votes,
    collection = "votes",
    size = 5000,
    time = given_at,
    sum(points_given, weight, bonus),
    rename(
        parent = about,
        items = list,
        page = number,
        count = how_many,
        first = since,
        last = until,
        sum_weight = total_weight,
    ),
    on_delete = restrict,
    check = false
)]
pub struct Vote {
    pub given_at: DateTime,
    pub points_given: Points,
    pub weight: f32,
    pub bonus: Option<i64>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Post, per = month, time = at, rename(start = month))]
struct View {
    at: DateTime,
    r#type: String,
}

/// An item without `Clone`, `Debug` and `PartialEq`: its bucket has none of them either.
#[derive(Embed)]
#[bucket(of = Post)]
struct Bare {
    text: String,
}

/// Reads and deletions by an application, as of any document.
#[allow(dead_code)]
async fn read(buckets: odm::Collection<Votes>, id: ObjectId) -> odm::Result<()> {
    buckets
        .find(|v| v.about.eq(Ref::new(1)) & v.room.gt(0))
        .filter(|v| v.list.elem(|vote| vote.weight.gt(1.0)) & v.list.bonus.exists(true))
        .sort(|v| v.sum_bonus.desc())
        .include(|v| v.about)
        .all()
        .await?;
    buckets.delete_where(|v| v.how_many.eq(0)).await?;
    buckets.delete(id).await?;
    Ok(())
}

pub(crate) fn main() {
    let _ = odm::models![Post, PlainBucket, Votes, ViewBucket, BareBucket];
    let votes = Votes {
        id: ObjectId::new(),
        about: Ref::new(1),
        number: 1,
        how_many: 1,
        list: vec![],
        since: None,
        until: None,
        sum_points_given: 3_i64,
        total_weight: 0.5_f64,
        sum_bonus: 0_i64,
        room: 4999,
        version: 1,
    };
    assert_eq!(votes, votes.clone());
    assert_eq!(Votes::paths().list.points_given.name(), "list.pointsGiven");
    assert_eq!(ViewBucket::paths().month.name(), "month");
}
