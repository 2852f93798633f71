//! The server of a command of this project, decided from its arguments and the environment.

use anyhow::{Result, bail};
use clap::ValueEnum;

pub use odm_launch::server::*;

use crate::workspace::target_dir;

/// Where the server comes from, as asked for on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// The first that is there: MONGODB_URI, mongod, SecantusDB.
    #[default]
    Auto,
    /// The server MONGODB_URI names; it is used as it is and never stopped.
    Uri,
    /// A mongod (ODM_MONGOD, else from PATH), started as a replica set of one.
    Mongod,
    /// SecantusDB: `secantusd-rs` from PATH, else installed from PyPI under the target directory.
    Secantus,
}

/// Decides which server to use.
pub fn select(choice: Choice, environment: &Environment) -> Result<Source> {
    match choice {
        Choice::Uri => match &environment.uri {
            Some(uri) => Ok(Source::Uri(uri.clone())),
            None => {
                bail!("`--server uri` needs MONGODB_URI to be set to the connection string of the server")
            }
        },
        Choice::Mongod => match find_mongod(environment)? {
            Some(program) => Ok(Source::Mongod(program)),
            None => bail!(
                "`--server mongod` found no mongod: set ODM_MONGOD to the path of one, or put one on PATH"
            ),
        },
        Choice::Secantus => Ok(stand_in(environment)),
        Choice::Auto => {
            if let Some(uri) = &environment.uri {
                return Ok(Source::Uri(uri.clone()));
            }
            Ok(find_mongod(environment)?.map_or_else(|| stand_in(environment), Source::Mongod))
        }
    }
}

fn stand_in(environment: &Environment) -> Source {
    Source::stand_in(environment, target_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Environment {
        Environment {
            uri: Some("mongodb://db.example".into()),
            odm_mongod: Some(Named {
                value: "m8".into(),
                program: Some("/opt/m8".into()),
            }),
            mongod: Some("/usr/bin/mongod".into()),
            secantusd_rs: Some("/usr/bin/secantusd-rs".into()),
            docker: None,
        }
    }

    fn refusal(choice: Choice, environment: &Environment) -> String {
        select(choice, environment)
            .err()
            .map(|error| format!("{error:#}"))
            .unwrap_or_default()
    }

    #[test]
    fn auto_takes_the_first_there_is() -> Result<()> {
        let mut environment = everything();
        assert_eq!(
            select(Choice::Auto, &environment)?,
            Source::Uri("mongodb://db.example".into())
        );
        environment.uri = None;
        assert_eq!(
            select(Choice::Auto, &environment)?,
            Source::Mongod("/opt/m8".into())
        );
        environment.odm_mongod = None;
        assert_eq!(
            select(Choice::Auto, &environment)?,
            Source::Mongod("/usr/bin/mongod".into())
        );
        environment.mongod = None;
        assert_eq!(
            select(Choice::Auto, &environment)?,
            Source::SecantusRs("/usr/bin/secantusd-rs".into())
        );
        environment.secantusd_rs = None;
        assert!(select(Choice::Auto, &environment)?.is_stand_in());
        Ok(())
    }

    #[test]
    fn a_choice_skips_the_servers_before_it() -> Result<()> {
        let environment = everything();
        assert_eq!(select(Choice::Uri, &environment)?.kind(), "uri");
        assert_eq!(select(Choice::Mongod, &environment)?.kind(), "mongod");
        assert_eq!(select(Choice::Secantus, &environment)?.kind(), "secantus-rs");
        assert_eq!(
            select(Choice::Secantus, &Environment::default())?.kind(),
            "secantus-py"
        );
        Ok(())
    }

    #[test]
    fn missing_programs_are_named() {
        let nothing = Environment::default();
        assert!(refusal(Choice::Uri, &nothing).contains("MONGODB_URI"));
        assert!(refusal(Choice::Mongod, &nothing).contains("ODM_MONGOD"));
    }

    #[test]
    fn a_wrong_odm_mongod_is_not_passed_over() {
        let mut environment = everything();
        environment.uri = None;
        environment.odm_mongod = Some(Named {
            value: "/no/such".into(),
            program: None,
        });
        for choice in [Choice::Auto, Choice::Mongod] {
            assert!(refusal(choice, &environment).contains("/no/such"));
        }
    }
}
