//! Names of authors have a title, which their articles copy.

use odm::bson::doc;
use odm::migrate::Step;

pub async fn up(step: &Step) -> odm::Result<()> {
    let titled = doc! { "$concat": ["The ", "$name"] };
    step.collection("authors")
        .update(
            doc! { "name": { "$regex": "^author " } },
            [doc! { "$set": { "name": titled } }],
        )
        .await
}
