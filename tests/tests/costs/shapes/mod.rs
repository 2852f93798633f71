//! The shape of each command that an operation sends: a page that is compared with what is sent.
//!
//! The client of the test asks for less than the library needs (`w: 1`, the read concern `available`, secondaries), so the page shows which
//! commands have concerns and a read preference of the application's, and which have the library's own. `ODM_WRITE_BOOK=1` writes the page.

mod bare;
mod hooked;
mod models;
mod page;

use futures::future::BoxFuture;
use odm::__private::SwitchOdm as _;
use odm::Odm;
use odm::bson::{Bson, doc};
use odm::mongodb::options::{Acknowledgment, ReadConcern, ReadPreference, WriteConcern};
use odm::options::Options;
use odm::references::FanOut;
use odm_tests::fixtures::operations::On;
use odm_tests::{TestDb, with_db};
use page::{Sent, Shapes};
use std::time::Duration;

/// The stored page.
const PAGE: &str = include_str!("page.md");

type Work = Box<dyn Fn(On) -> BoxFuture<'static, odm::Result<()>> + Send + Sync>;

/// An operation.
pub struct Row {
    name: &'static str,
    /// The document at which its transaction may meet others so often that pending work takes its place.
    contended: Option<(&'static str, i64)>,
    work: Work,
}

fn row(
    name: &'static str,
    contended: Option<(&'static str, i64)>,
    work: impl Fn(On) -> BoxFuture<'static, odm::Result<()>> + Send + Sync + 'static,
) -> Row {
    let work = Box::new(work);
    Row {
        name,
        contended,
        work,
    }
}

/// The operations on whole databases.
fn upkeep() -> Vec<Row> {
    vec![
        row("audit", None, |on| {
            Box::pin(async move { on.odm().audit().await.map(drop) })
        }),
        row("repair", None, |on| {
            Box::pin(async move { on.odm().repair_all().await.map(drop) })
        }),
        row("recover", None, |on| {
            Box::pin(async move { on.odm().recover().await.map(drop) })
        }),
    ]
}

/// Where the operations are executed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deployment {
    Plain,
    Options,
    Joined,
    Hooks,
    Standalone,
    Contended,
}

impl Deployment {
    const ALL: [Deployment; 6] = [
        Deployment::Plain,
        Deployment::Options,
        Deployment::Joined,
        Deployment::Hooks,
        Deployment::Standalone,
        Deployment::Contended,
    ];

    fn name(self) -> &'static str {
        match self {
            Deployment::Plain => "replica set",
            Deployment::Options => "with options",
            Deployment::Joined => "in a transaction of the application",
            Deployment::Hooks => "with hooks",
            Deployment::Standalone => "standalone",
            Deployment::Contended => "fallen back to pending work",
        }
    }

    /// Fills the database, and executes all operations.
    async fn execute(self, t: &TestDb, shapes: &mut Shapes) {
        let is_hooked = self == Deployment::Hooks;
        let sent = Sent::default();
        let mut options = odm_tests::options(self == Deployment::Standalone).await;
        options.command_event_handler = Some(sent.handler());
        // By one connection: commands that are sent at the same time have one order.
        options.max_pool_size = Some(1);
        options.write_concern = Some(WriteConcern::nodes(1));
        options.read_concern = Some(ReadConcern::available());
        let secondaries = ReadPreference::SecondaryPreferred { options: None };
        options.selection_criteria = Some(secondaries.into());
        let client = odm::mongodb::Client::with_options(options).unwrap();
        t.db.drop().await.unwrap();
        let models = if is_hooked {
            hooked::models()
        } else {
            bare::models()
        };
        let mut odm = Odm::new(client.database(t.db.name()), models).unwrap();
        odm.sync().await.unwrap();
        let filled = if is_hooked {
            hooked::fill(odm.clone()).await
        } else {
            bare::fill(odm.clone()).await
        };
        filled.unwrap();
        let an_hour = Duration::from_secs(3600);
        odm = odm
            .with_fan_out(FanOut::new().in_transaction(2))
            .hold_declarations_for(an_hour);
        if self == Deployment::Options {
            let journaled = WriteConcern::builder()
                .w(Acknowledgment::Nodes(1))
                .journal(true)
                .build();
            let own = Options::new().comment("own").write_concern(journaled);
            let own = own.read_concern(ReadConcern::majority());
            odm = odm.with_options(own.read_preference(ReadPreference::Nearest { options: None }));
        }
        let mut rows = if is_hooked { hooked::rows() } else { bare::rows() };
        if matches!(
            self,
            Deployment::Plain | Deployment::Options | Deployment::Standalone
        ) {
            rows.extend(upkeep());
        }
        // A write that waits for a majority: a transaction sees all that was written before it.
        let probe = t.db.collection("probe");
        for row in rows {
            probe.insert_one(doc! {}).await.unwrap();
            if self == Deployment::Contended {
                match row.contended {
                    Some((collection, id)) => odm.contend(collection, Bson::Int64(id)),
                    // Later operations need the documents that it writes.
                    None => {
                        let _ = (row.work)(On::Database(odm.clone())).await;
                        continue;
                    }
                }
            }
            sent.take();
            let made = match self {
                Deployment::Joined => {
                    let work = async |tx: odm::Tx| (row.work)(On::Transaction(odm.clone(), tx)).await;
                    odm.transaction(work).await
                }
                _ => (row.work)(On::Database(odm.clone())).await,
            };
            shapes.add(row.name, self.name(), &sent.take(), &made);
        }
    }
}

#[odm_tests::test]
fn commands_have_the_shapes_that_the_page_says() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), []).unwrap();
        let server = odm.server().await.unwrap();
        let by_one_query =
            server.has_lookup_with_pipeline() && server.topology() != odm::server::Topology::Sharded;
        if !server.has_transactions() || !by_one_query {
            odm_tests::skip("needs transactions and MongoDB 5.0, not sharded");
        }
        let mut shapes = Shapes::default();
        for deployment in Deployment::ALL {
            deployment.execute(&t, &mut shapes).await;
        }
        let page = shapes.page();
        if std::env::var_os("ODM_WRITE_BOOK").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/costs/shapes/page.md");
            std::fs::write(path, &page).unwrap();
            return;
        }
        assert!(
            page == PAGE,
            "tests/tests/costs/shapes/page.md says something else than what was sent:\n{}",
            page::differences(PAGE, &page)
        );
    });
}
