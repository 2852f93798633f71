//! Where things are: the workspace and its target directory.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub use odm_launch::{find_program, is_executable, step};

/// The root of the workspace.
pub fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package
        .parent()
        .map_or_else(|| package.clone(), Path::to_path_buf)
}

/// Cargo's target directory, which also holds the tools installed here.
pub fn target_dir() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) if !dir.is_empty() => std::path::absolute(&dir).unwrap_or_else(|_| PathBuf::from(&dir)),
        _ => root().join("target"),
    }
}

/// A `cargo` command in the root of the workspace.
///
/// `cargo run` describes the package it runs in the environment. Build scripts that watch those variables
/// would run again on every change between a cargo started here and one started by hand, so they go.
pub fn cargo() -> tokio::process::Command {
    let mut command = tokio::process::Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    for (name, _) in env::vars_os() {
        if describes_a_package(&name) {
            command.env_remove(name);
        }
    }
    command
}

fn describes_a_package(variable: &OsStr) -> bool {
    variable
        .to_str()
        .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_lock_file() {
        assert!(root().join("Cargo.lock").is_file());
    }

    #[test]
    fn only_the_variables_about_a_package_are_removed() {
        for name in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"] {
            assert!(describes_a_package(OsStr::new(name)), "{name}");
        }
        for name in ["CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_TERM_COLOR", "RUSTFLAGS"] {
            assert!(!describes_a_package(OsStr::new(name)), "{name}");
        }
    }
}
