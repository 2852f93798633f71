//! Where things are (workspace, target directory, programs on PATH), and what is said while a command runs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Instant;

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Prints one line to stderr with the seconds since the first such line.
pub fn step(message: impl std::fmt::Display) {
    eprintln!("[{:6.1}s] {message}", STARTED.elapsed().as_secs_f64());
}

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

/// Finds an executable by name in PATH.
pub fn find_program(name: &str) -> Option<PathBuf> {
    find_in(name, &env::var_os("PATH").unwrap_or_default())
}

fn find_in(name: &str, path: &OsStr) -> Option<PathBuf> {
    let mut file = OsString::from(name);
    file.push(env::consts::EXE_SUFFIX);
    env::split_paths(path)
        .map(|dir| dir.join(&file))
        .find(|candidate| is_executable(candidate))
}

/// Whether `path` is a file that may be run.
pub fn is_executable(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    metadata.is_file()
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

    #[cfg(unix)]
    #[test]
    fn programs_are_found_in_order_and_only_when_executable() -> anyhow::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let (first, second) = (tempfile::tempdir()?, tempfile::tempdir()?);
        std::fs::write(first.path().join("tool"), "")?;
        let wanted = second.path().join("tool");
        std::fs::write(&wanted, "")?;
        let path = env::join_paths([first.path(), second.path()])?;
        assert_eq!(find_in("tool", &path), None);
        std::fs::set_permissions(&wanted, std::fs::Permissions::from_mode(0o755))?;
        assert_eq!(find_in("tool", &path), Some(wanted));
        Ok(())
    }
}
