//! A function over all documents that names one by its id.
use odm::prelude::*;

async fn get<T: odm::Document>(odm: &Odm, id: T::Id) -> odm::Result<Option<T>> {
    odm.collection::<T>().get(id).await
}

async fn right<T: odm::Document>(odm: &Odm, id: T::Id) -> odm::Result<Option<T>> {
    odm.collection::<T>().get(Ref::<T>::new(id)).await
}

fn main() {}
