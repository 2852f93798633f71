//! The same documents with a hook.

super::models::declare!(, before_write = allow);
