//! `utoipa::ToSchema` of what goes out as JSON; of `New…` structs of what comes in.

use super::Json;
use super::schema::Schemas;
use crate::model::described::Described;
use serde_json::Value;
use std::borrow::Cow;
use utoipa::openapi::{RefOr, schema::Schema};
use utoipa::{PartialSchema, ToSchema};

/// utoipa takes every schema of this library; what it does not know is left out.
fn read(schema: Value) -> RefOr<Schema> {
    serde_json::from_value(schema).unwrap_or_else(|_| RefOr::T(Schema::default()))
}

fn of<T: Described>() -> (Option<Value>, Vec<(String, RefOr<Schema>)>) {
    let mut schemas = Schemas::openapi();
    let reference = schemas.add::<T>();
    let mut all = schemas.into_map();
    let name = T::described().name;
    let own = all.remove(name).or(Some(reference));
    (
        own,
        all.into_iter()
            .map(|(name, schema)| (name, read(schema)))
            .collect(),
    )
}

impl<T: Described> PartialSchema for Json<T> {
    fn schema() -> RefOr<Schema> {
        of::<T>().0.map_or_else(|| RefOr::T(Schema::default()), read)
    }
}

impl<T: Described> ToSchema for Json<T> {
    fn name() -> Cow<'static, str> {
        T::described().name.into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend(of::<T>().1);
    }
}
