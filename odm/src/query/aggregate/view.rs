//! The stages of a view, as a function of the application makes them.

use super::Aggregate;
use crate::store::core::Core;
use crate::store::scopes::Scopes;
use crate::{Document, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson;
use std::any::Any;

/// Calls the function with a pipeline over the documents that the view shows, whatever the scope of the handle.
#[doc(hidden)]
pub fn view_stages<'h, T, S, F>(
    handle: &'h (dyn Any + Send + Sync),
    pipeline: F,
) -> BoxFuture<'h, Result<Vec<bson::Document>>>
where
    T: Document,
    F: FnOnce(Aggregate<T>) -> Aggregate<T, S>,
{
    let pipeline = handle.downcast_ref::<Odm>().map(|odm| {
        let odm = odm.clone().with_scopes(Scopes::default());
        pipeline(Aggregate::new(Core::new(&odm, T::META, None))).pipeline
    });
    async move {
        match pipeline {
            Some(mut pipeline) => pipeline.prepare().await,
            // The library passes its own handle.
            None => Ok(Vec::new()),
        }
    }
    .boxed()
}
