//! Requests counted per app: kintone's daily allowance is per app, and going over it gives no error (D-07, KTB-171).

use std::collections::BTreeMap;

/// What one client has sent so far.
///
/// `total` counts HTTP attempts, repetitions included (RNR-33). `by_app` counts what the apps are charged with: a
/// bulkRequest is charged once per inner request, uploads and downloads are not charged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// HTTP attempts.
    pub total: u64,
    /// Charged requests by app id.
    pub by_app: BTreeMap<u64, u64>,
}

impl RequestCounts {
    /// Adds one attempt that charges each of `apps` once per mention.
    pub(super) fn add(&mut self, apps: &[u64]) {
        self.total += 1;
        for app in apps {
            *self.by_app.entry(*app).or_default() += 1;
        }
    }

    /// The app that was charged most, with its count.
    pub fn busiest(&self) -> Option<(u64, u64)> {
        self.by_app
            .iter()
            .map(|(app, n)| (*app, *n))
            .max_by_key(|&(app, n)| (n, std::cmp::Reverse(app)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_charges_every_inner_request_and_transfers_none() {
        let mut counts = RequestCounts::default();
        counts.add(&[7, 7, 8]);
        counts.add(&[]);
        counts.add(&[8]);
        assert_eq!(counts.total, 3);
        assert_eq!(counts.by_app, BTreeMap::from([(7, 2), (8, 2)]));
        assert_eq!(counts.busiest(), Some((7, 2)));
    }
}
