//! Each program in `examples/examples`: its README names one command, and that command runs it.

use odm_tests::proxy::{Fate, Proxy};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// The names of all programs.
fn programs() -> Vec<String> {
    let folders = std::fs::read_dir(folder()).expect("the folder of the programs");
    let mut names: Vec<String> = folders
        .map(|entry| {
            entry
                .expect("a folder")
                .file_name()
                .into_string()
                .expect("a name in Unicode")
        })
        .filter(|name| name != "README.md")
        .collect();
    names.sort_unstable();
    names
}

fn readme(name: &str) -> String {
    let file = folder().join(name).join("README.md");
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The command in a README.
fn command(name: &str) -> String {
    let readme = readme(name);
    let mut commands = readme
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next());
    let command = commands
        .next()
        .unwrap_or_else(|| panic!("the README of {name} names no command"));
    assert_eq!(commands.next(), None, "the README of {name} names one command");
    command.to_owned()
}

/// Runs what the command of a README runs: the program that was built with this test, else by cargo.
fn run(name: &str, uri: Option<&str>, more: &[&str]) -> Output {
    let test = std::env::current_exe().expect("this test");
    let built = test
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("examples").join(name));
    let mut run = match built.filter(|built| built.is_file()) {
        Some(built) => Command::new(built),
        None => {
            let command = command(name);
            let mut run = Command::new(env!("CARGO"));
            run.args(command.split(' ').skip(1)).args(["--"]);
            // They describe this package, and dependencies that read them would be compiled again.
            for (variable, _) in std::env::vars_os() {
                let text = variable.to_string_lossy();
                if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                    run.env_remove(&variable);
                }
            }
            run
        }
    };
    run.args(more)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env_remove("MONGODB_URI");
    if let Some(uri) = uri {
        run.env("MONGODB_URI", uri);
    }
    run.output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_program_has_a_short_readme_and_every_design_a_program() {
    let programs = programs();
    for name in &programs {
        let readme = readme(name);
        let lines = readme.lines().count();
        assert!(lines <= 14, "the README of {name} has {lines} lines");
        assert_eq!(
            command(name),
            format!("cargo run -p odm-examples --example {name}")
        );
        for link in readme
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let chapter = link.contains("book/src/");
            let file = folder().join(name).join(link);
            assert!(file.is_file() || chapter, "the README of {name} links to {link}");
        }
    }
    for design in odm_examples::start::DESIGNS {
        assert!(
            programs.iter().any(|name| name == design),
            "{design} has no program"
        );
        let main = std::fs::read_to_string(folder().join(design).join("main.rs")).expect("a program");
        assert!(main.contains(&format!("start::{design}()")), "{design}: {main}");
    }
    let all = readme("");
    for name in &programs {
        assert!(
            all.contains(&format!("]({name}/README.md)")),
            "the list of programs lacks {name}"
        );
    }
}

#[test]
fn without_a_server_a_program_says_how_to_get_one() {
    let shown = run("one_to_few", None, &[]);
    assert_eq!(shown.status.code(), Some(2));
    let error = text(&shown.stderr);
    let last = error.lines().last().unwrap_or_default();
    assert!(last.starts_with("There is no MongoDB server: "), "{error}");
    assert!(last.contains("set MONGODB_URI"), "{error}");
}

#[tokio::test]
async fn every_program_runs_by_its_command_and_drops_its_database() {
    let uri = match std::env::var("MONGODB_URI") {
        Ok(uri) if !uri.is_empty() => uri,
        _ => panic!("no MongoDB server: run `cargo xtask test`, or set MONGODB_URI"),
    };
    let client = mongodb::Client::with_uri_str(&uri).await.expect("a usable URI");
    let odm = odm::Odm::new(client.database("programs"), odm::models![]).expect("no models");
    let has_transactions = odm.server().await.expect("a server").has_transactions();
    for name in programs() {
        if name == "tree" && !has_transactions {
            continue;
        }
        let shown = run(&name, Some(&uri), &[]);
        let (said, failed) = (text(&shown.stdout), text(&shown.stderr));
        assert_eq!(shown.status.code(), Some(0), "{name}: {said}\n{failed}");
        let last = said.lines().last().unwrap_or_default();
        let dropped = format!("The database odm_{name}_");
        assert!(
            last.contains(&dropped) && last.ends_with(" has been dropped."),
            "{name}: {said}"
        );
        assert!(said.lines().count() >= 4, "{name} says what it does: {said}");
        let name_of_it = last
            .split(' ')
            .find(|word| word.starts_with("odm_"))
            .unwrap_or_default();
        let there = client
            .list_database_names()
            .await
            .expect("the names of databases");
        assert!(
            !there.iter().any(|there| there == name_of_it),
            "{name_of_it} is still there"
        );
    }

    // On request it is kept.
    let shown = run("one_to_few", Some(&uri), &["--keep"]);
    let said = text(&shown.stdout);
    let kept = said
        .split(' ')
        .find(|word| word.starts_with("odm_one_to_few_"))
        .expect("its name");
    assert!(said.ends_with(" is kept.\n"), "{said}");
    let people = client
        .database(kept)
        .collection::<mongodb::bson::Document>("people");
    assert_eq!(people.estimated_document_count().await.expect("a count"), 1);
    client
        .database(kept)
        .drop()
        .await
        .expect("a database that can be dropped");
}

/// The server executes the commands by which jobs are claimed and end, and their replies don't arrive: in bursts, so that those of the
/// driver's repeats are lost too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_of_jobs_is_right_after_lost_replies_and_killed_processes() {
    let proxy = Proxy::start(&odm_tests::proxy::server().await, 0).await;
    let uri = proxy.uri();
    let size = [
        "--jobs",
        "400",
        "--processes",
        "3",
        "--claimers",
        "4",
        "--kills",
        "3",
    ];
    let mut shown = tokio::task::spawn_blocking(move || run("job_queue", Some(&uri), &size));
    let mut bursts = 0;
    let shown = loop {
        tokio::select! {
            shown = &mut shown => break shown.expect("the program runs"),
            // Longer than the driver needs to connect again.
            () = tokio::time::sleep(std::time::Duration::from_millis(1200)) => {
                if bursts < 4 && proxy.is_done() {
                    bursts += 1;
                    proxy.next("findAndModify", 30, Fate::Unanswered);
                }
            }
        }
    };
    let (said, failed) = (text(&shown.stdout), text(&shown.stderr));
    assert_eq!(shown.status.code(), Some(0), "{said}\n{failed}");
    assert!(said.contains("400 jobs: 392 done once, 8 dead letters"), "{said}");
    let lost = failed.matches("no reply").count();
    println!("{bursts} bursts of lost replies, {lost} operations without a reply: {said}");
    assert!(bursts > 1 && lost > 0, "{bursts} {lost}");
    proxy.bury().await;
}
