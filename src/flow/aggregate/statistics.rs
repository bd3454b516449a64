//! Variance and deviation by Welford's method, the median, and the most frequent text (LNG-106).

use std::cmp::Ordering;
use std::collections::HashMap;

use super::Kind;
use crate::flow::value::{CompareMode, compare};

/// Count, mean and sum of squared distances from the mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub fn push(&mut self, x: f64) {
        self.count += 1;
        let before = x - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (x - self.mean);
    }

    /// `None` over too few values: none at all, or one for the sample forms.
    pub fn result(&self, kind: Kind) -> Option<f64> {
        let divisor = match kind {
            Kind::VarSamp | Kind::StddevSamp => self.count.checked_sub(1)?,
            _ => self.count,
        };
        let variance = (divisor > 0).then(|| self.squares / divisor as f64)?;
        match kind {
            Kind::StddevPop | Kind::StddevSamp => Some(variance.sqrt()),
            _ => Some(variance),
        }
    }
}

/// All numbers of a group, for the median.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample(Vec<f64>);

impl Sample {
    pub fn push(&mut self, x: f64) {
        self.0.push(x);
    }

    /// The middle number, or the mean of the two middle ones.
    pub fn median(&self) -> Option<f64> {
        if self.0.is_empty() {
            return None;
        }
        let mut numbers = self.0.clone();
        let middle = numbers.len() / 2;
        let (below, upper, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
        if self.0.len() % 2 == 1 {
            return Some(*upper);
        }
        let lower = below.iter().copied().max_by(f64::total_cmp)?;
        Some(f64::midpoint(lower, *upper))
    }
}

/// How often each text occurred.
#[derive(Clone, Debug, Default)]
pub(super) struct Frequencies(HashMap<Box<str>, u64>);

impl Frequencies {
    /// True the first time a text occurs.
    pub fn push(&mut self, text: &str) -> bool {
        if let Some(count) = self.0.get_mut(text) {
            *count += 1;
            return false;
        }
        self.0.insert(text.into(), 1);
        true
    }

    /// The most frequent text; of several the smallest in the argument's order, and of equal ones by code points.
    pub fn most_frequent(&self, mode: &CompareMode) -> &str {
        let best = self.0.iter().min_by(|(a, a_count), (b, b_count)| -> Ordering {
            b_count
                .cmp(a_count)
                .then_with(|| compare(mode, a, b))
                .then_with(|| a.cmp(b))
        });
        best.map_or("", |(text, _)| text)
    }
}
