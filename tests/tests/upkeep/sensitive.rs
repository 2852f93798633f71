//! Values of sensitive fields, which no error and no log shows.

use super::tracing::{Captured, subscriber};
use odm::Error;
use odm::bson::doc;
use odm::prelude::*;
use odm_tests::with_db;
use std::error::Error as _;

const SECRET: &str = "correct horse battery staple";

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "accounts")]
struct Account {
    id: i32,
    name: String,
    #[index(unique)]
    #[field(sensitive, max_len = 40)]
    token: String,
    login: Option<Login>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct Login {
    #[field(sensitive, max_len = 40)]
    password: String,
    at: i32,
}

fn account(id: i32, token: &str) -> Account {
    Account {
        id,
        name: "Kate".into(),
        token: token.into(),
        login: None,
    }
}

/// The text of an error, of its fields and of its sources.
fn all_texts(error: &Error) -> String {
    let mut texts = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(error) = source {
        texts += &format!(" {error} {error:?}");
        source = error.source();
    }
    texts
}

#[track_caller]
fn conceals(error: Error, named: &str) {
    let texts = all_texts(&error);
    assert!(!texts.contains(SECRET), "{texts}");
    assert!(texts.contains(named), "{texts}");
}

#[odm_tests::test]
fn no_error_shows_the_value_of_a_sensitive_field() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Account]).unwrap();
        odm.sync().await.unwrap();
        let accounts = odm.collection::<Account>();
        accounts.insert(account(1, SECRET)).await.unwrap();

        let twice = accounts.insert(account(2, SECRET)).await.unwrap_err();
        assert!(
            matches!(&twice, Error::DuplicateKey { fields, .. } if fields == &["token"]),
            "{twice:?}"
        );
        conceals(twice, "token");
        let twice = accounts.insert_many([account(2, SECRET)]).await.unwrap_err();
        conceals(twice, "token");
        accounts.insert(account(2, "other")).await.unwrap();
        let twice = accounts.update(2).set(|a| a.token, SECRET).await.unwrap_err();
        assert!(matches!(twice, Error::DuplicateKey { .. }), "{twice:?}");
        conceals(twice, "token");

        let long = SECRET.repeat(2);
        let refused = accounts.insert(account(3, &long)).await.unwrap_err();
        assert!(matches!(refused, Error::Invalid { .. }), "{refused:?}");
        conceals(refused, "at most 40 long");
        let refused = accounts.update(1).set(|a| a.token, &long).await.unwrap_err();
        conceals(refused, "at most 40 long");
        let login = Login {
            password: long.clone(),
            at: 1,
        };
        let refused = accounts.update(1).set(|a| a.login, login).await.unwrap_err();
        conceals(refused, "login.password");
        // Of the server, which quotes the value.
        let raw = accounts
            .update_where(|a| a.id.eq(1))
            .raw(doc! { "$set": { "token": &long } });
        let refused = raw.await.unwrap_err();
        assert!(matches!(refused, Error::Invalid { .. }), "{refused:?}");
        conceals(refused, "token");

        let missing = format!("{SECRET}!");
        let none = accounts
            .get_by(|a| a.token, &missing)
            .required()
            .await
            .unwrap_err();
        conceals(none, "no document has `token` \"(sensitive)\"");
        let none = accounts
            .update_by(|a| a.token, &missing)
            .set(|a| a.name, "x")
            .await
            .unwrap_err();
        conceals(none, "token");
        let none = accounts.delete_by(|a| a.token, &missing).await.unwrap_err();
        conceals(none, "token");

        let scoped = odm.scoped(Account::paths().token, SECRET).unwrap();
        let outside = scoped
            .collection::<Account>()
            .insert(account(4, "another"))
            .await
            .unwrap_err();
        assert!(matches!(outside, Error::OutOfScope { .. }), "{outside:?}");
        conceals(outside, "token");
    });
}

#[odm_tests::test]
fn no_log_shows_the_value_of_a_sensitive_field() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Account]).unwrap();
        odm.sync().await.unwrap();
        let accounts = odm.collection::<Account>();
        accounts.insert(account(1, SECRET)).await.unwrap();
        let captured = Captured::default();
        let _guard = tracing::subscriber::set_default(subscriber(&captured, tracing::Level::TRACE));
        let login = || Login {
            password: SECRET.into(),
            at: 7,
        };
        accounts
            .find(|a| a.token.eq(SECRET) | a.login.password.in_([SECRET]))
            .all()
            .await
            .unwrap();
        accounts
            .find(|a| a.login.eq(Some(login())))
            .count()
            .await
            .unwrap();
        accounts
            .update(1)
            .set(|a| a.token, SECRET)
            .set(|a| a.login, login())
            .await
            .unwrap();
        accounts
            .update_where(|a| a.token.ne(SECRET))
            .set(|a| a.login.password, SECRET)
            .await
            .unwrap();
        accounts
            .delete_where(|a| a.login.password.ne(SECRET))
            .await
            .unwrap();
        accounts.insert(account(2, SECRET)).await.unwrap_err();
        let log: String = captured
            .take()
            .lines()
            .filter(|line| line.contains("odm"))
            .collect();
        assert!(!log.contains(SECRET), "{log}");
        assert!(log.contains("login.at") && log.contains("(sensitive)"), "{log}");
    });
}

mod copying {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug)]
    #[document(collection = "users")]
    pub struct User {
        pub id: i32,
        #[field(sensitive)]
        pub email: String,
    }

    #[derive(Document, Clone, Debug)]
    #[document(collection = "posts")]
    pub struct Post {
        pub id: i32,
        #[reference]
        pub author: Ref<User>,
        #[denormalize(from = author.email)]
        pub author_email: String,
    }
}

#[odm_tests::test]
fn a_copy_of_a_sensitive_field_is_sensitive_too() {
    with_db(async |t| {
        let refused = Odm::new(t.db.clone(), models![copying::User, copying::Post]).unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.contains("`Post.author_email` copies `User.email`, which is sensitive"),
            "{refused}"
        );
    });
}
