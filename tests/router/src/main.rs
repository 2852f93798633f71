//! `odm-router --server URI --port N`: prints the connection string of the router, and runs until it is interrupted.

use odm_router::{Router, RouterOptions};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str =
    "usage: odm-router --server URI [--port N] [--max-wire-version N] [--no-scatter] [--delay MS]";

#[tokio::main]
async fn main() -> ExitCode {
    let (server, options, delay) = match read(std::env::args().skip(1)) {
        Ok(read) => read,
        Err(argument) => {
            eprintln!("odm-router: {argument}\n{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    let router = match Router::start(&server, options).await {
        Ok(router) => router,
        Err(error) => {
            eprintln!("odm-router: {error}");
            return ExitCode::FAILURE;
        }
    };
    // The second shard, which has nothing but sharded collections.
    router.delay(1, delay);
    println!("{}", router.uri());
    let interrupted = tokio::signal::ctrl_c().await;
    match (interrupted, router.stop().await) {
        (Ok(()), Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// The server, the options, and how much later the second shard applies commits in two phases; else what is wrong with the arguments.
fn read(
    mut arguments: impl Iterator<Item = String>,
) -> Result<(String, RouterOptions, Option<Duration>), String> {
    let (mut server, mut delay) = (None, None);
    let mut options = RouterOptions::default();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or_else(|| format!("`{argument}` needs a value"))
        };
        let number = |value: String| {
            value
                .parse::<u16>()
                .map_err(|_| format!("`{value}` is no number"))
        };
        match argument.as_str() {
            "--server" => server = Some(value()?),
            "--port" => options.port = number(value()?)?,
            "--max-wire-version" => options.max_wire_version = Some(i32::from(number(value()?)?)),
            "--no-scatter" => options.scatter = false,
            "--delay" => delay = Some(Duration::from_millis(u64::from(number(value()?)?))),
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    Ok((server.ok_or("`--server` is missing")?, options, delay))
}

#[cfg(test)]
mod tests {
    use super::read;

    fn arguments(line: &str) -> impl Iterator<Item = String> {
        line.split_whitespace().map(str::to_owned)
    }

    #[test]
    fn arguments_are_read() {
        let read_all = read(arguments(
            "--server mongodb://a:1 --port 7 --max-wire-version 12 --no-scatter --delay 30",
        ));
        let Ok((server, options, delay)) = read_all else {
            panic!("{read_all:?}")
        };
        assert_eq!(server, "mongodb://a:1");
        assert_eq!(delay, Some(std::time::Duration::from_millis(30)));
        assert_eq!(
            (options.port, options.max_wire_version, options.scatter),
            (7, Some(12), false)
        );
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for (line, expected) in [
            ("", "`--server` is missing"),
            ("--server", "`--server` needs a value"),
            ("--server a --port x", "`x` is no number"),
            ("--sever a", "unknown argument `--sever`"),
        ] {
            assert_eq!(read(arguments(line)).err().as_deref(), Some(expected), "{line}");
        }
    }
}
