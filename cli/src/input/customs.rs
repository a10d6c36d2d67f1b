//! Numbers and dates as people write them: decimal commas, days before months or after them. Rewrites them to the forms
//! that [`super::text::value`] parses, and finds out from all cells of a file which customs it follows.

use std::borrow::Cow;

use anyhow::{Result, bail};
use clap::ValueEnum;
use hyperslab::Datatype;

/// The longest number or date that is rewritten, in bytes.
const TEXT_MAX: usize = 64;

/// The mark before the fraction of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decimal {
    Point,
    Comma,
}

/// Parses the value of `--decimal`.
pub(crate) fn decimal(text: &str) -> Result<Decimal, String> {
    match text {
        "." | "point" => Ok(Decimal::Point),
        "," | "comma" => Ok(Decimal::Comma),
        _ => Err("give . or , as in --decimal ,".to_owned()),
    }
}

/// The order of day, month and year in dates with slashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DateOrder {
    Dmy,
    Mdy,
}

/// The customs of a file; `None` is unknown. Without a known mark, fractions have a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Customs {
    pub(crate) decimal: Option<Decimal>,
    pub(crate) dates: Option<DateOrder>,
}

impl Customs {
    /// A number with a decimal point; `None` if the text is none by these customs.
    pub(super) fn number<'a>(&self, text: &'a str) -> Option<Cow<'a, str>> {
        let marked = |b: u8| matches!(b, b',' | b'.');
        if self.decimal != Some(Decimal::Comma) || !text.bytes().any(marked) || text.len() > TEXT_MAX {
            return Some(Cow::Borrowed(text));
        }
        let (whole, fraction) = text.trim().split_once(',').unwrap_or((text.trim(), ""));
        if whole.contains('.') && !is_grouped(whole) {
            return None;
        }
        let whole = whole.replace('.', "");
        Some(match fraction {
            "" => Cow::Owned(whole),
            fraction if fraction.starts_with(|c: char| c.is_ascii_digit()) => Cow::Owned(format!("{whole}.{fraction}")),
            _ => return None,
        })
    }

    /// A date in ISO 8601, or the text itself.
    pub(super) fn date<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match Written::of(text) {
            Some(written) => written.iso(self.dates).map_or(Cow::Borrowed(text), Cow::Owned),
            None => Cow::Borrowed(text),
        }
    }

    /// The form of a value that the parser of this type reads.
    ///
    /// # Errors
    /// The customs that the text needs are unknown.
    pub(super) fn plain<'a>(&self, text: &'a str, datatype: Datatype) -> Result<Cow<'a, str>> {
        if datatype.is_datetime() {
            if self.dates.is_none() && is_slashed(text) {
                bail!("its first number may be the day or the month; say which with --date-order dmy or mdy");
            }
            return Ok(self.date(text));
        }
        if self.decimal.is_none() && datatype.is_float() && has_decimal_comma(text) {
            bail!("it has a comma; read it as a decimal comma with --decimal comma");
        }
        let Some(number) = self.number(text) else {
            bail!("it has a point, and fractions have commas here; read it with --decimal .");
        };
        Ok(number)
    }
}

/// What the cells of a file say about its customs.
#[derive(Debug, Default)]
pub(super) struct Marks {
    commas: bool,
    points: bool,
    day_first: bool,
    month_first: bool,
}

impl Marks {
    /// Adds a cell.
    pub(super) fn add(&mut self, cell: &[u8]) {
        let number = |b: &u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b' ' | b'.');
        if cell.len() > TEXT_MAX || !cell.first().is_some_and(number) {
            return;
        }
        if !cell.iter().any(|b| matches!(b, b',' | b'.' | b'/')) {
            return;
        }
        let Ok(text) = std::str::from_utf8(cell) else { return };
        if has_decimal_comma(text) && !has_thousands(text) {
            self.commas = true;
        } else if text.contains('.') && text.trim().parse::<f64>().is_ok() {
            self.points = true;
        } else if let Some(Written {
            mark: '/',
            first,
            second,
            year_first: false,
            ..
        }) = Written::of(text)
        {
            self.day_first |= first > 12;
            self.month_first |= second > 12;
        }
    }

    /// The customs of the file, as far as they are certain. `given` ones stay. Only if the values are separated by
    /// semicolons or tabs, commas are taken for decimal commas.
    pub(super) fn customs(&self, given: Customs, separator: Option<u8>) -> Customs {
        let comma = matches!(separator, Some(b';' | b'\t')) && self.commas && !self.points;
        let dates = match (self.day_first, self.month_first) {
            (true, false) => Some(DateOrder::Dmy),
            (false, true) => Some(DateOrder::Mdy),
            _ => None,
        };
        Customs {
            decimal: given.decimal.or(comma.then_some(Decimal::Comma)),
            dates: given.dates.or(dates),
        }
    }
}

/// A date of three numbers with points or slashes between them, and the text after it.
struct Written<'a> {
    first: u32,
    second: u32,
    year: &'a str,
    mark: char,
    year_first: bool,
    rest: &'a str,
}

impl<'a> Written<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let text = text.trim();
        if text.len() > TEXT_MAX {
            return None;
        }
        let end = text.find([' ', 'T']).unwrap_or(text.len());
        let (date, rest) = text.split_at(end);
        let mark = date.chars().find(|c| matches!(c, '.' | '/'))?;
        let mut parts = date.split(mark);
        let (a, b, c) = (parts.next()?, parts.next()?, parts.next()?);
        let short = |s: &str| {
            let plain = matches!(s.len(), 1 | 2) && s.bytes().all(|b| b.is_ascii_digit());
            if plain { s.parse::<u32>().ok() } else { None }
        };
        let is_year = |s: &str| s.len() == 4 && s.bytes().all(|b| b.is_ascii_digit());
        let year_first = mark == '/' && is_year(a);
        let (year, first, second) = if year_first { (a, b, c) } else { (c, a, b) };
        (parts.next().is_none() && is_year(year)).then_some(())?;
        Some(Self {
            first: short(first)?,
            second: short(second)?,
            year,
            mark,
            year_first,
            rest,
        })
    }

    /// The date in ISO 8601; `None` if the order of its numbers is unknown.
    fn iso(&self, order: Option<DateOrder>) -> Option<String> {
        let (day, month) = match (self.mark, order) {
            _ if self.year_first => (self.second, self.first),
            ('.', _) | (_, Some(DateOrder::Dmy)) => (self.first, self.second),
            (_, Some(DateOrder::Mdy)) => (self.second, self.first),
            (_, None) => return None,
        };
        let time = match self.rest.trim() {
            "" => String::new(),
            rest => format!("T{}", clock(rest.trim_start_matches('T'))),
        };
        Some(format!("{}-{month:02}-{day:02}{time}", self.year))
    }
}

/// A time of 24 hours with two digits, from `9:05` or `2:05:07 PM`. Other texts stay.
fn clock(text: &str) -> String {
    let last = |half: &str| {
        let (time, end) = text.split_at_checked(text.len().checked_sub(half.len())?)?;
        end.eq_ignore_ascii_case(half).then(|| time.trim_end())
    };
    let (time, after_noon) = match (last("am"), last("pm")) {
        (Some(time), _) => (time, Some(false)),
        (_, Some(time)) => (time, Some(true)),
        _ => (text, None),
    };
    let hour = time
        .split_once(':')
        .and_then(|(h, rest)| Some((h.parse::<u32>().ok()?, rest)));
    match (hour, after_noon) {
        (Some((hour, rest)), None) => format!("{hour:02}:{rest}"),
        (Some((hour @ 1..=12, rest)), Some(after_noon)) => {
            format!("{:02}:{rest}", hour % 12 + if after_noon { 12 } else { 0 })
        }
        _ => text.to_owned(),
    }
}

/// Whether a text is a date with slashes that does not start with the year.
pub(super) fn is_slashed(text: &str) -> bool {
    Written::of(text).is_some_and(|w| w.mark == '/' && !w.year_first && w.first <= 31 && w.second <= 31)
}

/// Whether a text is a number with a decimal comma, as in `1,5` or `1.234,5e3`.
pub(super) fn has_decimal_comma(text: &str) -> bool {
    let Some((before, after)) = text.trim().split_once(',') else {
        return false;
    };
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let whole = before.trim_start_matches(['+', '-']);
    digit(whole) && digit(after) && format!("{}.{after}", whole.replace('.', "")).parse::<f64>().is_ok()
}

/// Whether a text is a number whose commas can separate thousands, as in `1,234` or `-1,234,567.8`.
pub(super) fn has_thousands(text: &str) -> bool {
    let number = text.trim().trim_start_matches(['+', '-']);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    whole.contains(',') && groups(whole, ',') && fraction.bytes().all(|b| b.is_ascii_digit())
}

/// Whether points separate groups of three digits, as in `-1.234.567`.
fn is_grouped(text: &str) -> bool {
    groups(text.trim_start_matches(['+', '-']), '.')
}

fn groups(text: &str, mark: char) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let mut groups = text.split(mark);
    let first = groups.next().is_some_and(|g| matches!(g.len(), 1..=3) && digits(g));
    first && groups.all(|g| g.len() == 3 && digits(g))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMA: Customs = Customs {
        decimal: Some(Decimal::Comma),
        dates: None,
    };

    #[test]
    fn decimal_commas_become_points() {
        for (text, number) in [
            ("1,5", Some("1.5")),
            ("-1.234.567,25e3", Some("-1234567.25e3")),
            ("1.234", Some("1234")),
            ("12", Some("12")),
            ("2.5", None),
            ("1,2,3", Some("1.2,3")),
            ("1,", Some("1")),
            ("1,x", None),
        ] {
            assert_eq!(COMMA.number(text).as_deref(), number, "{text}");
            assert_eq!(Customs::default().number(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn dates_become_iso() {
        let of = |text: &str, dates| {
            let customs = Customs {
                dates,
                ..Customs::default()
            };
            customs.date(text).into_owned()
        };
        for (text, iso) in [
            ("31.01.2020", "2020-01-31"),
            ("1.2.2020 9:05", "2020-02-01T09:05"),
            ("2020/1/31 14:05:06", "2020-01-31T14:05:06"),
            ("2020-01-31 14:05", "2020-01-31 14:05"),
            ("1.2.3.2020", "1.2.3.2020"),
            ("1.2.20", "1.2.20"),
        ] {
            assert_eq!(of(text, None), iso);
        }
        assert_eq!(of("1/2/2020", None), "1/2/2020");
        assert_eq!(of("1/2/2020", Some(DateOrder::Dmy)), "2020-02-01");
        assert_eq!(of("1/2/2020 12:30 AM", Some(DateOrder::Mdy)), "2020-01-02T00:30");
        assert_eq!(of("1/2/2020 1:30:05 pm", Some(DateOrder::Mdy)), "2020-01-02T13:30:05");
    }

    #[test]
    fn the_cells_tell_the_customs() {
        let of = |cells: &[&str], separator| {
            let mut marks = Marks::default();
            cells.iter().for_each(|c| marks.add(c.as_bytes()));
            marks.customs(Customs::default(), Some(separator))
        };
        assert_eq!(of(&["1,5", "1.234,5", "12"], b';'), COMMA);
        assert_eq!(of(&["1,5"], b','), Customs::default());
        assert_eq!(of(&["1,5", "2.5"], b';'), Customs::default());
        // These may be thousands.
        assert_eq!(of(&["1,234"], b';'), Customs::default());
        let dates = |cells: &[&str]| of(cells, b',').dates;
        assert_eq!(dates(&["1/2/2020", "31/1/2020"]), Some(DateOrder::Dmy));
        assert_eq!(dates(&["1/2/2020", "1/31/2020"]), Some(DateOrder::Mdy));
        assert_eq!(dates(&["1/2/2020"]), None);
        assert_eq!(dates(&["31/1/2020", "1/31/2020"]), None);
    }

    #[test]
    fn unknown_customs_are_errors_that_name_the_option() {
        let error = |text, datatype| Customs::default().plain(text, datatype).unwrap_err().to_string();
        assert!(error("1/2/2020", Datatype::DatetimeDay).contains("--date-order dmy"));
        assert!(error("1,5", Datatype::Float64).contains("--decimal comma"));
        assert_eq!(
            Customs::default().plain("1/2/2020", Datatype::StringUtf8).unwrap(),
            "1/2/2020"
        );
    }
}
