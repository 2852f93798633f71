//! The output of a command, and the answers to its questions.

use super::args::Cli;
use super::json;
use crate::Odm;
use serde_json::Value;
use std::io::{self, BufRead, Write};

/// The output of a command, and the source of answers to its questions.
///
/// ```
/// use odm::cli::Streams;
///
/// let (mut out, mut err) = (Vec::new(), Vec::new());
/// let mut yes = "y\n".as_bytes();
/// let streams = Streams::new(&mut out, &mut err).answers(&mut yes);
/// ```
pub struct Streams<'s> {
    pub(super) out: &'s mut (dyn Write + Send),
    pub(super) err: &'s mut (dyn Write + Send),
    pub(super) answers: Option<&'s mut (dyn BufRead + Send)>,
    pub(super) progress: bool,
}

impl<'s> Streams<'s> {
    /// Results go to `out`, questions and errors to `err`. Questions get no answer, and no progress is shown.
    ///
    /// ```
    /// let (mut out, mut err) = (Vec::new(), Vec::new());
    /// let streams = odm::cli::Streams::new(&mut out, &mut err);
    /// ```
    pub fn new(out: &'s mut (dyn Write + Send), err: &'s mut (dyn Write + Send)) -> Streams<'s> {
        Streams {
            out,
            err,
            answers: None,
            progress: false,
        }
    }

    /// Questions are asked, and this gives the answers, a line each.
    ///
    /// ```
    /// let (mut out, mut err) = (Vec::new(), Vec::new());
    /// let mut no = "n\n".as_bytes();
    /// let streams = odm::cli::Streams::new(&mut out, &mut err).answers(&mut no);
    /// ```
    pub fn answers(mut self, answers: &'s mut (dyn BufRead + Send)) -> Streams<'s> {
        self.answers = Some(answers);
        self
    }

    /// Asks a question, where answers are available.
    pub(super) fn ask(&mut self, question: &str) -> Option<bool> {
        let answers = self.answers.as_mut()?;
        let mut answer = String::new();
        let asked = write!(self.err, "{question} [y/N] ").and_then(|()| self.err.flush());
        if asked.is_err() || answers.read_line(&mut answer).is_err() {
            return None;
        }
        Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }
}

/// The result of a command.
pub(super) struct CommandEnd {
    pub(super) code: u8,
    pub(super) text: Option<String>,
    pub(super) json: Value,
    pub(super) error: Option<String>,
}

impl CommandEnd {
    pub(super) fn new(code: u8, text: impl ToString, json: Value) -> CommandEnd {
        CommandEnd {
            code,
            text: Some(text.to_string()),
            json,
            error: None,
        }
    }

    pub(super) fn show(self, odm: &Odm, cli: &Cli, streams: &mut Streams<'_>) -> io::Result<u8> {
        if cli.json {
            let json = json::framed(cli.command.name(), odm.database().name(), self.code, self.json);
            writeln!(streams.out, "{json:#}")?;
        } else if let Some(text) = self.text {
            // An image ends its last line itself.
            let end = if text.is_empty() || text.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            write!(streams.out, "{text}{end}")?;
        }
        if let Some(error) = self.error {
            writeln!(streams.err, "error: {error}")?;
        }
        streams.out.flush()?;
        streams.err.flush()?;
        Ok(self.code)
    }
}
