//! `#[field(pattern = "…")]`: the syntax that Rust's expressions and the server's (PCRE2) have in common and understand alike,
//! rewritten so that nothing is left which depends on an engine, a flag or an alphabet.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

/// The patterns of `email` and `url`: those of `odm/src/error/violation.rs`, as a test compares.
pub const EMAIL: &str = "[a-zA-Z0-9.!#$%&'*+/=?\\^_`\\{|\\}~\\-]+@[a-zA-Z0-9](?:[a-zA-Z0-9\\-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9\\-]{0,61}[a-zA-Z0-9])?)*";
pub const URL: &str = "https?://(?:[a-zA-Z0-9](?:[a-zA-Z0-9.\\-]*[a-zA-Z0-9])?|\\[[0-9a-fA-F:.]+\\])(?::[0-9]{1,5})?(?:[/?#][!-~]*)?";

/// Whether a whole string matches a pattern that has been rewritten. One that is too large to be compiled is left to the server.
pub fn matches(pattern: &str, text: &str) -> bool {
    let whole = regex_lite::Regex::new(&format!(r"\A(?:{pattern})\z"));
    whole.is_ok_and(|regex| regex.is_match(text)) || regex_lite::Regex::new(pattern).is_err()
}

/// The greatest number of a repetition.
const MOST: u32 = 1000;
/// The greatest number of groups in each other.
const DEEPEST: u32 = 20;

/// The pattern as it is stored, or why it is refused.
pub fn rewritten(pattern: &str) -> Result<String, String> {
    let mut parser = Parser {
        rest: pattern.chars().peekable(),
        out: String::new(),
        depth: 0,
    };
    parser.alternatives()?;
    match parser.rest.next() {
        None => Ok(parser.out),
        Some(_) => Err("`)` closes no group. Write `\\)` for the character".to_owned()),
    }
}

struct Parser<'p> {
    rest: Peekable<Chars<'p>>,
    out: String,
    depth: u32,
}

/// What stands behind a backslash.
enum Escaped {
    One(char),
    Class(&'static str),
    /// All but the characters of a class.
    Not(&'static str),
}

const DIGITS: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = "\\x{9}-\\x{d} ";

impl Parser<'_> {
    fn alternatives(&mut self) -> Result<(), String> {
        loop {
            while let Some(next) = self.rest.peek() {
                if matches!(next, '|' | ')') {
                    break;
                }
                self.atom()?;
                self.repetition()?;
            }
            match self.rest.next_if_eq(&'|') {
                Some(bar) => self.out.push(bar),
                None => return Ok(()),
            }
        }
    }

    fn atom(&mut self) -> Result<(), String> {
        match self.rest.next() {
            Some('(') => self.group(),
            Some('[') => self.class(),
            // Without a flag neither of the two matches a line break by it, which PCRE2 may be built to know others of.
            Some('.') => {
                self.out.push_str("[^\\x{a}]");
                Ok(())
            }
            Some('\\') => {
                match self.escaped()? {
                    Escaped::One(one) => literal(&mut self.out, one),
                    Escaped::Class(class) => write!(self.out, "[{class}]").unwrap_or_default(),
                    Escaped::Not(class) => write!(self.out, "[^{class}]").unwrap_or_default(),
                }
                Ok(())
            }
            Some('^' | '$') => Err(
                "a pattern is matched by the whole value in any case. Leave out `^` and `$`, or write `\\^` and `\\$` for the \
                 characters"
                    .to_owned(),
            ),
            Some(repeated @ ('*' | '+' | '?' | '{')) => Err(format!(
                "`{repeated}` repeats nothing here. Write `\\{repeated}` for the character"
            )),
            Some(closing @ (']' | '}')) => Err(format!(
                "`{closing}` closes nothing. Write `\\{closing}` for the character"
            )),
            Some(one) => {
                literal(&mut self.out, one);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn group(&mut self) -> Result<(), String> {
        if self.rest.next_if_eq(&'?').is_some() && self.rest.next() != Some(':') {
            return Err(
                "`(?` begins a look-around, a flag or a name, which the server and the library understand differently or not at \
                 all. Write `(…)` or `(?:…)`"
                    .to_owned(),
            );
        }
        if self.rest.peek() == Some(&'*') {
            return Err("`(*` is a command to PCRE2 alone. Write `(\\*` for the characters".to_owned());
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} groups stand in each other"));
        }
        self.out.push_str("(?:");
        self.alternatives()?;
        self.depth -= 1;
        match self.rest.next() {
            Some(')') => {
                self.out.push(')');
                Ok(())
            }
            _ => Err("a group is not closed by `)`".to_owned()),
        }
    }

    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if let Some(not) = self.rest.next_if_eq(&'^') {
            self.out.push(not);
        }
        let mut is_empty = true;
        loop {
            let first = match self.in_class()? {
                None if is_empty => {
                    return Err("`[]` matches nothing. Write `\\]` for the character".to_owned());
                }
                None => break,
                Some(Escaped::One(one)) => one,
                Some(Escaped::Class(class)) => {
                    self.out.push_str(class);
                    is_empty = false;
                    if self.rest.peek() == Some(&'-') {
                        return Err(
                            "a range begins with one character. Write `\\-` for the character".to_owned()
                        );
                    }
                    continue;
                }
                Some(Escaped::Not(_)) => {
                    return Err("`\\D`, `\\S` and `\\W` can't stand in `[…]`. Name the characters".to_owned());
                }
            };
            is_empty = false;
            of_class(&mut self.out, first);
            if self.rest.next_if_eq(&'-').is_none() {
                continue;
            }
            // At the end it is a character.
            if self.rest.peek() == Some(&']') {
                of_class(&mut self.out, '-');
                continue;
            }
            match self.in_class()? {
                Some(Escaped::One(last)) if first <= last => {
                    self.out.push('-');
                    of_class(&mut self.out, last);
                }
                Some(Escaped::One(last)) => {
                    return Err(format!("the range `{first}-{last}` is in the wrong order"));
                }
                _ => return Err("a range ends with one character. Write `\\-` for the character".to_owned()),
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// The next item of a class; `None` at its end.
    fn in_class(&mut self) -> Result<Option<Escaped>, String> {
        match self.rest.next() {
            None => Err("a class is not closed by `]`".to_owned()),
            Some(']') => Ok(None),
            Some('[') => Err(
                "`[` within `[…]` is a class in one engine and a character in the other. Write `\\[` for the character".to_owned(),
            ),
            Some('\\') => self.escaped().map(Some),
            Some(one) => Ok(Some(Escaped::One(one))),
        }
    }

    fn escaped(&mut self) -> Result<Escaped, String> {
        Ok(match self.rest.next() {
            Some('d') => Escaped::Class(DIGITS),
            Some('w') => Escaped::Class(WORD),
            Some('s') => Escaped::Class(SPACE),
            Some('D') => Escaped::Not(DIGITS),
            Some('W') => Escaped::Not(WORD),
            Some('S') => Escaped::Not(SPACE),
            Some('n') => Escaped::One('\n'),
            Some('r') => Escaped::One('\r'),
            Some('t') => Escaped::One('\t'),
            Some('x') => Escaped::One(self.by_number()?),
            Some(one) if one.is_ascii_punctuation() => Escaped::One(one),
            Some(one) => {
                return Err(format!(
                    "`\\{one}` is not understood alike by the server and the library. There are `\\d`, `\\w`, `\\s` (in ASCII) and \
                     their opposites, `\\n`, `\\r`, `\\t`, `\\x{{1F600}}`, and a backslash before a character that has a meaning"
                ));
            }
            None => return Err("a backslash stands at the end".to_owned()),
        })
    }

    /// The character `\x41` or `\x{1F600}`.
    fn by_number(&mut self) -> Result<char, String> {
        let digits: String = match self.rest.next_if_eq(&'{') {
            Some(_) => self.until_brace().unwrap_or_default(),
            None => self.rest.by_ref().take(2).collect(),
        };
        // Without a sign, which a number of Rust's may have.
        let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(&digits, 16).ok().filter(|_| is_number);
        number
            .and_then(char::from_u32)
            .ok_or_else(|| "`\\x` takes the number of a character: `\\x41`, `\\x{1F600}`".to_owned())
    }

    /// What stands before the next `}`; `None` where there is none.
    fn until_brace(&mut self) -> Option<String> {
        let mut inner = String::new();
        loop {
            match self.rest.next()? {
                '}' => return Some(inner),
                one => inner.push(one),
            }
        }
    }

    fn repetition(&mut self) -> Result<(), String> {
        let repeated = match self.rest.peek() {
            Some(one @ ('*' | '+' | '?')) => *one,
            Some('{') => {
                self.rest.next();
                self.counted()?;
                return self.one_repetition();
            }
            _ => return Ok(()),
        };
        self.rest.next();
        self.out.push(repeated);
        self.one_repetition()
    }

    /// `{2}`, `{2,}` or `{2,5}`.
    fn counted(&mut self) -> Result<(), String> {
        let inner = self
            .until_brace()
            .ok_or_else(|| "`{` is not closed by `}`. Write `\\{` for the character".to_owned())?;
        let wrong = || {
            format!(
                "`{{{inner}}}` is no repetition. Write `{{2}}`, `{{2,}}` or `{{2,5}}`, or `\\{{` for the character"
            )
        };
        let number = |text: &str| match text.parse::<u32>() {
            Ok(n) if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(n),
            _ => Err(wrong()),
        };
        let (least, greatest) = match inner.split_once(',') {
            None => (number(&inner)?, None),
            Some((least, "")) => (number(least)?, None),
            Some((least, greatest)) => (number(least)?, Some(number(greatest)?)),
        };
        if least > MOST || greatest.is_some_and(|greatest| greatest > MOST) {
            return Err(format!(
                "something is repeated more than {MOST} times. Declare the length by `max_len`"
            ));
        }
        if greatest.is_some_and(|greatest| greatest < least) {
            return Err(format!("`{{{inner}}}` is in the wrong order"));
        }
        write!(self.out, "{{{inner}}}").unwrap_or_default();
        Ok(())
    }

    /// A second repetition changes the first one.
    fn one_repetition(&mut self) -> Result<(), String> {
        match self.rest.peek() {
            Some('?' | '+' | '*' | '{') => Err(
                "a repetition behind another one says how an engine looks for a match, and of a whole value there is one. Leave it \
                 out"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }
}

/// A character that stands for itself.
fn literal(out: &mut String, one: char) {
    match one {
        '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => {
            out.push('\\');
            out.push(one);
        }
        one => plain(out, one),
    }
}

/// The same in a class.
fn of_class(out: &mut String, one: char) {
    match one {
        '\\' | '[' | ']' | '^' | '-' | '&' | '~' => {
            out.push('\\');
            out.push(one);
        }
        one => plain(out, one),
    }
}

fn plain(out: &mut String, one: char) {
    if one == ' ' || one.is_ascii_graphic() || one.is_alphanumeric() {
        out.push(one);
    } else {
        write!(out, "\\x{{{:x}}}", u32::from(one)).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::rewritten;

    #[test]
    fn a_pattern_is_rewritten_without_what_engines_differ_in() {
        for (written, stored) in [
            ("[a-z]+(-[a-z0-9]+)*", "[a-z]+(?:-[a-z0-9]+)*"),
            (r"\d{3}-\w*\s?", r"[0-9]{3}-[0-9A-Za-z_]*[\x{9}-\x{d} ]?"),
            (r"\D\S\W", r"[^0-9][^\x{9}-\x{d} ][^0-9A-Za-z_]"),
            (r"a|b\.c", r"a|b\.c"),
            (r"[^\d.\-/~&]{2,}", r"[^0-9.\-/\~\&]{2,}"),
            (r"a.b", r"a[^\x{a}]b"),
            (r"[+-]?\x41\x{1F600}\n\/", r"[+\-]?A\x{1f600}\x{a}/"),
            ("", ""),
            ("(a||b)", "(?:a||b)"),
            ("ä\u{0}\u{200b}", r"ä\x{0}\x{200b}"),
            (r"[a\]^]", r"[a\]\^]"),
        ] {
            assert_eq!(rewritten(written).as_deref(), Ok(stored), "{written}");
        }
    }

    #[test]
    fn what_engines_differ_in_is_refused() {
        for (written, why) in [
            ("^a$", "whole value in any case"),
            ("(?i)a", "begins a look-around, a flag"),
            ("(?=a)", "begins a look-around, a flag"),
            ("(?P<x>a)", "begins a look-around, a flag"),
            ("(*UCP)a", "command to PCRE2"),
            (r"(a)\1", "not understood alike"),
            (r"\bword\b", "not understood alike"),
            (r"\p{L}", "not understood alike"),
            ("[[:alpha:]]", "`[` within `[…]`"),
            ("[z-a]", "wrong order"),
            (r"[\d-z]", "a range begins with one character"),
            (r"[\D]", "can't stand in `[…]`"),
            ("[]", "matches nothing"),
            ("[a", "not closed by `]`"),
            ("(a", "not closed by `)`"),
            ("a)", "closes no group"),
            ("a]", "closes nothing"),
            ("*a", "repeats nothing"),
            ("a+?", "behind another one"),
            ("a**", "behind another one"),
            ("a{,3}", "is no repetition"),
            ("a{3", "`{` is not closed"),
            ("a{3,2}", "in the wrong order"),
            ("a{2000}", "more than 1000 times"),
            (r"\x{110000}", "the number of a character"),
            ("a\\", "backslash stands at the end"),
        ] {
            let refused = rewritten(written).expect_err(written);
            assert!(refused.contains(why), "{written}: {refused}");
        }
    }
}
