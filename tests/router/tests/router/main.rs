//! The router before the server that `MONGODB_URI` names.

mod cluster;
mod crud;
mod facts;
mod json;
mod late;
mod streams;
mod support;
mod transactions;
