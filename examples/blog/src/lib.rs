//! A blog as a web service: authors, posts, comments in buckets, and a feed.
//!
//! `main.rs` starts it, `README.md` says how, and the page `application.md` of the
//! guide explains it.
#![allow(missing_docs)] // the program is read, not linked

pub mod api;
pub mod config;
pub mod metrics;
pub mod model;
pub mod openapi;
pub mod problem;
