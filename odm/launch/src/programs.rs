//! Programs on the PATH, their arguments, and what is said while they run.

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

/// `--flag value` pairs as arguments.
pub(super) fn flags<const N: usize>(pairs: [(&str, &OsStr); N]) -> Vec<OsString> {
    pairs
        .into_iter()
        .flat_map(|(flag, value)| [flag.into(), value.to_owned()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
