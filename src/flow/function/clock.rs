//! The wall clock outside WHERE (LNG-63): the day in the host's zone, the instant in UTC. Unlike the as-of
//! functions they differ from run to run.

use super::Context;
use crate::flow::calendar::{instant_millis, iso_date};

pub(super) fn today(context: &Context, out: &mut String) {
    out.push_str(&iso_date(context.host_zone.day(context.now)));
}

pub(super) fn now(context: &Context, out: &mut String) {
    out.push_str(&instant_millis(context.now));
}
