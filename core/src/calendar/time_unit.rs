//! Times that are numbers since a moment, such as `hours since 1900-01-01`, by the CF conventions (section 4.4).

use super::{days_from_civil, parse};
use crate::datatype::Datatype;

const DAY_MS: f64 = 86_400_000.0;
/// The first day of the Gregorian calendar. The calendar `standard` is Julian before it.
const GREGORIAN: (i128, u32, u32) = (1582, 10, 15);

/// A unit of time and the moment from which it counts.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeUnit {
    /// The moment, in milliseconds since 1970.
    start_ms: f64,
    /// The length of the unit, in milliseconds.
    unit_ms: f64,
}

impl TimeUnit {
    /// Parses units such as `days since 1850-01-01 00:00:00`. `None` if they are no such units, if the unit has no
    /// fixed length (months and years), or if the calendar has days that the Gregorian one lacks, or the other way
    /// round (`noleap`, `360_day`).
    ///
    /// ```
    /// use hyperslab::internals::calendar::TimeUnit;
    /// let unit = TimeUnit::parse("hours since 1970-01-02 12:00", "standard").unwrap();
    /// assert_eq!(unit.milliseconds(1.0), (24 + 12 + 1) * 3_600_000);
    /// ```
    pub fn parse(units: &str, calendar: &str) -> Option<Self> {
        let proleptic = match calendar.trim().to_ascii_lowercase().as_str() {
            "" | "standard" | "gregorian" => false,
            "proleptic_gregorian" => true,
            _ => return None,
        };
        let (unit, start) = units.trim().split_once(" since ")?;
        let unit_ms = match unit.trim().to_ascii_lowercase().as_str() {
            "weeks" | "week" => 7.0 * DAY_MS,
            "days" | "day" | "d" => DAY_MS,
            "hours" | "hour" | "hrs" | "hr" | "h" => 3_600_000.0,
            "minutes" | "minute" | "mins" | "min" => 60_000.0,
            "seconds" | "second" | "secs" | "sec" | "s" => 1000.0,
            "milliseconds" | "millisecond" | "millisecs" | "millisec" | "msecs" | "msec" | "ms" => 1.0,
            "microseconds" | "microsecond" | "us" => 1e-3,
            "nanoseconds" | "nanosecond" | "ns" => 1e-6,
            _ => return None,
        };
        Some(Self {
            start_ms: start_ms(start.trim(), proleptic)?,
            unit_ms,
        })
    }

    /// The moment `value` units after the start, in milliseconds since 1970, rounded. Not a number is the smallest
    /// value, which means "not a time".
    pub fn milliseconds(&self, value: f64) -> i64 {
        if value.is_nan() {
            return i64::MIN;
        }
        (self.start_ms + value * self.unit_ms).round() as i64
    }
}

/// Milliseconds from 1970 to a date as CF files have it: `1900-1-1`, `1-1-1 00:00:0.0`, `2000-01-01T00:00:00Z`.
fn start_ms(text: &str, proleptic: bool) -> Option<f64> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, time.trim()),
        None => (text, ""),
    };
    let (sign, date) = date.strip_prefix('-').map_or((1, date), |rest| (-1, rest));
    let mut parts = date.split('-');
    let year: i128 = parts.next()?.parse().ok()?;
    let year = sign * year;
    let mut next = || parts.next().map_or(Some(1), |part| part.parse::<u32>().ok());
    let (month, day) = (next()?, next()?);
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) || year.abs() > 100_000 {
        return None;
    }
    let days = if proleptic || (year, month, day) >= GREGORIAN {
        days_from_civil(year, month, day)
    } else {
        days_from_julian(year, month, day)
    };
    Some(days as f64 * DAY_MS + time_ms(time)?)
}

/// Milliseconds since midnight in UTC of a time such as `12:30:0.0`, `6:00 UTC` or `00:00 +01:00`.
fn time_ms(text: &str) -> Option<f64> {
    let text = text
        .trim_end_matches("UTC")
        .trim_end_matches("GMT")
        .trim_end_matches('Z')
        .trim();
    if text.is_empty() {
        return Some(0.0);
    }
    let (time, zone) = match text.find(['+', '-']) {
        Some(at) => (text.get(..at)?.trim(), text.get(at..)?.trim()),
        None => (text, ""),
    };
    let mut parts = time.split(':').map(|part| part.trim().parse::<f64>().ok());
    let (hours, minutes) = (parts.next()??, parts.next().unwrap_or(Some(0.0))?);
    let seconds = parts.next().unwrap_or(Some(0.0))?;
    let whole = parts.next().is_none() && (0.0..=24.0).contains(&hours) && (0.0..60.0).contains(&minutes);
    if !whole || !(0.0..=60.0).contains(&seconds) {
        return None;
    }
    // The offset from UTC, read by the parser of dates.
    let zone_ms = if zone.is_empty() { 0.0 } else { offset(zone)? };
    Some((hours * 3600.0 + minutes * 60.0 + seconds) * 1000.0 + zone_ms)
}

/// What an offset such as `+01:00` adds to a time to give UTC.
fn offset(zone: &str) -> Option<f64> {
    let (ms, _) = parse(&format!("1970-01-02T00:00:00{zone}"), Datatype::DatetimeMs).ok()?;
    Some(ms as f64 - DAY_MS)
}

/// Days from 1970-01-01 to a date of the Julian calendar.
fn days_from_julian(year: i128, month: u32, day: u32) -> i128 {
    // Years start in March, so that the leap day is last.
    let y = year - i128::from(month <= 2);
    let of_year = (153 * ((i128::from(month) + 9) % 12) + 2) / 5 + i128::from(day) - 1;
    y.div_euclid(4) * 1461 + y.rem_euclid(4) * 365 + of_year - 719_470
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::format;

    fn date(units: &str, calendar: &str, value: f64) -> String {
        let unit = TimeUnit::parse(units, calendar).unwrap();
        format(unit.milliseconds(value), Datatype::DatetimeMs)
    }

    /// The expected dates are those of cftime 1.6.
    #[test]
    fn units_of_climate_files() {
        for (units, calendar, value, expected) in [
            ("days since 1850-01-01", "gregorian", 0.5, "1850-01-01T12:00:00.000"),
            (
                "hours since 1900-01-01 00:00:00.0",
                "standard",
                1_043_136.0,
                "2019-01-01T00:00:00.000",
            ),
            (
                "seconds since 1970-01-01T00:00:00Z",
                "proleptic_gregorian",
                1.5,
                "1970-01-01T00:00:01.500",
            ),
            (
                "days since 1-1-1 00:00:0.0",
                "standard",
                738_000.0,
                "2021-07-28T00:00:00.000",
            ),
            (
                "days since 1-1-1",
                "proleptic_gregorian",
                738_000.0,
                "2021-07-30T00:00:00.000",
            ),
            (
                "minutes since 2000-1-1 6:00 +02:00",
                "standard",
                0.0,
                "2000-01-01T04:00:00.000",
            ),
        ] {
            assert_eq!(date(units, calendar, value), expected, "{units}");
        }
    }

    #[test]
    fn other_units_are_no_dates() {
        for (units, calendar) in [
            ("degrees_north", "standard"),
            ("months since 2000-01-01", "standard"),
            ("days since 2000-01-01", "noleap"),
            ("days since 2000-13-01", "standard"),
            ("days since yesterday", "standard"),
            ("days since 2000-01-01 25:00", "standard"),
        ] {
            assert_eq!(TimeUnit::parse(units, calendar), None, "{units}");
        }
    }
}
