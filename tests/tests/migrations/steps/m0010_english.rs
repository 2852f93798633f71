//! Languages are written out.

use odm::bson::doc;
use odm::migrate::Step;

pub async fn up(step: &Step) -> odm::Result<()> {
    let english = doc! { "$set": { "language": "english" } };
    step.collection("articles")
        .update(doc! { "language": "en" }, [english])
        .await
}
