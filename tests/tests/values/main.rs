//! What the derives, BSON and a server make of values: numbers, equality, bounds, and what other clients have stored.
#![allow(missing_docs)]

mod bounds;
mod derive;
mod edges;
mod equality;
mod roundtrip;
mod stored;

use odm_tests::fixtures::models;
