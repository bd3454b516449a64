//! Time zones by name (KEY-01) and the calendar date in one (KEY-05).
//!
//! The names are those an ECMAScript peer accepts: the IANA database in any letter case, fixed offsets, and the
//! legacy names that ICU adds. The data is compiled in and has the main IANA form (zones merged before 1970).

use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use crate::flownet::time::{Civil, Timestamp};

/// A zone of the compiled-in database, or a fixed offset.
pub(super) struct Zone(TimeZone);

/// A date of the proleptic Gregorian calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LocalDate {
    /// Astronomical: the year before 1 is 0.
    pub year: i64,
    pub month: i64,
    pub day: i64,
}

impl LocalDate {
    /// The year as it is written, without an era: the year before 1 is 1 again (BC).
    pub fn era_year(self) -> i64 {
        if self.year > 0 { self.year } else { 1 - self.year }
    }
}

/// Names of ICU that the IANA database does not have, and what they stand for there.
const ICU_NAMES: [(&str, &str); 32] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Maputo"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Nairobi"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
    ("Canada/East-Saskatchewan", "America/Regina"),
    ("US/Pacific-New", "America/Los_Angeles"),
    ("SystemV/AST4", "Etc/GMT+4"),
    ("SystemV/EST5", "Etc/GMT+5"),
    ("SystemV/CST6", "Etc/GMT+6"),
    ("SystemV/MST7", "Etc/GMT+7"),
    ("SystemV/PST8", "Etc/GMT+8"),
];

/// More of ICU's names, written as POSIX rules: fixed, or summer time from the last Sunday of April to the last
/// Sunday of October.
const ICU_RULES: [(&str, &str); 8] = [
    ("SystemV/YST9", "YST9"),
    ("SystemV/HST10", "HST10"),
    ("SystemV/AST4ADT", "AST4ADT,M4.5.0,M10.5.0"),
    ("SystemV/EST5EDT", "EST5EDT,M4.5.0,M10.5.0"),
    ("SystemV/CST6CDT", "CST6CDT,M4.5.0,M10.5.0"),
    ("SystemV/MST7MDT", "MST7MDT,M4.5.0,M10.5.0"),
    ("SystemV/PST8PDT", "PST8PDT,M4.5.0,M10.5.0"),
    ("SystemV/YST9YDT", "YST9YDT,M4.5.0,M10.5.0"),
];

/// Entries of the database that stand for "no zone", which the peer refuses.
const NOT_ZONES: [&str; 2] = ["Factory", "Etc/Unknown"];

impl Zone {
    /// The zone with this name, in any letter case.
    pub fn find(name: &str) -> Option<Self> {
        if name.starts_with(['+', '-']) {
            return fixed_offset(name).map(Self);
        }
        if NOT_ZONES.iter().any(|n| n.eq_ignore_ascii_case(name)) {
            return None;
        }
        if let Some((_, rule)) = ICU_RULES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)) {
            return TimeZone::posix(rule).ok().map(Self);
        }
        let name = ICU_NAMES
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map_or(name, |(_, iana)| iana);
        TimeZoneDatabase::bundled().get(name).ok().map(Self)
    }

    /// The date that a clock in this zone shows.
    pub fn local_date(&self, time: Timestamp) -> LocalDate {
        // The database covers the years -9999 to 9999 less some hours; rules do not change in those hours.
        let instant = jiff::Timestamp::from_millisecond(time.0).unwrap_or(if time.0 < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        });
        let offset = self.0.to_offset(instant);
        let c = Civil::from(time.plus_sec(i64::from(offset.seconds())));
        LocalDate {
            year: c.year,
            month: c.month,
            day: c.day,
        }
    }
}

/// `+HH`, `+HHMM` or `+HH:MM`, at most 23:59.
fn fixed_offset(text: &str) -> Option<TimeZone> {
    let (sign, digits) = text.split_at(1);
    let (hours, minutes) = match digits.len() {
        2 => (digits, "00"),
        4 => digits.split_at_checked(2)?,
        5 => digits.split_once(':').filter(|(h, _)| h.len() == 2)?,
        _ => return None,
    };
    let number = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| text.parse::<i32>().ok())
            .flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = (hours * 60 + minutes) * 60 * if sign == "-" { -1 } else { 1 };
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_icu_name_stands_for_a_zone() {
        for (name, _) in ICU_NAMES.iter().chain(&ICU_RULES) {
            assert!(Zone::find(name).is_some(), "{name}");
            assert!(Zone::find(&name.to_lowercase()).is_some(), "{name}");
        }
    }

    #[test]
    fn fixed_offsets() {
        for name in ["+09", "+0930", "-09:30", "-00:00", "+23:59"] {
            assert!(Zone::find(name).is_some(), "{name}");
        }
        for name in [
            "+",
            "+9",
            "+24",
            "+0960",
            "+09:00:00",
            "+09:3",
            "+0:900",
            "Z",
            "",
            " UTC",
            "UTC+9",
            "+０９",
            "Factory",
            "etc/unknown",
        ] {
            assert!(Zone::find(name).is_none(), "{name}");
        }
    }
}
