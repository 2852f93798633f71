//! Documents without hooks.

super::models::declare!();
