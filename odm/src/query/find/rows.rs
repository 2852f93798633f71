//! The documents of a stream in their type, with what is joined to them.

use crate::model::stored::Row;
use crate::query::join::{Join, Source, Work};
use crate::store::batches::{Documents, RawDocuments};
use crate::{Document, Result, store::decode};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, Stream};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A row, or the error that ends the stream; within it the error of a document that does not fit.
type FoundRow<T, Out, J> = Result<Result<<J as Join<T>>::Row<Out>>>;

/// The rows of a stream. One batch is in memory, with what is joined to it.
pub(crate) struct Rows<T: Document, Out: Send + 'static, J: Join<T>> {
    documents: Documents,
    from: Source,
    join: Arc<J>,
    projected: bool,
    /// Those of a batch with what is joined to them.
    rows: std::vec::IntoIter<FoundRow<T, Out, J>>,
    joining: Option<BoxFuture<'static, Vec<FoundRow<T, Out, J>>>>,
}

// Nothing of it is pinned but what is in a box.
impl<T: Document, Out: Send + 'static, J: Join<T>> Unpin for Rows<T, Out, J> {}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Rows<T, Out, J> {
    pub(crate) fn of(
        batches: BoxStream<'static, Result<RawDocuments>>,
        from: Source,
        join: J,
        projected: bool,
    ) -> Self {
        Rows {
            documents: Documents::new(batches),
            from,
            join: Arc::new(join),
            projected,
            rows: Vec::new().into_iter(),
            joining: None,
        }
    }

    /// As a stream in which a document that does not fit is an error like others.
    pub(crate) fn whole(self) -> BoxStream<'static, Result<J::Row<Out>>> {
        Box::into_pin(Box::new(WholeRows(self)))
    }

    /// As a stream in which a document that does not fit is an item.
    pub(crate) fn lossy(self) -> BoxStream<'static, Result<Result<J::Row<Out>>>> {
        Box::into_pin(Box::new(LossyRows(self)))
    }

    /// Without a join, a document is decoded when it is asked for.
    fn poll_alone(&mut self, cx: &mut Context<'_>) -> Poll<Option<FoundRow<T, Out, J>>> {
        Poll::Ready(match ready!(self.documents.poll_ready(cx)) {
            Some(Ok(())) => self.documents.take().map(|raw| {
                let mut state = self.join.start(&mut 0);
                let out = self.join.out(&mut state, &mut [], 0)?;
                Ok(decode::decode(T::META, raw).map(|document| J::row(document, out)))
            }),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<FoundRow<T, Out, J>>> {
        if J::NOTHING {
            return self.poll_alone(cx);
        }
        loop {
            if let Some(row) = self.rows.next() {
                return Poll::Ready(Some(row));
            }
            if let Some(joining) = &mut self.joining {
                self.rows = ready!(joining.poll_unpin(cx)).into_iter();
                self.joining = None;
                continue;
            }
            match ready!(self.documents.poll_batch(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(batch)) => {
                    let (join, from, projected) = (self.join.clone(), self.from.clone(), self.projected);
                    let joined = async move {
                        let mut read = ReadRows::of(&*join, projected, &batch);
                        let done = read.work.run(&from).await;
                        read.into_rows(done)
                    };
                    self.joining = Some(Box::into_pin(Box::new(joined)));
                }
            }
        }
    }
}

struct WholeRows<R>(R);
struct LossyRows<R>(R);

impl<T, Out, J> Stream for WholeRows<Rows<T, Out, J>>
where
    T: Document,
    Out: Row + Send + 'static,
    J: Join<T>,
{
    type Item = Result<J::Row<Out>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(ready!(self.0.poll(cx)).map(|row| row?))
    }
}

impl<T, Out, J> Stream for LossyRows<Rows<T, Out, J>>
where
    T: Document,
    Out: Row + Send + 'static,
    J: Join<T>,
{
    type Item = Result<Result<J::Row<Out>>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll(cx)
    }
}

/// A batch that is read: its documents, the errors of those that don't fit in their places, and what is to be joined.
struct ReadRows<'j, T: Document, Out, J: Join<T>> {
    work: Work<'j, T, J>,
    documents: Vec<Out>,
    places: Vec<Result<()>>,
}

impl<'j, T: Document, Out: Row + Send + 'static, J: Join<T>> ReadRows<'j, T, Out, J> {
    fn of(join: &'j J, projected: bool, batch: &RawDocuments) -> Self {
        let mut work = Work::of_query(join, projected);
        let (mut documents, mut places) = (Vec::new(), Vec::new());
        for raw in batch.iter() {
            let document = decode::decode(T::META, raw);
            let document = document.and_then(|document| work.parent(raw).map(|()| document));
            places.push(document.map(|document| documents.push(document)));
        }
        ReadRows {
            work,
            documents,
            places,
        }
    }

    /// Where the join failed, its error stands for all documents that fit.
    fn into_rows(self, joined: Result<()>) -> Vec<FoundRow<T, Out, J>> {
        let rows = joined.and_then(|()| self.work.rows(self.documents));
        let (mut rows, failed) = match rows {
            Ok(rows) => (rows.into_iter(), None),
            Err(error) => (Vec::new().into_iter(), Some(error)),
        };
        let mut all = Vec::with_capacity(self.places.len());
        for place in self.places {
            match place {
                Ok(()) => all.extend(rows.next().map(|row| Ok(Ok(row)))),
                Err(error) => all.push(Ok(Err(error))),
            }
        }
        all.extend(failed.map(Err));
        all
    }
}
