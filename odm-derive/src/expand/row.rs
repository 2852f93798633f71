//! `#[derive(Row)]`: a struct that the results of a query are read as.

use super::{Target, stored};
use crate::ast::Container;
use crate::attr::row::Row;
use crate::ctxt::Ctxt;
use crate::{check, fallback, receiver};
use proc_macro2::TokenStream;
use syn::DeriveInput;

pub fn derive(input: &DeriveInput) -> TokenStream {
    let input = &receiver::named(input);
    let cx = Ctxt::new();
    let row = Row::parse(&cx, &input.attrs);
    let container = Container::read(&cx, input);
    check::row(&cx, &container);
    match cx.check() {
        Ok(()) => stored::of_row(&Target::new(&container, row.krate)),
        Err(error) => fallback::row(&container, &row, &error),
    }
}
