//! Converts dates and times of every unit of the format to and from ISO 8601.
//!
//! Uses the proleptic Gregorian calendar without leap seconds, like numpy's `datetime64`. Times are in UTC; an offset
//! in the text is applied when parsing.

mod time_unit;

pub use time_unit::TimeUnit;

use crate::datatype::Datatype;

/// The accepted forms of dates, for messages.
const WRITTEN: &str = "2020-01, 2020-01-31 or 2020-01-31T12:30:00.5 (also 20200131T123000)";

/// Attoseconds in a second.
const ATTO: i128 = 1_000_000_000_000_000_000;
const DAY_SECONDS: i128 = 86_400;

/// The first and the last tick of the period that `text` describes, in units of `datatype`.
///
/// A date that is coarser than the unit means its whole period: `2020-02` in days is 29 ticks. A date that is finer
/// than the unit is rounded down.
///
/// ```
/// use hyperslab::{Datatype, internals::calendar};
/// assert_eq!(calendar::parse("1970-02", Datatype::DatetimeDay), Ok((31, 58)));
/// ```
///
/// # Errors
/// A message that says what is wrong and which forms are accepted.
pub fn parse(text: &str, datatype: Datatype) -> Result<(i64, i64), String> {
    ticks(&Civil::read(text)?, text, datatype)
}

/// The result of [`parse`] for a parsed date.
fn ticks(civil: &Civil, text: &str, datatype: Datatype) -> Result<(i64, i64), String> {
    let beyond = || format!("'{text}' is out of range for {datatype}");
    let (lo, hi) = match datatype {
        Datatype::DatetimeYear => (civil.year - 1970, civil.year - 1970),
        Datatype::DatetimeMonth => {
            let january = (civil.year - 1970) * 12;
            match civil.month {
                None => (january, january + 11),
                Some(m) => (january + i128::from(m) - 1, january + i128::from(m) - 1),
            }
        }
        other => {
            let tick = tick_atto(other).ok_or_else(|| format!("{other} is not a date or time"))?;
            let (first, last) = civil.period();
            match (first.ticks(tick), last.ticks(tick)) {
                (Some(lo), Some(hi)) => (lo, hi),
                _ => return Err(beyond()),
            }
        }
    };
    match (i64::try_from(lo), i64::try_from(hi)) {
        // The smallest value means "not a time".
        (Ok(lo), Ok(hi)) if lo != i64::MIN => Ok((lo, hi)),
        _ => Err(beyond()),
    }
}

/// The first and the last tick that start in the period that `text` describes. A date of `datatype` is in the period if
/// it is in this range. If the period is shorter than the unit, the range may be empty: the first tick is then after
/// the last.
///
/// ```
/// use hyperslab::{Datatype, internals::calendar};
/// assert_eq!(calendar::starts("1970-02", Datatype::DatetimeDay), Ok((31, 58)));
/// assert_eq!(calendar::starts("1970-02-01T12:00", Datatype::DatetimeDay), Ok((32, 31)));
/// ```
///
/// # Errors
/// Same as [`parse`].
pub fn starts(text: &str, datatype: Datatype) -> Result<(i64, i64), String> {
    let civil = Civil::read(text)?;
    let (lo, hi) = ticks(&civil, text, datatype)?;
    let (first, day) = (civil.period().0, DAY_SECONDS * ATTO);
    let on_a_tick = match (datatype, tick_atto(datatype)) {
        (_, Some(tick)) if tick < day => first.atto % tick == 0,
        (_, Some(tick)) => first.atto == 0 && first.day % (tick / day) == 0,
        (Datatype::DatetimeMonth, None) => first.atto == 0 && civil_from_days(first.day).2 == 1,
        (_, None) => first.atto == 0 && matches!(civil_from_days(first.day), (_, 1, 1)),
    };
    Ok((if on_a_tick { lo } else { lo.saturating_add(1) }, hi))
}

/// The first and the last millisecond since 1970 of the time or period that `text` describes. Used for the times of
/// writes.
///
/// A number is in milliseconds since 1970, except that four digits are a year and eight digits are a date, as in ISO
/// 8601. Six digits are an error, because they may be meant as a year and a month. Numbers with the suffix `ms` are always milliseconds. [`format_milliseconds`] is the inverse.
///
/// ```
/// use hyperslab::internals::calendar;
/// assert_eq!(calendar::milliseconds("1970-01-01T00:00:02"), Ok((2000, 2999)));
/// assert_eq!(calendar::milliseconds("1970"), Ok((0, 31_535_999_999)));
/// assert_eq!(calendar::milliseconds("1970ms"), Ok((1970, 1970)));
/// assert_eq!(calendar::milliseconds("12"), Ok((12, 12)));
/// ```
///
/// # Errors
/// A message that says what is wrong and which forms are accepted.
pub fn milliseconds(text: &str) -> Result<(u64, u64), String> {
    let number = text.strip_suffix("ms").unwrap_or(text);
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    if is_number && (number.len() < text.len() || !is_calendar_digits(number)) {
        let ms = number.parse().map_err(|_| format!("'{text}' is too large"))?;
        return Ok((ms, ms));
    }
    if is_number && number.len() == 6 {
        let (year, month) = number.split_at(4);
        return Err(format!(
            "'{text}' may mean a month; write {year}-{month}, or {text}ms for milliseconds since 1970"
        ));
    }
    if text
        .strip_prefix('-')
        .is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Err(format!(
            "'{text}' is before 1970; times start at 0, which is 1970-01-01"
        ));
    }
    let hint = if is_number {
        format!("; write {text}ms for milliseconds since 1970")
    } else {
        String::new()
    };
    let civil = Civil::parse(text).ok_or_else(|| {
        if is_number {
            format!("'{text}' is not a date{hint}")
        } else {
            format!("'{text}' is not a time; write 2020, {WRITTEN}, or milliseconds since 1970 as a number")
        }
    })?;
    let (first, last) = ticks(&civil, text, Datatype::DatetimeMs)?;
    match (u64::try_from(first), u64::try_from(last)) {
        (Ok(first), Ok(last)) => Ok((first, last)),
        _ => Err(format!("'{text}' is before 1970{hint}")),
    }
}

/// Formats milliseconds since 1970 for [`milliseconds`]: a number, with the suffix `ms` if it would be read as a year
/// or a date.
///
/// ```
/// use hyperslab::internals::calendar;
/// assert_eq!(calendar::format_milliseconds(2000), "2000ms");
/// assert_eq!(calendar::format_milliseconds(1_767_225_600_000), "1767225600000");
/// ```
pub fn format_milliseconds(ms: u64) -> String {
    let number = ms.to_string();
    let unit = if is_calendar_digits(&number) { "ms" } else { "" };
    number + unit
}

/// Whether a number looks like a year, a month or a date without dashes.
const fn is_calendar_digits(number: &str) -> bool {
    matches!(number.len(), 4 | 6 | 8)
}

/// Formats `value` ticks of `datatype` since 1970 as ISO 8601, in the precision of the unit. The smallest value is
/// `NaT`. Values of other types are formatted as plain numbers.
pub fn format(value: i64, datatype: Datatype) -> String {
    if value == i64::MIN {
        return "NaT".to_owned();
    }
    let v = i128::from(value);
    match datatype {
        // Eight digits alone would be read as a date without dashes.
        Datatype::DatetimeYear if (10_000_000..=99_999_999).contains(&(v + 1970)) => return format!("+{}", v + 1970),
        Datatype::DatetimeYear => return year(v + 1970),
        Datatype::DatetimeMonth => return format!("{}-{:02}", year(1970 + v.div_euclid(12)), v.rem_euclid(12) + 1),
        _ => {}
    }
    let tick = tick_atto(datatype).filter(|_| datatype.is_datetime());
    let Some(tick) = tick else {
        return value.to_string();
    };
    // Days and weeks can exceed the range of attoseconds.
    let (seconds, atto) = if tick < ATTO {
        ((v * tick).div_euclid(ATTO), (v * tick).rem_euclid(ATTO))
    } else {
        (v * (tick / ATTO), 0)
    };
    let (y, m, d) = civil_from_days(seconds.div_euclid(DAY_SECONDS));
    let date = format!("{}-{m:02}-{d:02}", year(y));
    let s = seconds.rem_euclid(DAY_SECONDS);
    let (h, min, sec) = (s / 3600, s / 60 % 60, s % 60);
    match fraction_digits(datatype) {
        // Many readers, such as pandas, need the minutes of a time.
        None if matches!(datatype, Datatype::DatetimeHr | Datatype::DatetimeMin) => format!("{date}T{h:02}:{min:02}"),
        None => date,
        Some(0) => format!("{date}T{h:02}:{min:02}:{sec:02}"),
        Some(digits) => {
            let fraction = atto / 10_i128.pow(18 - digits);
            format!(
                "{date}T{h:02}:{min:02}:{sec:02}.{fraction:0width$}",
                width = digits as usize
            )
        }
    }
}

/// Formats `value` ticks of `datatype`, unless it is a plain number: a date, or `NaT` for a missing date or time.
///
/// ```
/// use hyperslab::{Datatype, internals::calendar};
/// assert_eq!(calendar::text(31, Datatype::DatetimeDay).as_deref(), Some("1970-02-01"));
/// assert_eq!(calendar::text(31, Datatype::TimeHr), None);
/// assert_eq!(calendar::text(i64::MIN, Datatype::TimeHr).as_deref(), Some("NaT"));
/// ```
pub fn text(value: i64, datatype: Datatype) -> Option<String> {
    (datatype.is_datetime() || is_nat(value, datatype)).then(|| format(value, datatype))
}

/// Whether a value is a missing date or time: the smallest value, which numpy calls NaT.
pub const fn is_nat(value: i64, datatype: Datatype) -> bool {
    value == i64::MIN && datatype.is_temporal()
}

/// The first day of a year or a month, in days since 1970; `None` for other units.
#[cfg(feature = "arrow")]
pub(crate) fn first_day(value: i64, datatype: Datatype) -> Option<i128> {
    let v = i128::from(value);
    match datatype {
        Datatype::DatetimeYear => Some(days_from_civil(v + 1970, 1, 1)),
        Datatype::DatetimeMonth => {
            let month = u32::try_from(v.rem_euclid(12)).ok()? + 1;
            Some(days_from_civil(1970 + v.div_euclid(12), month, 1))
        }
        _ => None,
    }
}

/// The year or month that starts on this day since 1970; `None` if there is no such year or month.
#[cfg(feature = "arrow")]
pub(crate) fn starting_on(day: i64, datatype: Datatype) -> Option<i64> {
    let ticks = match (datatype, civil_from_days(day.into())) {
        (Datatype::DatetimeYear, (year, 1, 1)) => year - 1970,
        (Datatype::DatetimeMonth, (year, month, 1)) => (year - 1970) * 12 + month - 1,
        _ => return None,
    };
    i64::try_from(ticks).ok()
}

/// Attoseconds in a tick, for units of fixed length.
const fn tick_atto(datatype: Datatype) -> Option<i128> {
    Some(match datatype {
        Datatype::DatetimeWeek => 7 * DAY_SECONDS * ATTO,
        Datatype::DatetimeDay => DAY_SECONDS * ATTO,
        Datatype::DatetimeHr => 3600 * ATTO,
        Datatype::DatetimeMin => 60 * ATTO,
        Datatype::DatetimeSec => ATTO,
        Datatype::DatetimeMs => ATTO / 1_000,
        Datatype::DatetimeUs => ATTO / 1_000_000,
        Datatype::DatetimeNs => ATTO / 1_000_000_000,
        Datatype::DatetimePs => ATTO / 1_000_000_000_000,
        Datatype::DatetimeFs => ATTO / 1_000_000_000_000_000,
        Datatype::DatetimeAs => 1,
        _ => return None,
    })
}

/// Number of digits after the decimal point; `None` for units coarser than a second.
const fn fraction_digits(datatype: Datatype) -> Option<u32> {
    Some(match datatype {
        Datatype::DatetimeSec => 0,
        Datatype::DatetimeMs => 3,
        Datatype::DatetimeUs => 6,
        Datatype::DatetimeNs => 9,
        Datatype::DatetimePs => 12,
        Datatype::DatetimeFs => 15,
        Datatype::DatetimeAs => 18,
        _ => return None,
    })
}

fn year(y: i128) -> String {
    if y < 0 {
        format!("-{:04}", -y)
    } else {
        format!("{y:04}")
    }
}

/// Days from 1970-01-01 to a date.
fn days_from_civil(year: i128, month: u32, day: u32) -> i128 {
    // Years start in March, so that the leap day is last.
    let y = year - i128::from(month <= 2);
    let era = y.div_euclid(400);
    let of_era = y.rem_euclid(400);
    let of_year = (153 * ((i128::from(month) + 9) % 12) + 2) / 5 + i128::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of the date `days` after 1970-01-01.
fn civil_from_days(days: i128) -> (i128, i128, i128) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    (year_of_era + era * 400 + i128::from(month <= 2), month, day)
}

/// A parsed date. Omitted parts are `None`.
struct Civil {
    year: i128,
    month: Option<u32>,
    day: Option<u32>,
    /// Attoseconds since midnight, and the length of the period given by the precision of the time.
    time: Option<(i128, i128)>,
}

impl Civil {
    /// Parses `text`; the error says how to write a date.
    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| format!("'{text}' is not a date; write 2020, {WRITTEN}"))
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches(['Z', 'z']);
        let (date, time) = match text.find(['T', 't', ' ']) {
            Some(at) => (text.get(..at)?, Some(text.get(at + 1..)?)),
            None => (text, None),
        };
        let (sign, digits) = match date.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, date.strip_prefix('+').unwrap_or(date)),
        };
        // With a sign, all digits belong to the year.
        let basic = digits.len() == date.len() && digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_digit());
        let parts: Vec<&str> = if basic {
            vec![digits.get(..4)?, digits.get(4..6)?, digits.get(6..)?]
        } else {
            digits.split('-').collect()
        };
        let number = |s: &str, width: usize| {
            let plain = s.len() == width && s.bytes().all(|b| b.is_ascii_digit());
            if plain { s.parse::<u32>().ok() } else { None }
        };
        let (&y, rest) = parts.split_first()?;
        // Nineteen digits are enough for every 64-bit year.
        let year_ok = (4..=19).contains(&y.len()) && y.bytes().all(|b| b.is_ascii_digit());
        let year = sign * if year_ok { y.parse::<i128>().ok()? } else { return None };
        let (month, day) = match rest {
            [] => (None, None),
            [m] => (Some(number(m, 2)?), None),
            [m, d] => (Some(number(m, 2)?), Some(number(d, 2)?)),
            _ => return None,
        };
        if month.is_some_and(|m| !(1..=12).contains(&m)) || day.is_some_and(|d| d == 0) {
            return None;
        }
        if let (Some(m), Some(d)) = (month, day)
            && i128::from(d) > days_of_month(year, m)
        {
            return None;
        }
        let Some(time) = time else {
            return Some(Self {
                year,
                month,
                day,
                time: None,
            });
        };
        let (time, ahead) = match time.rfind(['+', '-']) {
            Some(at) => (time.get(..at)?, parse_offset(time.get(at..)?)?),
            None => (time, 0),
        };
        let (at, length) = parse_time(time)?;
        let (at, days) = (at - ahead, days_from_civil(year, month?, day?));
        let (year, month, day) = civil_from_days(days + at.div_euclid(DAY_SECONDS * ATTO));
        Some(Self {
            year,
            month: u32::try_from(month).ok(),
            day: u32::try_from(day).ok(),
            time: Some((at.rem_euclid(DAY_SECONDS * ATTO), length)),
        })
    }

    /// The first and the last moment of the period.
    fn period(&self) -> (Moment, Moment) {
        let first = days_from_civil(self.year, self.month.unwrap_or(1), self.day.unwrap_or(1));
        let (at, days, length) = match (self.month, self.day, self.time) {
            (None, _, _) => (0, days_of_year(self.year), DAY_SECONDS * ATTO),
            (Some(m), None, _) => (0, days_of_month(self.year, m), DAY_SECONDS * ATTO),
            (_, _, None) => (0, 1, DAY_SECONDS * ATTO),
            (_, _, Some((at, length))) => (at, 1, length),
        };
        let last = Moment {
            day: first + days - 1,
            atto: at + length - 1,
        };
        (Moment { day: first, atto: at }, last)
    }
}

/// Days since 1970, and attoseconds since midnight. Separate, because 64-bit years in attoseconds overflow 128 bits.
struct Moment {
    day: i128,
    atto: i128,
}

impl Moment {
    /// The tick since 1970 that contains the moment; `None` if it exceeds 128 bits.
    fn ticks(&self, tick: i128) -> Option<i128> {
        let day = DAY_SECONDS * ATTO;
        if tick >= day {
            // Days and weeks.
            return Some(self.day.div_euclid(tick / day));
        }
        // All shorter ticks divide a day evenly.
        self.day
            .checked_mul(day / tick)?
            .checked_add(self.atto.div_euclid(tick))
    }
}

fn days_of_year(year: i128) -> i128 {
    days_from_civil(year + 1, 1, 1) - days_from_civil(year, 1, 1)
}

fn days_of_month(year: i128, month: u32) -> i128 {
    let next = if month == 12 {
        days_from_civil(year + 1, 1, 1)
    } else {
        days_from_civil(year, month + 1, 1)
    };
    next - days_from_civil(year, month, 1)
}

/// Parses a UTC offset `+hh:mm`, `+hhmm` or `+hh`, or the same with `-`, in attoseconds.
fn parse_offset(text: &str) -> Option<i128> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (at, length) = parse_time(text.get(1..)?)?;
    (length >= 60 * ATTO).then_some(sign * at)
}

/// Parses `hh`, `hh:mm`, `hh:mm:ss` or `hh:mm:ss.fff`, with or without colons. Returns attoseconds since midnight, and
/// the length of the period given by the precision.
fn parse_time(text: &str) -> Option<(i128, i128)> {
    let (whole, fraction) = match text.split_once('.') {
        Some((w, f)) => (w, Some(f)),
        None => (text, None),
    };
    let digits: String = whole.chars().filter(|c| *c != ':').collect();
    let colons = whole.len() - digits.len();
    let shape_ok = matches!((digits.len(), colons), (2, 0) | (4, 0 | 1) | (6, 0 | 2))
        && digits.bytes().all(|b| b.is_ascii_digit());
    // A colon must follow a pair of digits.
    let places_ok = whole
        .char_indices()
        .all(|(i, c)| (c == ':') == (colons > 0 && i % 3 == 2));
    if !shape_ok || !places_ok {
        return None;
    }
    let pair = |i: usize| digits.get(i..i + 2).and_then(|p| p.parse::<i128>().ok());
    let (h, m, s) = (pair(0)?, pair(2), pair(4));
    if h > 23 || m.unwrap_or(0) > 59 || s.unwrap_or(0) > 59 {
        return None;
    }
    let at = (h * 3600 + m.unwrap_or(0) * 60 + s.unwrap_or(0)) * ATTO;
    match (m, s, fraction) {
        (None, _, None) => Some((at, 3600 * ATTO)),
        (Some(_), None, None) => Some((at, 60 * ATTO)),
        (_, Some(_), None) => Some((at, ATTO)),
        (_, Some(_), Some(f)) if (1..=18).contains(&f.len()) && f.bytes().all(|b| b.is_ascii_digit()) => {
            let unit = 10_i128.pow(18 - u32::try_from(f.len()).ok()?);
            Some((at + f.parse::<i128>().ok()? * unit, unit))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
