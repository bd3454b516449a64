//! Stands in for the types of the kintone room until they are there.

use std::fmt;

/// A text that never shows in output.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The kintone address.
#[derive(Clone, Debug)]
pub struct BaseUrl(pub String);

impl BaseUrl {
    /// Checks an address.
    pub fn parse(text: &str) -> Result<BaseUrl, &'static str> {
        if text.starts_with("https://") || text.starts_with("http://127.0.0.1") {
            Ok(BaseUrl(text.to_owned()))
        } else {
            Err("must be an https address")
        }
    }
}
