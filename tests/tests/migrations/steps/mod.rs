//! The steps that lead the database from one version of the models to the next, in their order.

mod m0001_first;
mod m0002_titles;
mod m0003_email_and_slug;
mod m0004_slugs;
mod m0005_views;
mod m0006_counted;
mod m0007_copies;
mod m0008_names;
mod m0009_languages;
mod m0010_english;

pub fn all() -> odm::Migrations {
    odm::migrations![
        m0001_first,
        m0002_titles,
        m0003_email_and_slug,
        m0004_slugs,
        m0005_views,
        m0006_counted,
        m0007_copies,
        m0008_names,
        m0009_languages,
        m0010_english,
    ]
}
