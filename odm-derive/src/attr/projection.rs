//! `#[projection(of = Movie)]`.

use super::{keys, krate, once, read, skip, unknown};
use crate::ctxt::Ctxt;
use syn::{Attribute, Path};

#[derive(Default)]
pub struct Projection {
    pub krate: Option<Path>,
    pub of: Option<Path>,
}

impl Projection {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Projection {
        let mut projection = Projection::default();
        read(cx, attrs, "projection", &keys::PROJECTION, |meta| {
            if meta.path.is_ident("of") {
                once(&mut projection.of, meta.value()?.parse()?, meta)
            } else if meta.path.is_ident("crate") {
                once(&mut projection.krate, krate(meta)?, meta)
            } else if meta.path.is_ident("serde") {
                skip(meta) // read with the type
            } else {
                Err(unknown(meta, &keys::PROJECTION))
            }
        });
        projection
    }
}
