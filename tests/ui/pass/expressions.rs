//! Calls and conditions that messages offer, and that no other program has in this form.
use odm::expr::{expr, value};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    number: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "messages")]
struct Message {
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    seconds: i32,
    #[embed(max = 5)]
    tags: Vec<String>,
    #[embed(max = 5)]
    parts: Vec<Part>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct Part {
    number: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Host, time = at)]
struct Reading {
    at: DateTime,
    number: i32,
}

fn calls(odm: &Odm, parent: Host, tags: Vec<String>, from: DateTime, to: DateTime) {
    let hosts = odm.collection::<Host>();
    let messages = odm.collection::<Message>();
    let _ = hosts.find_all().include(|h| h.children_by(|m: MessageFields| m.host));
    let _ = hosts.aggregate().lookup("messages", |h| h.children::<Message>());
    let both = tags.clone();
    let _ = messages.find(|m| m.tags.contains_any(both) & m.tags.contains_all(tags));
    let _ = messages.find(|m| m.parts.elem(|part| part.number.eq(7)));
    let half = |m: MessageFields| expr(m.seconds) / value(2);
    let _ = messages.update(parent.id).compute(|m| m.seconds, move |m| half(m).floor());
    let _ = messages.update(parent.id).compute(|m| m.seconds, move |m| half(m).ceil());
    let _ = messages.update(parent.id).compute(|m| m.seconds, move |m| half(m).trunc());
    let _ = odm.buckets::<Reading>().range(&parent, from..to);
}

pub(crate) fn main() {
    let _ = calls;
}
