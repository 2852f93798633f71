//! Copies, subsets and computed fields: shown step by step, spoilt from outside, found and repaired.

use crate::Databases;
use crate::designs::program;
use crate::show::Show;
use anyhow::{Context, Result};
use mongodb::bson::{DateTime, Document as Fields, doc};
use odm::prelude::*;
use odm_examples::one_to_squillions::{self, Host, LogMsg, NewHost, NewLogMsg};
use odm_examples::subset::{self, NewProduct, NewReview, Product, Review};
use odm_examples::{bucket, bucket_by_time, computed, copies, extended_reference, operations, outlier};

pub async fn copies(show: &mut Show, databases: &Databases) -> Result<()> {
    show.heading("Copies that stay true: the address of a host in each of its messages");
    show.text(
        "Messages are searched by the address of their host, so each carries a copy of it, \
         `#[denormalize(from = host.ipaddr)]`. The application never writes it: whatever changes the host, or the \
         reference to it, brings the copy with it.",
    );
    println!();
    let db = databases.named("copies");
    let odm = Odm::new(db.clone(), models![Host, LogMsg])?;
    show.step("Create what the models declare", odm.sync()).await?;
    let (hosts, messages) = (odm.collection::<Host>(), odm.collection::<LogMsg>());
    let host = NewHost {
        name: "goofy.example.com".into(),
        ipaddr: "127.66.66.66".into(),
    };
    let host = show.step("Insert a host", hosts.insert(host)).await?;
    let new = (0..500).map(|n| NewLogMsg {
        time: DateTime::from_millis(n),
        message: format!("message {n}"),
        host: host.to_ref(),
    });
    show.step(
        "And 500 messages of it, in one transaction",
        messages.insert_many(new),
    )
    .await?;
    let count = show
        .step(
            "Search them by the address: no join",
            messages.find(|m| m.ipaddr.eq("127.66.66.66")).count(),
        )
        .await?;
    show.check("all have their copy", count, 500)?;
    let update = hosts.update(host.id).set(|h| h.ipaddr, "10.0.0.1");
    show.step("The host moves to another address", update).await?;
    let count = show
        .step(
            "Search by the new one",
            messages.find(|m| m.ipaddr.eq("10.0.0.1")).count(),
        )
        .await?;
    show.check("all copies have followed", count, 500)?;
    let update = hosts.update(host.id).set(|h| h.name, "goofy");
    show.step("A change of a field without copies costs nothing extra", update)
        .await?;
    show.check("1 command", show.last_sent(), 1)?;

    show.text("Now another program writes:");
    let stale = db
        .collection::<Fields>("logmsg")
        .update_many(
            doc! { "message": { "$in": ["message 7", "message 8"] } },
            doc! { "$set": { "ipaddr": "wrong" } },
        )
        .await?;
    show.got(format!("{} copies are wrong", stale.modified_count));
    let audit = show.step("The audit compares, edge by edge", odm.audit()).await?;
    show.got(audit.to_string());
    show.check("it finds these and no other", audit.stale_copies(), 2)?;
    show.step("The repair corrects just these", odm.repair(&audit))
        .await?;
    let audit = show.step("And all is right again", odm.audit()).await?;
    show.check("the audit is clean", audit.is_clean(), true)?;
    program(
        show,
        "one_to_squillions",
        one_to_squillions::run(databases.named("one_to_squillions")),
    )
    .await?;
    program(show, "copies", copies::run(databases.named("kinds_of_copies"))).await?;
    program(
        show,
        "extended_reference",
        extended_reference::run(databases.named("extended_reference")),
    )
    .await?;
    program(show, "operations", operations::run(databases.named("operations"))).await
}

pub async fn subsets(show: &mut Show, databases: &Databases) -> Result<()> {
    show.heading("The subset pattern: a product page in one round trip");
    show.text(
        "A product keeps its ten newest reviews, `#[subset(of = Review, limit = 10, order(-published_date))]`, their \
         number, `#[computed(count = Review)]`, and their average, `#[computed(avg = Review.stars)]`. All reviews stay \
         documents of their own.",
    );
    println!();
    let odm = Odm::new(databases.named("reviews"), models![Product, Review])?;
    show.step("Create what the models declare", odm.sync()).await?;
    let (products, reviews) = (odm.collection::<Product>(), odm.collection::<Review>());
    let widget = products.insert(NewProduct {
        id: 1,
        name: "Super Widget".into(),
    });
    let widget = show.step("Insert a product", widget).await?;
    let new = (0..200_i32).map(|n| NewReview {
        product: widget.to_ref(),
        review_author: format!("author {n}"),
        review_text: format!("review {n}"),
        stars: n % 5 + 1,
        published_date: DateTime::from_millis(i64::from(n) * 86_400_000),
    });
    let made = show
        .step("And 200 reviews of it", reviews.insert_many(new))
        .await?;
    let page = show
        .step("The page: the product with all that it shows", products.get(1))
        .await?
        .context("the product is gone")?;
    show.check("1 command", show.last_sent(), 1)?;
    show.check("the ten newest reviews", page.reviews.len(), 10)?;
    show.check("their number", page.review_count, 200)?;
    show.check("and their average", page.rating.value(), Some(3.0))?;
    let newest = made.last().context("there are no reviews")?;
    show.step("Delete the newest review", reviews.delete(newest.id))
        .await?;
    let page = show
        .step("The page again", products.get(1))
        .await?
        .context("the product is gone")?;
    let first = page.reviews.first().map(|review| review.review_text.as_str());
    show.check("the one behind it has moved up", first, Some("review 198"))?;
    show.check("ten are kept", page.reviews.len(), 10)?;
    show.check("and counted", page.review_count, 199)?;
    program(show, "subset", subset::run(databases.named("subset"))).await?;
    program(show, "computed", computed::run(databases.named("computed"))).await?;
    program(show, "bucket", bucket::run(databases.named("bucket"))).await?;
    program(
        show,
        "bucket_by_time",
        bucket_by_time::run(databases.named("bucket_by_time")),
    )
    .await?;
    program(show, "outlier", outlier::run(databases.named("outlier"))).await
}
