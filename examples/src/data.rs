//! Where the real data are.

use std::path::{Path, PathBuf};

/// The file of this name beside the workspace, if it is there.
pub fn beside(name: &str) -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    shared.join(name).canonicalize().ok()
}
