//! The updates that the library sends for its rules.

use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::store::command::{self, Verb, WriteCommand, in_one_command};
use crate::store::cx::{Cx, Statement};
use crate::store::filter::{in_form, named_id, named_ids};
use crate::store::queue::QueueKey;
use crate::{Error, Result};
use mongodb::bson::{Document, RawBson, RawDocumentBuf};
use mongodb::options::WriteConcern;
use std::borrow::Cow;

impl Cx<'_> {
    /// Executes statements in as few commands as the server's limits allow, one after the other. Returns the total number of
    /// matched documents.
    pub(crate) async fn update(&self, meta: &'static DocumentMeta, statements: &[Statement]) -> Result<u64> {
        let encoded = statements.iter().map(|statement| self.encode(meta, statement));
        let encoded = encoded.collect::<Result<Vec<_>>>()?;
        let sent = self.send_updates(meta, &encoded).await;
        if let (Err(error), Some(session)) = (&sent, self.session)
            && error.is_transient_transaction_error()
        {
            let ids = statements
                .iter()
                .flat_map(|statement| named_ids(&statement.filter));
            session.met(ids.map(|id| QueueKey {
                collection: meta.collection,
                by: "_id",
                key: Key::of_bson(id),
            }));
        }
        sent
    }

    /// Changes all documents that fit by a pipeline. Gives how many those were.
    pub(crate) async fn compute(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        pipeline: Vec<Document>,
    ) -> Result<u64> {
        let filter = self.routed(meta, filter);
        let statement = encoded(Cow::Owned(filter), command::pipeline(&pipeline)?, &[])?;
        self.send_updates(meta, &[statement]).await
    }

    fn encode(&self, meta: &'static DocumentMeta, statement: &Statement) -> Result<RawDocumentBuf> {
        let mut update = Cow::Borrowed(&statement.update);
        if let Some(bucket) = meta.bucket {
            crate::model::meta::bucket::renew(bucket, update.to_mut());
        }
        let mut filter = Cow::Borrowed(&statement.filter);
        if self.odm.graph().routing(meta).is_some() {
            filter = Cow::Owned(self.routed(meta, filter.into_owned()));
        }
        encoded(filter, command::operators(&update)?, &statement.array_filters)
    }

    async fn send_updates(&self, meta: &'static DocumentMeta, statements: &[RawDocumentBuf]) -> Result<u64> {
        if statements.is_empty() {
            return Ok(0);
        }
        let most = self.odm.server().await?.max_write_batch();
        // Documents that copies depend on may not be lost when another server becomes the primary.
        let majority = WriteConcern::majority();
        let concern = match (self.session, self.odm.database().write_concern()) {
            (Some(_), _) => None,
            (None, _) if self.odm.graph().is_depended_on(meta) => Some(&majority),
            (None, own) => own,
        };
        let mut rest = statements;
        let mut matched = 0;
        let mut past_validator = false;
        // The validator's refusal of the rest.
        let mut refusal: Option<Error> = None;
        let mut unacknowledged = None;
        while !rest.is_empty() {
            let statements = in_one_command(rest, most);
            let command = WriteCommand {
                verb: Verb::Update,
                meta,
                statements,
                ordered: true,
                concern,
                past_validator,
            };
            let reply = match command.send(self).await {
                // This user has to write within the validator.
                Err(error) if past_validator && is_unauthorized(&error) => match refusal.take() {
                    Some(refusal) => return Err(refusal),
                    None => {
                        let within_validator = WriteCommand {
                            past_validator: false,
                            ..command
                        };
                        within_validator.send(self).await
                    }
                },
                reply => reply,
            }?;
            matched += reply.n;
            refusal = None;
            unacknowledged = unacknowledged.or(reply.unacknowledged);
            let mut done = statements.len();
            if let Some((at, error)) = reply.refused.into_iter().next() {
                let by_validator = matches!(error, Error::Invalid { .. });
                let again = self.unvalidated && by_validator && !past_validator && self.session.is_none();
                if !again {
                    return Err(error);
                }
                // Of many documents of a statement some may have been written. All that is written in this way can be written
                // twice, so the statement is sent again, with those after it.
                done = at.min(done.saturating_sub(1));
                (past_validator, refusal) = (true, Some(error));
            }
            rest = rest.get(done..).unwrap_or_default();
        }
        match unacknowledged {
            Some(error) => Err(error),
            None => Ok(matched),
        }
    }
}

/// A statement with the id of one document is an update of one, which the server executes atomically.
fn encoded(
    filter: Cow<'_, Document>,
    changes: RawBson,
    array_filters: &[Document],
) -> Result<RawDocumentBuf> {
    let filter = in_form(filter);
    let many = named_id(&filter).is_none();
    command::updating(&filter, Some(changes), array_filters, many)
}

/// Whether the server refuses a command since the user lacks a privilege.
fn is_unauthorized(error: &Error) -> bool {
    use mongodb::error::ErrorKind;
    let error = error.driver_error();
    error.is_some_and(|error| matches!(&*error.kind, ErrorKind::Command(command) if command.code == 13))
}
