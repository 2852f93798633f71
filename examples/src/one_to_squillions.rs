//! One-to-squillions: log messages name their host, carry its address, and the host keeps the newest thousand.
use futures::TryStreamExt;
use mongodb::{
    Database,
    bson::{DateTime, oid::ObjectId},
};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    pub id: ObjectId,
    pub name: String,
    #[index(unique)]
    pub ipaddr: String,
    #[subset(of = LogMsg, limit = 1000, order(time), fields(time: DateTime, message: String))]
    // generates LogmsgsEntry
    pub logmsgs: Vec<LogmsgsEntry>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "logmsg")]
pub struct LogMsg {
    pub id: ObjectId,
    pub time: DateTime,
    pub message: String,
    #[parent_ref(order(-time))] // index { host: 1, time: -1 }
    pub host: Ref<Host>,
    #[denormalize(from = host.ipaddr)]
    #[index]
    pub ipaddr: String,
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Host, LogMsg])?;
    odm.sync().await?;
    let (hosts, logs) = (odm.collection::<Host>(), odm.collection::<LogMsg>());

    // A subset and a copy are managed: neither NewHost nor NewLogMsg has a field for them.
    let goofy = hosts
        .insert(NewHost {
            name: "goofy.example.com".into(),
            ipaddr: "127.66.66.66".into(),
        })
        .await?;
    // The log of the past hours in one go, and the newest messages as they come.
    let message = |minute: i64| NewLogMsg {
        time: DateTime::from_millis(minute * 60_000),
        message: format!("cpu is on fire! ({minute})"),
        host: goofy.to_ref(),
    };
    logs.insert_many((0..1195).map(message)).await?;
    for minute in 1195..1200 {
        logs.insert(message(minute)).await?;
    }

    // The newest thousand sit in the host; nothing was lost when the oldest two hundred aged out.
    let host = hosts.get(goofy.id).await?.unwrap();
    assert_eq!(
        (host.logmsgs.len(), host.logmsgs[0].message.as_str()),
        (1000, "cpu is on fire! (200)")
    );
    assert_eq!(logs.children_of(&host).count().await?, 1200);
    println!(
        "1200 messages of {}, the newest {} of them in the host",
        host.name,
        host.logmsgs.len()
    );

    // The most recent five: the order of the parent_ref, on its index, streamed.
    let newest: Vec<LogMsg> = logs
        .children_of(&host)
        .limit(5)
        .stream()
        .await?
        .try_collect()
        .await?;
    assert_eq!(newest[0].message, "cpu is on fire! (1199)");
    println!("The newest: {}", newest[0].message);

    // By address: one query on the copy instead of two.
    assert_eq!(
        logs.find(|l| l.ipaddr.eq("127.66.66.66"))
            .sort(|l| l.time.desc())
            .limit(5000)
            .count()
            .await?,
        1200
    );

    // The host moves: every message follows.
    let moved = hosts.update(host.id).set(|h| h.ipaddr, "127.0.0.7").await?;
    assert_eq!(moved.copies_updated, 1200);
    println!(
        "The host has moved: {} messages have its new address.",
        moved.copies_updated
    );
    assert_eq!(logs.find(|l| l.ipaddr.eq("127.66.66.66")).count().await?, 0);
    Ok(())
}
