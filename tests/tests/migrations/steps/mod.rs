//! The steps that lead the database from one version of the models to the next, in their order.

mod m0001_first;
mod m0002_email_and_slug;
mod m0003_views;
mod m0004_copies;
mod m0005_languages;

pub fn all() -> odm::Migrations {
    odm::migrations![
        m0001_first,
        m0002_email_and_slug,
        m0003_views,
        m0004_copies,
        m0005_languages,
    ]
}
