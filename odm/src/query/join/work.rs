//! A join on its way, for all documents of a query.

use super::hop::run_all;
use super::{Hop, Join, Source};
use crate::{Document, Result};
use mongodb::bson::RawDocument;

/// A join that is being executed.
pub(crate) struct Work<'j, R: Document, J: Join<R>> {
    join: &'j J,
    state: J::State,
    hops: Vec<Hop>,
    /// Only a part of each document is read, which says nothing of the references beside it.
    projected: bool,
}

impl<'j, R: Document, J: Join<R>> Work<'j, R, J> {
    pub(crate) fn new(join: &'j J) -> Self {
        Work {
            join,
            state: join.start(&mut 0),
            hops: vec![Hop::default()],
            projected: false,
        }
    }

    /// For documents of a query, which may have a projection.
    pub(crate) fn of_query(join: &'j J, projected: bool) -> Self {
        Work {
            projected,
            ..Work::new(join)
        }
    }

    /// For documents into which the server has put what is joined to them.
    pub(crate) fn of_lookup(join: &'j J, projected: bool) -> Self {
        let mut work = Work::of_query(join, projected);
        for hop in &mut work.hops {
            hop.embedded = true;
        }
        work
    }

    /// One more document of the query. One that does not fit is an error, and is not noted.
    pub(crate) fn parent(&mut self, raw: &RawDocument) -> Result<()> {
        if self.projected {
            self.join.fits(raw)?;
        }
        match self.hops.first_mut() {
            Some(hop) => self.join.parent(&mut self.state, raw, hop, 0),
            None => Ok(()),
        }
    }

    /// Asks for everything that is joined.
    pub(crate) async fn run(&mut self, from: &Source) -> Result<()> {
        if J::NOTHING {
            return Ok(());
        }
        let Work {
            join, state, hops, ..
        } = self;
        let mut next = |level: usize, hops: &[Hop], next: &mut Hop| join.next(state, level, hops, next);
        run_all(hops, from, &mut next).await
    }

    /// The documents, in the order in which they were noted, each with what is joined to it.
    pub(crate) fn rows<X: Send + 'static>(mut self, documents: Vec<X>) -> Result<Vec<J::Row<X>>> {
        let mut rows = Vec::with_capacity(documents.len());
        for (at, document) in documents.into_iter().enumerate() {
            let out = self.join.out(&mut self.state, &mut self.hops, at)?;
            rows.push(J::row(document, out));
        }
        Ok(rows)
    }

    /// The joined value of the only document.
    pub(crate) fn out(mut self) -> Result<J::Out> {
        self.join.out(&mut self.state, &mut self.hops, 0)
    }
}
