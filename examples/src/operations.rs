//! The operations around the models in production.
use mongodb::{Database, bson::doc};
use odm::prelude::*;

use crate::one_to_squillions::{Host, LogMsg, NewHost, NewLogMsg};

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db.clone(), models![Host, LogMsg])?;

    // The changes in words, before they are made. Nothing undeclared is ever dropped.
    let plan = odm.plan().await?;
    println!("{plan}");
    odm.apply(&plan).await?;
    assert!(odm.plan().await?.is_empty());

    let (hosts, logs) = (odm.collection::<Host>(), odm.collection::<LogMsg>());
    let host = hosts
        .insert(NewHost {
            name: "a".into(),
            ipaddr: "10.0.0.1".into(),
        })
        .await?;
    logs.insert_many((0..100).map(|n| NewLogMsg {
        time: DateTime::from_millis(n),
        message: n.to_string(),
        host: host.to_ref(),
    }))
    .await?;

    // After an out-of-band write the audit counts stale copies, edge by edge, and the repair updates just those.
    db.collection::<mongodb::bson::Document>("logmsg")
        .update_many(doc! { "message": "7" }, doc! { "$set": { "ipaddr": "wrong" } })
        .await?;
    let audit = odm.audit().await?;
    assert_eq!(audit.stale_copies(), 1);
    println!("{audit}");
    assert_eq!(odm.repair(&audit).await?.repaired, 1);
    assert!(odm.audit().await?.is_clean());

    // Work that a crash interrupted is finished by any process, later.
    odm.recover().await?;

    // Several writes as one: on a replica set, all or nothing.
    odm.transaction(async |tx| {
        let host = tx
            .collection::<Host>()
            .insert(NewHost {
                name: "b".into(),
                ipaddr: "10.0.0.2".into(),
            })
            .await?;
        tx.collection::<LogMsg>()
            .insert(NewLogMsg {
                time: DateTime::now(),
                message: "up".into(),
                host: host.to_ref(),
            })
            .await?;
        Ok(())
    })
    .await?;

    // A reconciler follows the change stream and repairs copies after writes that came from elsewhere.
    let reconciler = odm.reconciler().start().await?;
    db.collection::<mongodb::bson::Document>("hosts")
        .update_one(doc! { "name": "a" }, doc! { "$set": { "ipaddr": "10.9.9.9" } })
        .await?;
    reconciler.caught_up().await?;
    assert_eq!(logs.find(|l| l.ipaddr.eq("10.9.9.9")).count().await?, 100);
    reconciler.stop().await?;
    Ok(())
}
