//! The packages as the registry would get them: packed, listed, and compiled by themselves and in applications.
//!
//! The packages are unpacked into a workspace of its own below the target directory, beside an application for each name that
//! the library can have. So a file that is missing in a package, a path that leads out of it, or a name in generated code that
//! an application does not have, does not compile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use odm_launch::process::{Process, exit_code};

use crate::workspace::{cargo, root, step, target_dir};

/// The packages that are published, each after those that it needs, with their folders.
const PACKAGES: [(&str, &str); 6] = [
    ("odm-derive", "odm-derive"),
    ("odm-diagram", "odm/diagram"),
    ("odm-introspect", "odm/introspect"),
    ("odm-launch", "odm/launch"),
    ("mongodb-odm", "odm"),
    ("odm-cli", "odm/cli"),
];

/// The files that a package may hold beside those of cargo: code, the template of `odm new`, and texts.
const ALLOWED: [&str; 9] = [
    "src/",
    "doc/",
    "template/",
    "README.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "Cargo.toml",
    "Cargo.toml.orig",
    "Cargo.lock",
];

/// What cargo adds where the checkout is a repository.
const VCS: &str = ".cargo_vcs_info.json";

/// An application of each kind of dependency, and the name that it writes for the library.
const APPLICATIONS: [(&str, &str, &str); 3] = [
    ("by-package", "mongodb-odm = { path = \"../mongodb-odm\" }", "odm"),
    (
        "by-library",
        "odm = { package = \"mongodb-odm\", path = \"../mongodb-odm\" }",
        "odm",
    ),
    (
        "renamed",
        "store = { package = \"mongodb-odm\", path = \"../mongodb-odm\" }",
        "store",
    ),
];

/// Uses what the derives generate for every kind of relationship.
const APPLICATION: &str = r##"
use NAME::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[embed(max = 5)]
    pub tags: Vec<Tag>,
    #[reference(many, max = 20)]
    #[denormalize(from = Part, fields(name: String))]
    pub parts: Vec<PartEntry>,
    #[subset(of = Review, limit = 10, order(-at), fields(at: DateTime))]
    pub newest: Vec<NewestEntry>,
    #[computed(count = Review)]
    pub reviews: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref(order(-at))]
    pub product: Ref<Product>,
    pub at: DateTime,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Tag {
    #[field(default = 1)]
    #[serde(default = "Tag::default_weight")]
    pub weight: i32,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Part, size = 50)]
pub struct Reading {
    pub at: DateTime,
}

#[derive(Projection, Deserialize)]
#[projection(of = Part)]
pub struct Named {
    pub name: String,
}

#[tokio::main]
async fn main() -> NAME::Result<()> {
    let client = NAME::mongodb::Client::with_uri_str("mongodb://127.0.0.1:27017").await?;
    let odm = Odm::new(client.database("app"), models![Part, Product, Review, ReadingBucket])?;
    let parts = odm.collection::<Part>();
    let part = parts.insert(NewPart { name: "grommet".into() }).await?;
    parts.update(part.id).set(|p| p.name, "#4 grommet").await?;
    odm.buckets::<Reading>().push(&part, Reading { at: DateTime::now() }).await?;
    let named: Vec<Named> = parts.find_all().select::<Named>().all().await?;
    println!("{}", named.len());
    Ok(())
}
"##;

/// Packs, lists and compiles the packages.
pub async fn run() -> Result<u8> {
    let packed = target_dir().join("package");
    let place = target_dir().join("packages");
    step("packing");
    let mut pack = cargo();
    pack.args(["package", "--locked", "--allow-dirty", "--no-verify", "--quiet"]);
    for (package, _) in PACKAGES {
        pack.args(["-p", package]);
    }
    succeeds("cargo package", &mut pack).await?;

    if place.exists() {
        std::fs::remove_dir_all(&place).with_context(|| format!("{} cannot be deleted", place.display()))?;
    }
    std::fs::create_dir_all(&place)?;
    for (package, _) in PACKAGES {
        let file = packed.join(format!("{package}-{}.crate", version()?));
        unpack(&file, &place, package).await?;
        let files = files_of(&place.join(package))?;
        check(package, files.keys())?;
        list(package, &file, &files)?;
    }
    write_applications(&place)?;
    let applications = APPLICATIONS.iter().map(|(name, _, _)| *name);
    let packages = || PACKAGES.into_iter().map(|(package, _)| package);
    let members: Vec<&str> = packages().chain(applications).collect();
    write_workspace(&place, &members)?;
    // The versions that the tests run with.
    std::fs::copy(root().join("Cargo.lock"), place.join("Cargo.lock"))?;

    step("compiling what was packed, with an application for each name of the library");
    compile(&place, &["check", "--workspace", "--quiet"]).await?;
    compile(
        &place,
        &[
            "check",
            "-p",
            "mongodb-odm",
            "--features",
            "cli,testing",
            "--quiet",
        ],
    )
    .await?;
    step("compiling them with the oldest versions of dependencies that they allow");
    write_workspace(&place, &packages().collect::<Vec<_>>())?;
    std::fs::remove_file(place.join("Cargo.lock"))?;
    for (name, _, _) in APPLICATIONS {
        std::fs::remove_dir_all(place.join(name))?;
    }
    compile(&place, &["update", "-Z", "direct-minimal-versions", "--quiet"]).await?;
    compile(
        &place,
        &[
            "check",
            "-p",
            "mongodb-odm",
            "--features",
            "cli,testing",
            "--locked",
            "--quiet",
        ],
    )
    .await?;
    step("the packages compile by themselves");
    Ok(0)
}

fn version() -> Result<String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(line
        .context("the workspace declares no version")?
        .trim_matches('"')
        .to_owned())
}

async fn succeeds(name: &str, command: &mut tokio::process::Command) -> Result<()> {
    let code = exit_code(
        Process::spawn(name, command, Duration::from_secs(5))?
            .wait()
            .await?,
    );
    ensure!(code == 0, "`{name}` failed (exit code {code})");
    Ok(())
}

async fn unpack(file: &Path, place: &Path, package: &str) -> Result<()> {
    let mut tar = tokio::process::Command::new("tar");
    tar.arg("-xzf").arg(file).arg("-C").arg(place);
    succeeds("tar", &mut tar).await?;
    let unpacked = place.join(file.file_stem().context("a package has a name")?);
    std::fs::rename(&unpacked, place.join(package))
        .with_context(|| format!("{} was not unpacked", unpacked.display()))
}

/// The files below a folder, by their paths in it, with their sizes in bytes.
fn files_of(folder: &Path) -> Result<BTreeMap<String, u64>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in std::fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.insert(
                    path.display().to_string().replace('\\', "/"),
                    entry.metadata()?.len(),
                );
            }
        }
    }
    Ok(files)
}

/// Whether a package holds nothing that belongs to this repository alone.
fn check<'a>(package: &str, files: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut strange = Vec::new();
    let mut licences = 0;
    for file in files {
        let is_allowed = file == VCS
            || ALLOWED.iter().any(|allowed| {
                if allowed.ends_with('/') {
                    file.starts_with(allowed)
                } else {
                    file == allowed
                }
            });
        if !is_allowed {
            strange.push(file.as_str());
        }
        licences += usize::from(file.starts_with("LICENSE-"));
    }
    if !strange.is_empty() {
        bail!("{package} would be published with files that its users don't need: {strange:?}");
    }
    ensure!(
        licences == 2,
        "{package} would be published without both licences"
    );
    Ok(())
}

/// Prints how many files of which kind a package holds.
fn list(package: &str, file: &Path, files: &BTreeMap<String, u64>) -> Result<()> {
    let packed = std::fs::metadata(file)?.len();
    let size: u64 = files.values().sum();
    println!(
        "{package}: {} files, {} kB, {} kB packed",
        files.len(),
        size / 1000,
        packed / 1000
    );
    for (path, size) in files.iter().filter(|(path, _)| !path.starts_with("src/")) {
        println!("  {path} ({size} bytes)");
    }
    let sources = files.keys().filter(|path| path.starts_with("src/")).count();
    println!("  src/: {sources} files");
    Ok(())
}

/// Makes an application for each name of the library.
fn write_applications(place: &Path) -> Result<()> {
    for (name, dependency, library) in APPLICATIONS {
        let folder = place.join(name);
        std::fs::create_dir_all(folder.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependency}\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\n\
             tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n"
        );
        std::fs::write(folder.join("Cargo.toml"), manifest)?;
        std::fs::write(folder.join("src/main.rs"), APPLICATION.replace("NAME", library))?;
    }
    Ok(())
}

/// Makes a workspace of the folders.
fn write_workspace(place: &Path, members: &[&str]) -> Result<()> {
    // The packages name each other by version, as they do in the registry.
    let patches: Vec<String> = PACKAGES
        .iter()
        .map(|(package, _)| format!("{package} = {{ path = \"{package}\" }}\n"))
        .collect();
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[patch.crates-io]\n{}\n[profile.dev.package.\"*\"]\ndebug = false\n",
        patches.concat()
    );
    Ok(std::fs::write(place.join("Cargo.toml"), manifest)?)
}

async fn compile(place: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = cargo();
    command
        .args(arguments)
        .current_dir(place)
        .env("CARGO_TARGET_DIR", place.join("target"));
    if arguments.contains(&"-Z") {
        // An option of nightly alone, which says nothing about the code.
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    succeeds(&format!("cargo {}", arguments.join(" ")), &mut command).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(files: &[&str]) -> Result<()> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        check("x", files.iter())
    }

    #[test]
    fn a_package_has_code_texts_and_licences_alone() {
        let whole = [
            "src/lib.rs",
            "README.md",
            "Cargo.toml",
            "LICENSE-MIT",
            "LICENSE-APACHE",
        ];
        assert!(checked(&whole).is_ok());
        assert!(checked(&whole[..4]).is_err_and(|error| error.to_string().contains("licences")));
        let with_data: Vec<&str> = whole.into_iter().chain(["data/books.json"]).collect();
        assert!(checked(&with_data).is_err_and(|error| error.to_string().contains("data/books.json")));
    }

    /// The path that leads from a file to another, without `..`.
    fn resolved(file: &str, path: &str) -> String {
        let mut parts: Vec<&str> = file.split('/').collect();
        parts.pop();
        for part in path.split('/') {
            if part == ".." {
                parts.pop();
            } else {
                parts.push(part);
            }
        }
        parts.join("/")
    }

    /// Cargo leaves out what the manifest does not include, and folders that have a manifest of their own.
    #[tokio::test]
    async fn what_code_includes_is_packed() {
        let mut included = 0;
        for (package, folder) in PACKAGES {
            let output = cargo()
                .args(["package", "--list", "--allow-dirty", "--locked", "-p", package])
                .output()
                .await
                .unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            let list = String::from_utf8(output.stdout).unwrap();
            let packed: Vec<String> = list.lines().map(|line| line.replace('\\', "/")).collect();
            for file in packed.iter().filter(|file| file.ends_with(".rs")) {
                let text = std::fs::read_to_string(root().join(folder).join(file)).unwrap();
                for rest in text.split("include_str!(\"").skip(1) {
                    let path = resolved(file, rest.split('"').next().unwrap());
                    assert!(
                        packed.contains(&path),
                        "{package}: {file} includes {path}, which is not packed"
                    );
                    included += 1;
                }
            }
        }
        assert!(included > 0, "the sources include files");
    }

    #[test]
    fn applications_write_the_name_of_their_dependency() {
        for (name, dependency, library) in APPLICATIONS {
            let text = APPLICATION.replace("NAME", library);
            assert!(text.contains(&format!("use {library}::prelude::*;")), "{name}");
            assert!(dependency.contains("mongodb-odm"), "{name}");
        }
    }
}
