//! The state of a reading of all documents, in two files: one has a line for each collection that was read to its end, and the one
//! beside it, `.part`, has what was made so far of the collection that is being read.

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The first line of a state: it is of no use for another reading.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) version: String,
    pub(super) database: String,
    pub(super) values: bool,
}

#[derive(Serialize)]
struct Line<'a, T> {
    collection: &'a str,
    gathered: &'a T,
}

#[derive(Deserialize)]
struct Named {
    collection: String,
}

#[derive(Deserialize)]
struct Whole<T> {
    collection: String,
    gathered: T,
}

/// A state that is open.
#[derive(Debug)]
pub(super) struct State {
    path: PathBuf,
    part: PathBuf,
    /// Where the line of each collection begins, and its length.
    lines: HashMap<String, (u64, u64)>,
    end: u64,
}

impl State {
    /// Opens a state; one of another database, version or program begins anew.
    pub(super) fn open(path: &Path, head: &Head) -> Result<Self> {
        let mut state = Self {
            path: path.to_owned(),
            part: beside(path, ".part"),
            lines: HashMap::new(),
            end: 0,
        };
        if state.read(head)? {
            // The last line may be cut, where the program ended while it was written.
            let file = OpenOptions::new().write(true).open(path);
            file.and_then(|file| file.set_len(state.end))
                .with_context(|| state.refused())?;
            return Ok(state);
        }
        let line = serde_json::to_string(head)? + "\n";
        created(path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .with_context(|| state.refused())?;
        state.end = line.len() as u64;
        let _ = fs::remove_file(&state.part);
        Ok(state)
    }

    /// Reads where the lines are. `false` where it is a state of something else, or none.
    fn read(&mut self, head: &Head) -> Result<bool> {
        let Ok(file) = File::open(&self.path) else {
            return Ok(false);
        };
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        reader
            .read_until(b'\n', &mut line)
            .with_context(|| self.refused())?;
        match serde_json::from_slice::<Head>(&line) {
            Ok(there) if there == *head => self.end = line.len() as u64,
            Err(_) if !line.is_empty() => bail!(
                "{} is no state of a reading: name another file with `--state`",
                self.path.display()
            ),
            _ => return Ok(false),
        }
        loop {
            line.clear();
            let length = reader
                .read_until(b'\n', &mut line)
                .with_context(|| self.refused())? as u64;
            match serde_json::from_slice::<Named>(&line) {
                Ok(named) if line.ends_with(b"\n") => {
                    self.lines.insert(named.collection, (self.end, length));
                    self.end += length;
                }
                _ => return Ok(true),
            }
        }
    }

    /// The result of a collection that was read to its end.
    pub(super) fn finished<T: DeserializeOwned>(&self, collection: &str) -> Result<Option<T>> {
        let Some((begin, length)) = self.lines.get(collection) else {
            return Ok(None);
        };
        let mut line = Vec::new();
        File::open(&self.path)
            .and_then(|mut file| {
                file.seek(SeekFrom::Start(*begin))?;
                file.take(*length).read_to_end(&mut line)
            })
            .with_context(|| self.refused())?;
        // The result of another build is made anew.
        let whole: Option<Whole<T>> = serde_json::from_slice(&line).ok();
        Ok(whole.map(|whole| whole.gathered))
    }

    /// The result, so far, of a collection that was being read.
    pub(super) fn running<T: DeserializeOwned>(&self, collection: &str) -> Option<T> {
        let file = File::open(&self.part).ok()?;
        let whole: Whole<T> = serde_json::from_reader(BufReader::new(file)).ok()?;
        (whole.collection == collection).then_some(whole.gathered)
    }

    /// Keeps what was made so far. The file is that of before or the new one, whenever the program ends.
    pub(super) fn keep<T: Serialize>(&self, collection: &str, gathered: &T) -> Result<()> {
        let new = beside(&self.path, ".new");
        let write = || {
            let mut out = BufWriter::new(created(&new)?);
            serde_json::to_writer(&mut out, &Line { collection, gathered })?;
            out.into_inner().map_err(|error| error.into_error())?;
            fs::rename(&new, &self.part)?;
            anyhow::Ok(())
        };
        write().with_context(|| self.refused())
    }

    /// Adds what was made of a collection that was read to its end.
    pub(super) fn add<T: Serialize>(&mut self, collection: &str, gathered: &T) -> Result<()> {
        let mut line = serde_json::to_vec(&Line { collection, gathered })?;
        line.push(b'\n');
        let file = OpenOptions::new().append(true).open(&self.path);
        file.and_then(|mut file| file.write_all(&line))
            .with_context(|| self.refused())?;
        let length = line.len() as u64;
        self.lines.insert(collection.to_owned(), (self.end, length));
        self.end += length;
        let _ = fs::remove_file(&self.part);
        Ok(())
    }

    /// Removes it.
    pub(super) fn remove(self) -> Result<()> {
        let _ = fs::remove_file(&self.part);
        fs::remove_file(&self.path).with_context(|| self.refused())
    }

    fn refused(&self) -> String {
        format!(
            "{} can't be read or written: name another file with `--state`",
            self.path.display()
        )
    }
}

/// Where the state of a reading of this database is kept by default: in the folder for temporary files.
pub fn default_state(database: &str) -> PathBuf {
    let name: String = database
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    std::env::temp_dir().join(format!("odm-introspect-{name}.state"))
}

/// A new file, which the user alone may read, as it has values of the database.
fn created(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(database: &str) -> Head {
        Head {
            version: "1".to_owned(),
            database: database.to_owned(),
            values: true,
        }
    }

    #[test]
    fn what_was_made_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let mut state = State::open(&path, &head("shop")).unwrap();
        state.keep("a", &vec![1]).unwrap();
        state.add("a", &vec![1, 2]).unwrap();
        state.keep("b", &vec![3]).unwrap();
        state.keep("b", &vec![4]).unwrap();
        let mut state = State::open(&path, &head("shop")).unwrap();
        assert_eq!(state.finished::<Vec<u64>>("a").unwrap(), Some(vec![1, 2]));
        assert_eq!(state.finished::<Vec<u64>>("b").unwrap(), None);
        assert_eq!(state.running::<Vec<u64>>("a"), None);
        assert_eq!(state.running::<Vec<u64>>("b"), Some(vec![4]));
        state.add("b", &vec![5]).unwrap();
        assert_eq!(state.finished::<Vec<u64>>("b").unwrap(), Some(vec![5]));
        state.remove().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_line_that_is_cut_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let mut state = State::open(&path, &head("shop")).unwrap();
        state.add("a", &vec![1]).unwrap();
        state.add("b", &vec![2]).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 4]).unwrap();
        let mut state = State::open(&path, &head("shop")).unwrap();
        assert_eq!(state.finished::<Vec<u64>>("a").unwrap(), Some(vec![1]));
        assert_eq!(state.finished::<Vec<u64>>("b").unwrap(), None);
        state.add("b", &vec![2]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn a_state_of_another_reading_begins_anew_and_another_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let mut state = State::open(&path, &head("shop")).unwrap();
        state.add("a", &vec![1]).unwrap();
        let state = State::open(&path, &head("other")).unwrap();
        assert_eq!(state.finished::<Vec<u64>>("a").unwrap(), None);
        fs::write(&path, "a letter\n").unwrap();
        assert!(State::open(&path, &head("shop")).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a letter\n");
    }
}
