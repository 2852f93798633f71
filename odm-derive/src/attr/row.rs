//! `#[row(crate = "…")]`.

use super::{keys, krate, once, read, skip, unknown};
use crate::ctxt::Ctxt;
use syn::{Attribute, Path};

#[derive(Default)]
pub struct Row {
    pub krate: Option<Path>,
}

impl Row {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Row {
        let mut row = Row::default();
        read(cx, attrs, "row", &keys::ROW, |meta| {
            if meta.path.is_ident("crate") {
                once(&mut row.krate, krate(meta)?, meta)
            } else if meta.path.is_ident("rename_all") || meta.path.is_ident("serde") {
                skip(meta) // read with the type
            } else {
                Err(unknown(meta, &keys::ROW))
            }
        });
        row
    }
}
