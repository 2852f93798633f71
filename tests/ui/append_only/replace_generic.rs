//! A function over all documents that replaces one: what it asks for is not said.

use odm::prelude::*;

async fn wrong<T: Document + odm::write::Insertable<T>>(odm: Odm, document: T) -> odm::Result<T> {
    odm.collection::<T>().replace(document).await
}

fn main() {}
