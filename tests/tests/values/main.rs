//! What numbers may become, and what a missing field means.

mod defaults;
mod numbers;
