//! `odm new`: an application that compiles, runs and has a test.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

/// The name that the application of the template has.
const NAME: &str = "shop";

/// The files of the template: where they go, and their text.
const FILES: [(&str, &str); 9] = [
    ("Cargo.toml", include_str!("../template/Cargo.toml.in")),
    (".gitignore", include_str!("../template/gitignore")),
    ("README.md", include_str!("../template/README.md")),
    ("src/models.rs", include_str!("../template/src/models.rs")),
    ("src/lib.rs", include_str!("../template/src/lib.rs")),
    ("src/main.rs", include_str!("../template/src/main.rs")),
    ("src/bin/manage.rs", include_str!("../template/src/bin/manage.rs")),
    ("migrations/mod.rs", include_str!("../template/migrations/mod.rs")),
    ("tests/shop.rs", include_str!("../template/tests/shop.rs")),
];

/// Names that a package can't have: Rust's words, and the names of crates that the application uses.
const RESERVED: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "unsafe", "use", "virtual", "where", "odm", "serde",
    "tokio", "std",
];

/// Make an application: documents, a program, a test and the commands that look after the database.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The name of the application, and of its folder.
    name: String,
    /// Where to make the folder.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    into: PathBuf,
    /// Take mongodb-odm from this checkout of its repository instead of the registry.
    #[arg(long, value_name = "FOLDER")]
    odm: Option<PathBuf>,
}

/// Writes the application.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let name = &arguments.name;
    check(name)?;
    let folder = arguments.into.join(name);
    ensure!(!folder.exists(), "{} is there already", folder.display());
    let odm = arguments.odm.as_deref().map(checkout).transpose()?;
    for (path, text) in FILES {
        let file = folder.join(path.replace(NAME, &name.replace('-', "_")));
        let parent = file.parent().unwrap_or(&folder);
        std::fs::create_dir_all(parent).with_context(|| format!("{} cannot be created", parent.display()))?;
        std::fs::write(&file, fill_in(path, text, name, odm.as_deref()))
            .with_context(|| format!("{} cannot be written", file.display()))?;
    }
    println!("made the application in {}. Next:\n", folder.display());
    println!("  cd {}", folder.display());
    println!("  odm server          # in another terminal: a MongoDB for development");
    println!("  cargo run");
    Ok(0)
}

/// What cargo would refuse later.
fn check(name: &str) -> Result<()> {
    let begins = name
        .chars()
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic());
    let is_plain = name
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_');
    if !begins || !is_plain {
        bail!(
            "`{name}` can't be the name of a package: it begins with a letter, and has letters, digits, `-` and `_`"
        );
    }
    ensure!(
        !RESERVED.contains(&name.replace('-', "_").as_str()),
        "`{name}` can't be the name of the application: it is a word of Rust, or a crate that the application uses"
    );
    Ok(())
}

/// The absolute path of the package, of which this is the folder, or the folder of the checkout that holds it.
fn checkout(folder: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(folder)?;
    let is_package = |folder: &PathBuf| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml"));
        manifest.is_ok_and(|manifest| manifest.lines().any(|line| line == "name = \"mongodb-odm\""))
    };
    let package = [absolute.clone(), absolute.join("odm")]
        .into_iter()
        .find(is_package);
    package.with_context(|| {
        format!(
            "{} is neither a checkout of the repository of odm nor the folder `odm` in it, which holds the package mongodb-odm",
            folder.display()
        )
    })
}

/// The text of a file for an application of this name.
fn fill_in(path: &str, text: &str, name: &str, odm: Option<&Path>) -> String {
    if path != "Cargo.toml" {
        let is_rust = path.ends_with(".rs");
        let ident = name.replace('-', "_");
        // In Rust the name stands in paths, and as the name of the database; elsewhere as a word.
        return if is_rust {
            text.replace("shop::", &format!("{ident}::"))
                .replace("\"shop\"", &format!("\"{name}\""))
        } else {
            text.replace("# shop", &format!("# {name}"))
        };
    }
    let dependency = |feature: &str| match odm {
        Some(folder) => format!(
            "mongodb-odm = {{ path = {:?}, features = [\"{feature}\"] }}",
            folder.display().to_string()
        ),
        None => format!(
            "mongodb-odm = {{ version = \"{}\", features = [\"{feature}\"] }}",
            env!("CARGO_PKG_VERSION")
        ),
    };
    text.replace("\"shop\"", &format!("\"{name}\""))
        .replace("{dependency}", &dependency("cli"))
        .replace("{dev-dependency}", &dependency("testing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, odm: Option<PathBuf>) -> Result<tempfile::TempDir> {
        let into = tempfile::tempdir()?;
        let arguments = Arguments {
            name: name.to_owned(),
            into: into.path().to_owned(),
            odm,
        };
        run(&arguments)?;
        Ok(into)
    }

    #[test]
    fn every_file_has_the_name_of_the_application() -> Result<()> {
        let into = made("my-app", None)?;
        let read = |path: &str| std::fs::read_to_string(into.path().join("my-app").join(path));
        let manifest = read("Cargo.toml")?;
        assert!(manifest.contains("name = \"my-app\"\n") && manifest.contains("default-run = \"my-app\""));
        let version = env!("CARGO_PKG_VERSION");
        assert!(manifest.contains(&format!(
            "mongodb-odm = {{ version = \"{version}\", features = [\"cli\"] }}"
        )));
        assert!(read("src/main.rs")?.contains("use my_app::models::"));
        assert!(read("src/lib.rs")?.contains("client.database(\"my-app\")"));
        assert!(read("tests/my_app.rs")?.contains("db.odm(my_app::models())"));
        for (path, _) in FILES {
            let text = read(&path.replace(NAME, "my_app"))?;
            assert!(
                !text.contains("shop::") && !text.contains("\"shop\""),
                "{path}: {text}"
            );
        }
        Ok(())
    }

    #[test]
    fn an_application_of_the_templates_name_is_the_template() -> Result<()> {
        let into = made(NAME, None)?;
        for (path, text) in FILES.iter().filter(|(path, _)| *path != "Cargo.toml") {
            assert_eq!(&std::fs::read_to_string(into.path().join(NAME).join(path))?, text);
        }
        Ok(())
    }

    #[test]
    fn a_checkout_is_named_by_its_absolute_path() -> Result<()> {
        let odm = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let into = made("app", Some(odm))?;
        let manifest = std::fs::read_to_string(into.path().join("app/Cargo.toml"))?;
        assert!(manifest.contains("mongodb-odm = { path = \"/"), "{manifest}");
        // The folder of the repository stands for that of the package in it.
        let (repository, package) = (
            tempfile::tempdir()?,
            Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
        );
        std::fs::create_dir(repository.path().join("odm"))?;
        std::fs::write(repository.path().join("Cargo.toml"), "[workspace]\n")?;
        std::fs::copy(
            package.join("Cargo.toml"),
            repository.path().join("odm/Cargo.toml"),
        )?;
        assert_eq!(checkout(repository.path())?, repository.path().join("odm"));
        for other in [Path::new("/no/such"), Path::new(env!("CARGO_MANIFEST_DIR"))] {
            let refused = checkout(other).expect_err("it is another package").to_string();
            assert!(refused.contains("is neither a checkout"), "{refused}");
        }
        Ok(())
    }

    #[test]
    fn names_that_cargo_refuses_are_refused_before_anything_is_written() {
        for name in ["", "1st", "a b", "a/b", "../up", "match", "odm", "tokio"] {
            assert!(check(name).is_err(), "{name}");
        }
        for name in ["app", "my-app", "my_app2"] {
            assert!(check(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_folder_that_is_there_is_left_alone() -> Result<()> {
        let into = made("app", None)?;
        let again = Arguments {
            name: "app".into(),
            into: into.path().to_owned(),
            odm: None,
        };
        assert!(run(&again).is_err_and(|error| error.to_string().contains("is there already")));
        Ok(())
    }
}
