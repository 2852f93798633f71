//! A log as it is: syslog, one message a line.

use anyhow::{Context, Result};
use mongodb::bson::DateTime;
use std::path::Path;

/// What syslog leaves out; some messages of the file say it.
pub const YEAR: i32 = 2017;
pub const ZONE: &str = "-07:00";

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// A line of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub number: i32,
    pub time: DateTime,
    pub host: String,
    pub process: String,
    pub pid: Option<i32>,
    pub text: String,
}

/// The name of the log that is read where none is named.
pub const FILE: &str = "Mac_2k.log";

/// The lines of a log that is made up: the same every time, in the same format.
pub fn made_up() -> Result<Vec<Line>> {
    parse(&sample())
}

/// The lines of a file, none left out.
pub fn read(path: &Path) -> Result<Vec<Line>> {
    let bytes = std::fs::read(path).with_context(|| format!("`{}` can't be read", path.display()))?;
    parse(&String::from_utf8_lossy(&bytes)).with_context(|| format!("`{}` is not a syslog", path.display()))
}

/// The lines of a text, none left out.
fn parse(text: &str) -> Result<Vec<Line>> {
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            let parsed = parse_line(number, line)?;
            parsed
                .with_context(|| format!("line {number} is not `Jul  1 09:00:55 HOST process[pid]: message`"))
        })
        .collect()
}

fn parse_line(number: i32, line: &str) -> Result<Option<Line>> {
    let mut rest = line.trim_end();
    let mut word = || {
        let (word, after) = rest.trim_start().split_once(' ')?;
        rest = after;
        Some(word)
    };
    let (Some(month), Some(day), Some(clock), Some(host)) = (word(), word(), word(), word()) else {
        return Ok(None);
    };
    let Some(month) = (1..).zip(MONTHS).find(|(_, name)| *name == month) else {
        return Ok(None);
    };
    let time = format!("{YEAR}-{:02}-{day:0>2}T{clock}{ZONE}", month.0);
    let time = DateTime::parse_rfc3339_str(&time).with_context(|| format!("line {number}: `{time}`"))?;
    // `kernel[0]: text`, `BezelServices 255.10[94]: text`, `sandboxd[129] ([31211]): text`, `syslogd: text`.
    let Some((process, pid, text)) = tagged(rest) else {
        return Ok(None);
    };
    Ok(Some(Line {
        number,
        time,
        host: host.to_owned(),
        process: process.to_owned(),
        pid,
        text: text.to_owned(),
    }))
}

fn tagged(rest: &str) -> Option<(&str, Option<i32>, &str)> {
    let (tag, text) = rest
        .split_once(": ")
        .or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let Some((process, after)) = tag.split_once('[') else {
        return Some((tag, None, text));
    };
    let (pid, _) = after.split_once(']')?;
    let after = rest.get(process.len() + pid.len() + 2..)?;
    Some((
        process,
        Some(pid.parse().ok()?),
        after.trim_start_matches([':', ' ']),
    ))
}

/// The time that a message quotes: `… when=2017-07-01 17:08:20 +0000 …`.
pub fn quoted_time(text: &str) -> Option<DateTime> {
    let (_, quoted) = text.split_once("when=")?;
    let (time, _) = quoted.split_once(" +0000")?;
    DateTime::parse_rfc3339_str(format!("{}Z", time.replace(' ', "T"))).ok()
}

/// `10.105.160.95`, of `calvisitor-10-105-160-95`.
pub fn address(host: &str) -> Option<String> {
    let parts: Vec<&str> = host.split('-').collect();
    let numbers = parts.last_chunk::<4>()?;
    let fits = numbers.iter().all(|number| number.parse::<u8>().is_ok());
    fits.then(|| numbers.join("."))
}

fn sample() -> String {
    const PROCESSES: [&str; 3] = ["kernel[0]", "mDNSResponder[91]", "sandboxd[129] ([31211])"];
    const TEXTS: [&str; 3] = [
        "AirPort: Link Down on en0",
        "Thermal pressure state: 0",
        "wake reason: EC",
    ];
    (0..240)
        .map(|n: usize| {
            format!(
                "Jul {:2} {:02}:{:02}:{:02} calvisitor-10-105-160-{} {}: {}\n",
                1 + n / 60,
                n % 24,
                n % 60,
                n % 7,
                n * n % 11,
                PROCESSES[n % 3],
                TEXTS[n / 3 % 3],
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() -> Result<()> {
        let text = "Jul  1 09:00:55 calvisitor-10-105-160-95 kernel[0]: ARPT: 620701.011328: on\r\n\
                    Jul 10 09:29:02 mac sandboxd[129] ([31211]): deny\n\
                    Jul  3 17:10:11 mac BezelServices 255.10[94]: ASSERTION FAILED\n\
                    Jul  3 17:10:11 mac syslogd: done [1]: x\n";
        let lines = parse(text)?;
        let parts: Vec<_> = lines
            .iter()
            .map(|line| (line.process.as_str(), line.pid, line.text.as_str()))
            .collect();
        assert_eq!(
            parts,
            [
                ("kernel", Some(0), "ARPT: 620701.011328: on"),
                ("sandboxd", Some(129), "([31211]): deny"),
                ("BezelServices 255.10", Some(94), "ASSERTION FAILED"),
                ("syslogd", None, "done [1]: x"),
            ]
        );
        assert_eq!(
            lines[0].time,
            DateTime::parse_rfc3339_str("2017-07-01T16:00:55Z")?
        );
        assert_eq!(
            lines[1].time,
            DateTime::parse_rfc3339_str("2017-07-10T16:29:02Z")?
        );
        Ok(())
    }

    #[test]
    fn what_is_no_syslog_is_an_error() {
        for text in [
            "hello",
            "Jul 32 09:00:55 mac a: b",
            "Yul 3 09:00:55 mac a: b",
            "Jul 3 09:00:55 mac a",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_sample_is_read_like_the_real_file() -> Result<()> {
        assert_eq!(parse(&sample())?.len(), 240);
        Ok(())
    }

    #[test]
    fn a_time_is_read_from_a_message() -> Result<()> {
        let time = DateTime::parse_rfc3339_str("2017-07-01T17:08:20Z")?;
        assert_eq!(
            quoted_time("opts=(null) when=2017-07-01 17:08:20 +0000 confidence=1"),
            Some(time)
        );
        assert_eq!(quoted_time("when=later +0000"), None);
        assert_eq!(quoted_time("2017-07-01 17:08:20"), None);
        Ok(())
    }

    #[test]
    fn an_address_is_read_from_a_name() {
        assert_eq!(
            address("calvisitor-10-105-160-95").as_deref(),
            Some("10.105.160.95")
        );
        assert_eq!(address("authorMacBook-Pro"), None);
        assert_eq!(address("a-1-2-3-256"), None);
    }
}
