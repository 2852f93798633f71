//! The command line, as an application has it: what it prints, changes and gives as exit code.

use odm::__private::SwitchOdm as _;
use odm::bson::{Document as Doc, doc, oid::ObjectId};
use odm::cli::{Streams, run_with};
use odm::prelude::*;
use odm_examples::two_way::{NewPerson, NewTask, Person, Task};
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: i32,
    address: String,
    #[computed(count = Message)]
    messages: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "messages")]
struct Message {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.address)]
    address: String,
}

struct Ran {
    code: u8,
    out: String,
    err: String,
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }
}

fn odm(t: &TestDb) -> Odm {
    Odm::new(t.db.clone(), models![Person, Task]).unwrap()
}

async fn run(t: &TestDb, args: &[&str], answers: Option<&str>) -> Ran {
    run_on(odm(t), args, answers).await
}

async fn run_on(odm: Odm, args: &[&str], answers: Option<&str>) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut lines = answers.unwrap_or_default().as_bytes();
    let mut streams = Streams::new(&mut out, &mut err);
    if answers.is_some() {
        streams = streams.answers(&mut lines);
    }
    let args: Vec<&str> = ["manage"].iter().chain(args).copied().collect();
    let code = run_with(odm, args, &mut streams).await;
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran {
        code,
        out: text(out),
        err: text(err),
    }
}

/// Kate with a task, of which an out-of-band write removed one side of the link; and a task without an owner.
async fn damage(t: &TestDb) -> (Person, Task) {
    let odm = odm(t);
    odm.sync().await.unwrap();
    let kate = NewPerson {
        name: "Kate".into(),
        tasks: vec![],
    };
    let kate = odm.collection::<Person>().insert(kate).await.unwrap();
    let plan = NewTask {
        description: "Plan".into(),
        due_date: DateTime::from_millis(0),
        owner: kate.to_ref(),
    };
    let plan = odm.collection::<Task>().insert(plan).await.unwrap();
    let people = t.db.collection::<Doc>("people");
    let all = doc! {};
    people
        .update_one(all, doc! { "$set": { "tasks": [] } })
        .await
        .unwrap();
    let lost = doc! {
        "_id": ObjectId::new(),
        "description": "Lost",
        "due_date": DateTime::from_millis(0),
        "owner": ObjectId::new(),
    };
    t.db.collection::<Doc>("tasks").insert_one(lost).await.unwrap();
    (kate, plan)
}

#[odm_tests::test]
fn a_plan_is_shown_checked_and_applied() {
    with_db(async |t| {
        let plan = run(&t, &["plan"], None).await;
        assert_eq!(plan.code, 0, "{}", plan.err);
        assert!(
            plan.out.contains("create the collection `people`"),
            "{}",
            plan.out
        );
        let check = run(&t, &["plan", "--check", "--json"], None).await;
        let json = check.json();
        assert_eq!(
            (check.code, &json["exit"], &json["empty"]),
            (1, &1.into(), &false.into())
        );
        assert_eq!(
            (&json["command"], &json["database"]),
            (&"plan".into(), &t.db.name().into())
        );
        assert_eq!(json["changes"][0]["kind"], "create_collection");
        let indexes = json["changes"].as_array().unwrap();
        let index = indexes
            .iter()
            .find(|change| change["kind"] == "create_index")
            .unwrap();
        assert!(index["index"].is_string() && index["words"].is_array(), "{index}");
        assert!(
            t.db.list_collection_names().await.unwrap().is_empty(),
            "a plan changes nothing"
        );

        let sync = run(&t, &["sync", "--json"], None).await;
        assert_eq!(sync.code, 0, "{}", sync.err);
        assert_eq!(sync.json()["changes"], json["changes"]);
        let check = run(&t, &["plan", "--check"], None).await;
        assert_eq!((check.code, check.out.as_str()), (0, "nothing to change\n"));
        let sync = run(&t, &["sync"], None).await;
        assert_eq!((sync.code, sync.out.as_str()), (0, "nothing was changed\n"));
    });
}

#[odm_tests::test]
fn a_plan_reports_documents_that_conflict_with_it() {
    with_db(async |t| {
        t.db.collection::<Doc>("people")
            .insert_one(doc! { "_id": 7, "name": 1 })
            .await
            .unwrap();
        let plan = run(&t, &["plan", "--json"], None).await.json();
        let found = &plan["changes"][0];
        assert_eq!(
            (&found["kind"], &found["violations"]["count"]),
            (&"set_validator".into(), &1.into())
        );
        assert_eq!(found["violations"]["sample"], json!([7]));
        let sync = run(&t, &["sync", "--json"], None).await;
        assert_eq!(sync.code, 1, "{}", sync.out);
        assert!(
            sync.json()["error"].is_string() && sync.err.contains("people"),
            "{}",
            sync.err
        );
        let sync = run(&t, &["sync", "--accept-violations"], None).await;
        assert_eq!(sync.code, 0, "{}", sync.err);
        // These people are not linked yet.
        let check = run(&t, &["plan", "--check"], None).await;
        assert_eq!(
            (check.code, check.out.lines().next()),
            (1, Some("nothing to change"))
        );
        assert!(
            check
                .out
                .contains("to backfill: existing documents lack `people.tasks`")
        );
        let filled = run(&t, &["backfill", "--json"], None).await.json();
        assert_eq!(filled["edges"], json!(["people.tasks"]));
        let check = run(&t, &["plan", "--check"], None).await;
        assert_eq!(check.code, 0, "{}", check.out);
    });
}

#[odm_tests::test]
fn the_audit_command_reports_findings() {
    with_db(async |t| {
        odm(&t).sync().await.unwrap();
        let clean = run(&t, &["audit"], None).await;
        assert_eq!(
            (clean.code, clean.out.as_str()),
            (0, "nothing is wrong with 0 references in 0 documents\n")
        );
        let (kate, plan) = damage(&t).await;
        let audit = run(&t, &["audit"], None).await;
        assert_eq!(audit.code, 1);
        assert!(
            audit.out.contains(
                "`tasks`.`owner`: 1 of the references to `people` names a document that does not exist"
            ) && audit
                .out
                .contains("`tasks`.`owner`: 1 of the references to `people` is missing on the other side"),
            "{}",
            audit.out
        );
        let audit = run(&t, &["audit", "--json"], None).await;
        let json = audit.json();
        assert_eq!(
            (audit.code, &json["wrong"], &json["checked"], &json["right"]),
            (1, &2.into(), &2.into(), &0.into())
        );
        let of = |field: &str| {
            json["references"]
                .as_array()
                .unwrap()
                .iter()
                .find(|r| r["field"] == field)
                .unwrap()
        };
        assert_eq!(of("owner")["dangling"]["count"], 1);
        assert_eq!(
            of("owner")["one_sided"],
            json!({ "count": 1, "sample": [[{ "$oid": plan.id.to_hex() }, { "$oid": kate.id.to_hex() }]] })
        );
        assert_eq!(of("tasks")["targets"], json!(["tasks"]));

        for only in ["people", "people.tasks"] {
            let one = run(&t, &["audit", "--json", "--only", only], None).await;
            assert_eq!((one.code, &one.json()["documents"]), (0, &1.into()), "{only}");
        }
        let sample = run(&t, &["audit", "--json", "--sample", "1"], None).await;
        assert_eq!(sample.json()["documents"], 2, "one of each collection");
        let unknown = run(&t, &["audit", "--only", "people.name"], None).await;
        assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
        assert!(
            unknown.err.contains("people.tasks, tasks.owner"),
            "{}",
            unknown.err
        );
    });
}

#[odm_tests::test]
fn a_repair_asks_before_it_changes_anything() {
    with_db(async |t| {
        let (kate, plan) = damage(&t).await;
        let tasks = async || {
            let kate = odm(&t).collection::<Person>().get(kate.id).await.unwrap();
            kate.unwrap().tasks
        };
        let unattended = run(&t, &["repair"], None).await;
        assert_eq!((unattended.code, unattended.out.as_str()), (2, ""));
        assert!(unattended.err.contains("--yes"), "{}", unattended.err);
        let no = run(&t, &["repair"], Some("n\n")).await;
        assert_eq!((no.code, no.out.as_str()), (1, ""));
        assert!(
            no.err.contains("is missing on the other side") && no.err.contains("[y/N]"),
            "{}",
            no.err
        );
        assert!(tasks().await.is_empty(), "nothing was changed");

        let yes = run(&t, &["repair"], Some("y\n")).await;
        // The task without an owner is left: its owner is required.
        assert_eq!(yes.code, 1, "{}", yes.err);
        assert!(
            yes.out
                .contains("`people`.`tasks`: 1 reference added to match the other side"),
            "{}",
            yes.out
        );
        assert_eq!(tasks().await, [plan.to_ref()]);

        let again = run(&t, &["repair", "--yes", "--json"], None).await;
        let json = again.json();
        assert_eq!(
            (again.code, &json["repairs"], &json["left"]["wrong"]),
            (1, &json!([]), &1.into())
        );
        t.db.collection::<Doc>("tasks")
            .delete_one(doc! { "description": "Lost" })
            .await
            .unwrap();
        let clean = run(&t, &["repair"], Some("")).await;
        assert_eq!(clean.code, 0, "{}", clean.err);
        assert!(!clean.err.contains("[y/N]"), "there is nothing to ask");
    });
}

#[odm_tests::test]
fn the_repair_command_reports_its_repairs() {
    with_db(async |t| {
        damage(&t).await;
        let ran = run(&t, &["--json", "repair", "-y", "--only", "tasks.owner"], None).await;
        let repairs = json!([{ "collection": "people", "field": "tasks", "what": "linked", "count": 1 }]);
        assert_eq!((ran.code, &ran.json()["repairs"]), (1, &repairs), "{}", ran.out);
    });
}

#[odm_tests::test]
fn the_models_are_drawn_without_the_server() {
    with_db(async |t| {
        let json = run(&t, &["edges", "--json"], None).await.json();
        assert_eq!(
            json["documents"][0],
            json!({ "name": "Person", "collection": "people", "append_only": false, "bucket": null })
        );
        assert_eq!(
            json["references"][1],
            json!({
                "holder": "tasks", "field": "owner", "kind": "one", "targets": ["people"], "by": "_id", "max": null,
                "optional": false, "only": false, "inverse": "tasks", "on_delete": "restrict",
            })
        );
        let svg = run(&t, &["edges", "--format", "svg"], None).await;
        assert!(svg.code == 0 && svg.out.ends_with("</svg>\n"), "{}", svg.out);
        let mermaid = run(&t, &["edges", "--format", "mermaid"], None).await;
        assert!(mermaid.out.starts_with("flowchart LR\n"), "{}", mermaid.out);
        assert!(t.commands.take().is_empty());
    });
}

#[odm_tests::test]
fn stale_copies_are_found_and_taken_again() {
    with_db(async |t| {
        let odm = || Odm::new(t.db.clone(), models![Host, Message]).unwrap();
        odm().sync().await.unwrap();
        let host = NewHost {
            id: 1,
            address: "10.0.0.1".into(),
        };
        let host = odm().collection::<Host>().insert(host).await.unwrap();
        for id in 0..3 {
            let message = NewMessage {
                id,
                host: host.to_ref(),
            };
            odm().collection::<Message>().insert(message).await.unwrap();
        }
        let clean = run_on(odm(), &["audit"], None).await;
        assert_eq!(clean.code, 0, "{}", clean.out);
        let recovered = run_on(odm(), &["recover"], None).await;
        assert_eq!(
            (recovered.code, recovered.out.as_str()),
            (0, "no pending work\n"),
            "{}",
            recovered.err
        );
        let recovered = run_on(odm(), &["recover", "--json"], None).await.json();
        assert_eq!(
            (&recovered["documents"], &recovered["copies"]),
            (&0.into(), &0.into())
        );

        // An out-of-band write.
        let wrong = doc! { "$set": { "address": "wrong" } };
        t.db.collection::<Doc>("messages")
            .update_one(doc! { "_id": 2 }, wrong)
            .await
            .unwrap();
        let wrong = doc! { "$set": { "messages": 7_i64 } };
        t.db.collection::<Doc>("hosts")
            .update_one(doc! {}, wrong)
            .await
            .unwrap();
        let audit = run_on(odm(), &["audit", "--json"], None).await;
        let found = audit.json();
        assert_eq!(
            (
                audit.code,
                &found["wrong"],
                found["copies"].as_array().unwrap().len()
            ),
            (1, &2.into(), 2),
            "{found}"
        );
        let copies = |field: &str| {
            let all = found["copies"].as_array().unwrap();
            all.iter()
                .find(|copies| copies["fields"] == json!([field]))
                .cloned()
                .unwrap()
        };
        assert_eq!(copies("address")["stale"], json!({ "count": 1, "sample": [2] }));
        assert_eq!(
            (&copies("address")["checked"], &copies("address")["collection"]),
            (&3.into(), &"messages".into())
        );
        assert_eq!(copies("messages")["share"], 0.0);
        let only = run_on(odm(), &["audit", "--json", "--only", "hosts.messages"], None)
            .await
            .json();
        assert_eq!((&only["wrong"], &only["references"]), (&1.into(), &json!([])));

        let repaired = run_on(odm(), &["repair", "--yes", "--json", "--only", "messages"], None).await;
        let repairs = json!([{ "collection": "messages", "field": "address", "what": "copied", "count": 1 }]);
        assert_eq!(
            (repaired.code, &repaired.json()["repairs"]),
            (0, &repairs),
            "{}",
            repaired.out
        );
        let repaired = run_on(odm(), &["repair"], Some("yes\n")).await;
        assert_eq!(repaired.code, 0, "{}", repaired.err);
        assert!(
            repaired
                .err
                .contains("`hosts`.`messages`: 1 of 1 differs from the source"),
            "{}",
            repaired.err
        );
        assert_eq!(
            odm().collection::<Host>().get(1).await.unwrap().unwrap().messages,
            3
        );
        assert_eq!(run_on(odm(), &["audit"], None).await.code, 0);
        let edges = run_on(odm(), &["edges", "--json"], None).await.json();
        let copy = json!({
            "holder": "messages", "field": "address", "source": "hosts", "kind": "field", "source_field": "address",
            "through": "host", "consistency": "auto",
        });
        assert!(edges["copies"].as_array().unwrap().contains(&copy), "{edges}");
    });
}

#[odm_tests::test]
fn documents_older_than_their_copies_are_filled() {
    with_db(async |t| {
        let odm = || Odm::new(t.db.clone(), models![Host, Message]).unwrap();
        let host = doc! { "_id": 1, "address": "10.0.0.1" };
        t.db.collection::<Doc>("hosts").insert_one(host).await.unwrap();
        let messages = (0..3).map(|id| doc! { "_id": id, "host": 1 });
        t.db.collection::<Doc>("messages")
            .insert_many(messages)
            .await
            .unwrap();
        let due = ["messages.host", "hosts.messages"];
        let line = "to backfill: existing documents lack `messages.host`";
        let plan = odm().plan().await.unwrap();
        assert_eq!(plan.backfills(), due);
        let sync = run_on(odm(), &["sync", "--accept-violations"], None).await;
        assert_eq!(sync.code, 0, "{}", sync.err);
        assert!(sync.out.contains(line), "{}", sync.out);
        // Until it is done, every `plan` shows it.
        let plan = odm().plan().await.unwrap();
        assert!(plan.is_empty() && plan.backfills() == due, "{plan}");
        assert!(
            plan.to_string().starts_with("nothing to change\nto backfill: "),
            "{plan}"
        );
        let plan = run_on(odm(), &["plan", "--check", "--json"], None).await;
        assert_eq!((plan.code, &plan.json()["backfills"]), (1, &json!(due)));
        assert_eq!(odm().sync().await.unwrap().backfills(), due);

        // Processes that have read the declarations before may hold them for two seconds.
        let waiting = odm().hold_declarations_for(Duration::from_secs(2));
        let filled = run_on(waiting, &["backfill", "--json"], None).await;
        let why = "s, until every process has read the new declarations of messages.host";
        assert!(
            filled.err.starts_with("waiting ") && filled.err.contains(why),
            "{}",
            filled.err
        );
        let json = filled.json();
        assert_eq!(
            (filled.code, &json["edges"], &json["documents"]),
            (0, &json!(["messages.host", "hosts.messages"]), &4.into()),
            "{json}"
        );
        let host = odm().collection::<Host>().get(1).await.unwrap().unwrap();
        assert_eq!(host.messages, 3);
        let message = odm().collection::<Message>().get(2).await.unwrap().unwrap();
        assert_eq!(message.address, "10.0.0.1");
        assert_eq!(run_on(odm(), &["audit"], None).await.code, 0);
        assert_eq!(run_on(odm(), &["plan", "--check"], None).await.code, 0);
        assert!(odm().sync().await.unwrap().backfills().is_empty());

        let again = run_on(odm(), &["backfill"], None).await;
        assert_eq!((again.code, again.out.as_str()), (0, "nothing to backfill\n"));
        // An out-of-band write to a document that was filled before.
        let wrong = doc! { "$set": { "address": "wrong" } };
        t.db.collection::<Doc>("messages")
            .update_many(doc! {}, wrong)
            .await
            .unwrap();
        let all = run_on(odm(), &["backfill", "--all"], None).await;
        assert_eq!(
            (all.code, all.out.as_str()),
            (
                0,
                "copies were filled in 3 documents, for messages.host, hosts.messages\n"
            ),
            "{}",
            all.err
        );
        assert_eq!(run_on(odm(), &["audit"], None).await.code, 0);
    });
}

#[odm_tests::test]
fn a_field_stands_for_the_references_and_copies_within_it() {
    with_db(async |t| {
        let odm = super::copying::auto::stocked(&t).await;
        for only in ["shelves.books", "shelves.books.id"] {
            let audit = run_on(odm.clone(), &["audit", "--json", "--only", only], None).await;
            assert_eq!((audit.code, &audit.json()["documents"]), (0, &2.into()), "{only}");
            assert_eq!(audit.json()["copies"].as_array().map(Vec::len), Some(1), "{only}");
        }
        let half = run_on(odm, &["audit", "--only", "shelves.boo"], None).await;
        assert!(
            half.code == 2 && half.err.contains("shelves.books.id"),
            "{}",
            half.err
        );
    });
}

/// Hosts as a program knows them that has no model of messages, with a field that the database does not have yet.
mod fewer {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "hosts")]
    pub struct Host {
        #[serde(rename = "_id")]
        pub id: i32,
        #[index]
        pub address: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "rooms")]
    pub struct Room {
        #[serde(rename = "_id")]
        pub id: i32,
    }
}

/// The schema, and the stored declarations.
async fn schema_of(t: &TestDb) -> (Vec<String>, Vec<String>, u64) {
    let mut names = t.db.list_collection_names().await.unwrap();
    names.sort();
    let mut indexes = t.db.collection::<Doc>("hosts").list_index_names().await.unwrap();
    indexes.sort();
    let edges = t.db.collection::<Doc>("_odm_edges");
    (names, indexes, edges.count_documents(doc! {}).await.unwrap())
}

#[odm_tests::test]
fn a_program_that_lacks_copies_is_told_before_it_changes_the_schema() {
    with_db(async |t| {
        let full = || Odm::new(t.db.clone(), models![Host, Message]).unwrap();
        full().sync().await.unwrap();
        let fewer = || Odm::new(t.db.clone(), models![fewer::Host, fewer::Room]).unwrap();
        let copy = "messages.address from hosts.address";
        let lacks = json!([copy, "hosts.messages"]);
        let sorted = |found: &Value| {
            let mut found: Vec<String> = serde_json::from_value(found.clone()).unwrap();
            found.sort();
            found.reverse();
            json!(found)
        };
        let before = schema_of(&t).await;

        let plan = run_on(fewer(), &["plan"], None).await;
        assert_eq!(plan.code, 0);
        let line = format!("unknown: the database holds `{copy}`, which these models don't declare");
        assert!(plan.out.lines().any(|found| found == line), "{}", plan.out);
        let plan = run_on(fewer(), &["plan", "--json", "--check"], None).await;
        assert_eq!(
            (plan.code, &plan.json()["unknown"]),
            (1, &json!([copy])),
            "{}",
            plan.out
        );
        assert_eq!(fewer().plan().await.unwrap().unknown(), [copy]);

        let sync = run_on(fewer(), &["sync", "--json"], None).await;
        assert_eq!(sync.code, 2, "{}", sync.out);
        assert!(sync.err.contains(copy), "{}", sync.err);
        let accepting = run_on(fewer(), &["sync", "--accept-violations"], None).await;
        assert_eq!(accepting.code, 2, "{}", accepting.out);
        let odm = fewer();
        let plan = odm.plan().await.unwrap();
        assert!(!plan.is_empty());
        for refused in [odm.sync().await.map(drop), odm.apply(&plan).await.map(drop)] {
            assert!(
                matches!(refused, Err(odm::Error::UnknownCopies { .. })),
                "{refused:?}"
            );
        }
        assert_eq!(schema_of(&t).await, before, "nothing was changed");
        // Nor does it delete what may be referred to.
        let refused = odm.collection::<fewer::Host>().delete(1).await;
        assert!(
            matches!(refused, Err(odm::Error::UnknownReferences { .. })),
            "{refused:?}"
        );

        // That it is meant is said for this once.
        let meant = run_on(fewer(), &["sync", "--allow-unknown"], None).await;
        assert_eq!(meant.code, 0, "{}", meant.err);
        assert!(schema_of(&t).await.0.contains(&"rooms".to_owned()));
        let check = run_on(fewer(), &["plan", "--check"], None).await;
        assert_eq!(check.code, 1, "{}", check.out);
        // A plan names all that `forget` would remove.
        for undeclared in fewer().undeclared_copies().await.unwrap() {
            assert!(check.out.contains(&undeclared), "{undeclared}: {}", check.out);
        }
        let allowed = fewer().allow_unknown_copies();
        assert_eq!(run_on(allowed, &["plan", "--check"], None).await.code, 0);

        // The messages are gone for good.
        let unattended = run_on(fewer(), &["forget"], None).await;
        assert_eq!((unattended.code, unattended.out.as_str()), (2, ""));
        assert!(unattended.err.contains("--yes"), "{}", unattended.err);
        let no = run_on(fewer(), &["forget"], Some("n\n")).await;
        assert_eq!((no.code, no.out.as_str()), (1, ""));
        assert!(
            no.err.contains(copy) && no.err.contains("hosts.messages"),
            "{}",
            no.err
        );
        assert!(no.err.contains("nothing was changed"), "{}", no.err);
        assert_eq!(sorted(&json!(fewer().undeclared_copies().await.unwrap())), lacks);
        let yes = run_on(fewer(), &["forget", "--json"], Some("yes\n")).await;
        assert_eq!(
            (yes.code, sorted(&yes.json()["forgotten"])),
            (0, lacks),
            "{}",
            yes.err
        );
        let again = run_on(fewer(), &["forget", "--yes"], None).await;
        assert_eq!((again.code, again.out.as_str()), (0, "nothing to forget\n"));
        let check = run_on(fewer(), &["plan", "--check"], None).await;
        assert_eq!(check.code, 0, "{}", check.out);
        assert_eq!(run_on(fewer(), &["sync"], None).await.code, 0);
        // A program that still has them declares them again.
        full().sync().await.unwrap();
        let forgotten = run_on(fewer(), &["forget", "-y"], None).await;
        assert!(
            forgotten.out.contains(&format!("forgotten: {copy}")),
            "{}",
            forgotten.out
        );
    });
}
