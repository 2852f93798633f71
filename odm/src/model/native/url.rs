//! `url::Url`: a text.

use super::{OneNative, native};
use crate::model::shape::Shape;
use crate::model::size::Size;
use url::Url;

impl OneNative for Url {
    type Stored = String;
    const HAS_TEXT: bool = false;

    fn store(&self) -> Result<String, String> {
        Ok(self.as_str().to_owned())
    }
    fn load(stored: String) -> Result<Url, String> {
        Url::parse(&stored).map_err(|error| format!("{stored:?} is no URL: {error}"))
    }
}

native! {
    Url as String: Size::by_len(5, 4), Shape::String, cut false;
}
