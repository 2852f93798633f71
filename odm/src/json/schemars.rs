//! `schemars::JsonSchema` of what goes out and comes in as JSON.

use super::Json;
use super::schema::{Schemas, Way};
use crate::model::described::Described;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::borrow::Cow;

impl<T: Described> JsonSchema for Json<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::described().name.into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("odm::json::{}", std::any::type_name::<T>()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let way = if generator.contract().is_deserialize() {
            Way::In
        } else {
            Way::Out
        };
        let path = generator.settings().definitions_path.trim_matches('/').to_owned();
        let mut schemas = Schemas::new(&format!("#/{path}/"));
        let of = T::described();
        let reference = schemas.describe(&of, way, of.name, &[]);
        generator.definitions_mut().extend(schemas.into_map());
        Schema::try_from(reference).unwrap_or_default()
    }
}
