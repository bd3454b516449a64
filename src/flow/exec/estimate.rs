//! Numbers that are known by their bounds: rows and requests of a plan that has read no record.

use std::iter::Sum;
use std::ops::Add;

use crate::flow::sql::message::{Language, Message, say};

/// A number between two bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// It is not less.
    pub least: u64,
    /// It is not more; `None` = nobody knows.
    pub most: Option<u64>,
}

impl Estimate {
    /// Any number.
    pub const ANY: Self = Self { least: 0, most: None };

    /// A known number.
    pub const fn exactly(number: u64) -> Self {
        Self {
            least: number,
            most: Some(number),
        }
    }

    /// A number of which only the upper bound is known, if that.
    pub const fn up_to(most: Option<u64>) -> Self {
        Self { least: 0, most }
    }

    /// The number, if it is known.
    pub fn exact(self) -> Option<u64> {
        self.most.filter(|most| *most == self.least)
    }

    /// The same number or, as the case may be, none at all.
    #[must_use]
    pub fn or_none(self) -> Self {
        Self { least: 0, ..self }
    }

    /// What a function that never falls makes of it.
    #[must_use]
    pub fn map(self, function: impl Fn(u64) -> u64) -> Self {
        Self {
            least: function(self.least),
            most: self.most.map(function),
        }
    }

    /// The number where a limit lets no more pass.
    #[must_use]
    pub fn capped(self, limit: Option<u64>) -> Self {
        Self {
            most: self.most.or(limit),
            ..self
        }
    }

    /// The same number or another one.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.zip(other.most).map(|(a, b)| a.max(b)),
        }
    }

    /// `3`, `at least 3`, `3 to 5`
    pub fn text(self) -> Message {
        let Self { least, most } = self;
        match most {
            Some(most) if most == least => Message::verbatim(most.to_string()),
            Some(most) => say!("{least} to {most}", "{least}～{most}"),
            None => say!("at least {least}", "少なくとも {least}"),
        }
    }

    /// The same with the word for requests.
    pub fn requests(self) -> Message {
        let english = if self.exact() == Some(1) {
            "request"
        } else {
            "requests"
        };
        self.text().put(|language, number| match language {
            Language::English => format!("{number} {english}"),
            Language::Japanese => format!("{number} リクエスト"),
        })
    }
}

impl Add for Estimate {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            least: self.least + other.least,
            most: self.most.zip(other.most).map(|(a, b)| a + b),
        }
    }
}

impl Sum for Estimate {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::exactly(0), Self::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::sql::message::Language::Japanese;

    #[test]
    fn bounds_are_told_only_where_they_differ() {
        let range = Estimate {
            least: 2,
            most: Some(5),
        };
        for (estimate, english, japanese) in [
            (Estimate::exactly(1), "1 request", "1 リクエスト"),
            (Estimate::exactly(0), "0 requests", "0 リクエスト"),
            (range, "2 to 5 requests", "2～5 リクエスト"),
            (Estimate::ANY, "at least 0 requests", "少なくとも 0 リクエスト"),
        ] {
            let text = estimate.requests();
            assert_eq!(
                (text.to_string().as_str(), text.text(Japanese)),
                (english, japanese)
            );
        }
        assert_eq!(
            range + Estimate::exactly(1),
            Estimate {
                least: 3,
                most: Some(6)
            }
        );
        assert_eq!(
            [range, Estimate::ANY].into_iter().sum::<Estimate>(),
            Estimate { least: 2, most: None }
        );
        assert_eq!(
            range.or(Estimate::exactly(9)),
            Estimate {
                least: 2,
                most: Some(9)
            }
        );
        assert_eq!(
            range.map(|n| n.div_ceil(4)),
            Estimate {
                least: 1,
                most: Some(2)
            }
        );
    }
}
