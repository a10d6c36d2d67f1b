//! Guesses the datatype of a column of text, from its cells one by one.

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::internals::calendar;
use hyperslab::{Datatype, Scalar};

use super::customs::{Customs, has_decimal_comma, has_thousands, is_slashed};
use super::text::{is_exactly, is_whole, utf8, value};
use super::zones::{self, Zone};

/// The units of dates, and the digits of a fraction of a second up to which each is used.
const UNITS: [(Datatype, usize); 3] = [
    (Datatype::DatetimeMs, 3),
    (Datatype::DatetimeUs, 6),
    (Datatype::DatetimeNs, usize::MAX),
];
/// Whole numbers up to this one are exact as a float64.
const EXACT_MAX: u128 = 1 << 53;
/// The most characters of a cell in a message.
const SHOWN: usize = 40;

/// Statistics about the cells of a column, from which its type follows.
#[derive(Debug, Default)]
pub(crate) struct Guess {
    /// The requested type, whatever the cells look like.
    given: Option<Datatype>,
    customs: Customs,
    rows: u64,
    bytes: u64,
    filled: u64,
    /// The first line without a value, and the first whose value cannot be a coordinate: NaN, infinite or NaT.
    empty: Option<u64>,
    nowhere: Option<u64>,
    whole: Fit,
    /// Cells of digits alone, and those of them that a float64 holds exactly.
    digits: u64,
    exact: u64,
    float: Fit,
    words: u64,
    fraction: usize,
    dates: [Fit; 3],
    of_given: Fit,
    /// Numbers with a decimal comma, and dates of any precision that are not numbers.
    commas: u64,
    days: u64,
    odd_number: Option<Outlier>,
    odd_date: Option<Outlier>,
    /// The first whole number that a float64 would round, and the first one with a leading zero.
    rounded: Option<Outlier>,
    zero_led: Option<Outlier>,
    /// The first whole number that no integer type holds together with those before it.
    unfit: Option<Outlier>,
    /// The cells that are NaT, which is neither a number nor a date, and the first of them.
    nats: u64,
    odd_nat: Option<Outlier>,
    /// The first date that no unit holds together with those before it.
    fine: Option<Outlier>,
    /// The first number whose digits float32, the given type, does not keep.
    coarse: Option<Outlier>,
    /// Dates with text other than an offset after the time, and the first of them.
    zoned: u64,
    odd_zone: Option<Outlier>,
    /// Dates whose first number may be the day or the month, and the first of them.
    slashed: u64,
    odd_slash: Option<Outlier>,
    /// The first time with a UTC offset, and whether other times have no zone.
    offset: Option<Outlier>,
    unnamed: bool,
}

/// The number of cells that fit a type, with the least and the greatest value.
#[derive(Debug, Default)]
struct Fit {
    cells: u64,
    ends: Option<(Scalar, Scalar)>,
}

/// A cell that differs from most of its column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outlier {
    /// Its line.
    pub(crate) line: u64,
    /// The start of its text.
    pub(crate) text: String,
    /// How many cells are like the others, and how many are not empty.
    pub(crate) others: u64,
    pub(crate) filled: u64,
    /// The kind of the others.
    pub(crate) kind: Kind,
}

/// The kind of most cells of a column of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Numbers,
    /// Numbers; the odd one has a decimal comma.
    DecimalCommas,
    Dates,
    /// Floats; the odd one is a whole number that a float64 would round.
    Floats,
    /// Numbers; the odd one has leading zeros.
    PlainNumbers,
    /// Whole numbers; no integer type holds the odd one together with the others.
    Whole,
    /// Dates and times; the odd one has text other than an offset after its time.
    Zones,
    /// Dates; it is unknown whether the odd one starts with the day or the month.
    DateOrder,
    /// Dates and times; the odd one has a UTC offset, which the datatype does not keep.
    Offsets,
    /// Numbers; the odd one has commas where thousands are separated.
    Thousands,
    /// Numbers; the odd one is NaT, so that they may be durations.
    Durations,
    /// Dates and times; no unit holds the odd one together with the others.
    Fine,
    /// Numbers of the given type float32, which does not keep the digits of the odd one.
    Coarse,
}

impl Fit {
    fn add(&mut self, value: Scalar) {
        self.cells += 1;
        match &mut self.ends {
            None => self.ends = Some((value.clone(), value)),
            Some((lo, _)) if value.order(lo).is_lt() => *lo = value,
            Some((_, hi)) if value.order(hi).is_gt() => *hi = value,
            Some(_) => {}
        }
    }

    /// Whether an integer type holds all of them.
    fn is_integer(&self) -> bool {
        self.within(Datatype::Int64) || self.within(Datatype::Uint64)
    }

    fn within(&self, datatype: Datatype) -> bool {
        let holds = |v: &Scalar| v.as_i128().and_then(|v| Scalar::from_i128(datatype, v)).is_some();
        self.ends.as_ref().is_some_and(|(lo, hi)| holds(lo) && holds(hi))
    }
}

impl Guess {
    /// A guess without any cells. If a type is given, the column has that type, and cells that do not fit it are
    /// errors.
    pub(crate) fn new(given: Option<Datatype>, customs: Customs) -> Self {
        Self {
            given,
            customs,
            ..Self::default()
        }
    }

    /// Whether the given type is text, so that the cells say nothing about numbers and dates.
    pub(super) fn is_given_text(&self) -> bool {
        self.given.is_some_and(Datatype::is_bytes)
    }

    /// Adds this many cells without a value. The first of them is on `line`.
    pub(super) fn add_empty(&mut self, line: u64, cells: u64) {
        self.rows += cells;
        if cells > 0 {
            self.empty.get_or_insert(line);
        }
    }

    /// Adds the cell on this line. `is_text` says that digits in it are no number.
    ///
    /// # Errors
    /// The cell does not fit the given type.
    pub(crate) fn add(&mut self, line: u64, cell: Option<&[u8]>, is_text: bool) -> Result<()> {
        let Some(bytes) = cell else {
            self.add_empty(line, 1);
            return Ok(());
        };
        self.rows += 1;
        self.filled += 1;
        self.bytes += bytes.len() as u64;
        if let Some(datatype) = self.given {
            return self.add_given(line, bytes, datatype);
        }
        let Ok(text) = utf8(bytes) else {
            let text = String::from_utf8_lossy(bytes);
            self.odd(line, &text, Kind::Numbers);
            self.odd(line, &text, Kind::Dates);
            return Ok(());
        };
        let first = text.trim_start().bytes().next();
        let maybe =
            first.is_some_and(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'i' | b'I' | b'n' | b'N'));
        // JSON has no numbers for these.
        let maybe_number = maybe && (!is_text || matches!(text, "NaN" | "Infinity" | "-Infinity"));
        let plain = self.customs.number(text).filter(|_| maybe_number);
        let number = plain.is_some_and(|plain| self.add_number(line, &plain));
        let date = self.customs.date(text);
        if maybe {
            self.add_date(line, &date);
        }
        let nat = text.trim().eq_ignore_ascii_case("nat");
        if nat {
            self.nats += 1;
            self.odd(line, text, Kind::Durations);
        }
        let like_date = maybe && !number && calendar::parse(date.trim(), Datatype::DatetimeMs).is_ok();
        if like_date {
            self.days += 1;
            let all_dates = self.days + self.nats == self.filled;
            if all_dates && self.dates.iter().all(|fit| fit.cells != self.filled) {
                self.odd(line, text, Kind::Fine);
            }
            match zones::of_date(&date) {
                Zone::Offset => self.odd(line, text, Kind::Offsets),
                zone => self.unnamed |= zone == Zone::Unnamed,
            }
        } else if maybe && !number && is_slashed(text) {
            self.slashed += 1;
            self.odd(line, text, Kind::DateOrder);
        } else if maybe && !number && zones::has_other_zone(&date) {
            self.zoned += 1;
            self.odd(line, text, Kind::Zones);
        }
        if !number && !is_text {
            self.words += u64::from(text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"));
            let kind = match text {
                _ if has_thousands(text) => Kind::Thousands,
                _ if has_decimal_comma(text) => Kind::DecimalCommas,
                _ => Kind::Numbers,
            };
            self.commas += u64::from(kind != Kind::Numbers);
            // In a column with decimal commas, `1,234` has one too.
            self.odd_number
                .take_if(|odd| odd.kind == Kind::Thousands && kind == Kind::DecimalCommas);
            self.odd(line, text, kind);
        } else if !number {
            self.odd(line, text, Kind::Numbers);
        }
        if !like_date && !nat {
            self.odd(line, text, Kind::Dates);
        }
        Ok(())
    }

    /// Tries the units of dates. Once a cell does not fit a unit, the column has another type.
    fn add_date(&mut self, line: u64, text: &str) {
        for ((unit, _), fit) in UNITS.iter().zip(&mut self.dates) {
            if fit.cells + 1 != self.filled {
                continue;
            }
            match value(text, *unit) {
                Ok(Scalar::I64(i64::MIN)) => {
                    fit.cells += 1;
                    self.nowhere.get_or_insert(line);
                }
                Ok(date) => fit.add(date),
                Err(_) => {}
            }
        }
        let fraction = text.rsplit_once('.').map_or(0, |(_, fraction)| {
            fraction.bytes().take_while(u8::is_ascii_digit).count()
        });
        self.fraction = self.fraction.max(fraction);
    }

    fn add_given(&mut self, line: u64, bytes: &[u8], datatype: Datatype) -> Result<()> {
        if datatype.is_bytes() {
            return Ok(());
        }
        let customs = self.customs;
        let found = utf8(bytes).and_then(|text| value(&customs.plain(text, datatype)?, datatype));
        let found = found.with_context(|| format!("line {line}: '{}'", shown(&String::from_utf8_lossy(bytes))))?;
        self.place(line, &found);
        if let Scalar::F32(kept) = found {
            let text = String::from_utf8_lossy(bytes);
            let (kept, written) = (kept.to_string().parse::<f64>(), text.trim().parse::<f64>());
            if matches!((kept, written), (Ok(kept), Ok(written)) if kept != written && !written.is_nan()) {
                self.odd(line, &text, Kind::Coarse);
            }
        }
        self.of_given.add(found);
        Ok(())
    }

    /// Tries the types of numbers. Returns whether the cell is a number.
    fn add_number(&mut self, line: u64, text: &str) -> bool {
        let text = text.trim();
        let whole = text.parse::<i128>().ok();
        if is_whole(text) {
            let exact =
                whole.is_some_and(|v| v.unsigned_abs() <= EXACT_MAX) || text.parse().is_ok_and(|f| is_exactly(text, f));
            self.digits += 1;
            self.exact += u64::from(exact);
            if !exact {
                self.odd(line, text, Kind::Floats);
            }
            let digits = text.trim_start_matches(['+', '-']);
            if digits.len() > 1 && digits.starts_with('0') {
                self.odd(line, text, Kind::PlainNumbers);
            }
        }
        let of = |datatype| whole.and_then(|v| Scalar::from_i128(datatype, v));
        if let Some(whole) = of(Datatype::Int64).or_else(|| of(Datatype::Uint64)) {
            self.whole.add(whole);
        }
        if self.unfit.is_none() && is_whole(text) && !(self.whole.cells == self.digits && self.whole.is_integer()) {
            self.odd(line, text, Kind::Whole);
        }
        // Most texts are not floats, and `value` would build a long error for each.
        let float = text.parse::<f64>().is_ok().then(|| value(text, Datatype::Float64));
        let Some(Ok(float)) = float else { return false };
        self.place(line, &float);
        self.float.add(float);
        true
    }

    /// Records the first line whose value cannot be a coordinate.
    fn place(&mut self, line: u64, value: &Scalar) {
        if value.as_f64().is_some_and(|v| !v.is_finite()) || *value == Scalar::I64(i64::MIN) {
            self.nowhere.get_or_insert(line);
        }
    }

    /// Records the first cell that would be the odd one among cells of this kind.
    fn odd(&mut self, line: u64, text: &str, kind: Kind) {
        let first = match kind {
            Kind::Dates => &mut self.odd_date,
            Kind::Numbers | Kind::DecimalCommas | Kind::Thousands => &mut self.odd_number,
            Kind::Floats => &mut self.rounded,
            Kind::PlainNumbers => &mut self.zero_led,
            Kind::Whole => &mut self.unfit,
            Kind::Zones => &mut self.odd_zone,
            Kind::DateOrder => &mut self.odd_slash,
            Kind::Offsets => &mut self.offset,
            Kind::Durations => &mut self.odd_nat,
            Kind::Fine => &mut self.fine,
            Kind::Coarse => &mut self.coarse,
        };
        first.get_or_insert_with(|| Outlier {
            line,
            text: shown(text),
            others: 0,
            filled: 0,
            kind,
        });
    }

    /// The number of cells, including empty ones.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of all cells as text.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first line without a value.
    pub(crate) fn empty(&self) -> Option<u64> {
        self.empty
    }

    /// The first of these types that all cells fit: int64, uint64, float64, bool, dates, strings. A column stays text
    /// if a float64 would round one of its whole numbers.
    pub(crate) fn datatype(&self) -> Datatype {
        if let Some(given) = self.given {
            return given;
        }
        let all = |n: u64| n == self.filled && n > 0;
        let whole = all(self.whole.cells);
        if whole && self.whole.within(Datatype::Int64) {
            return Datatype::Int64;
        }
        if whole && self.whole.within(Datatype::Uint64) {
            return Datatype::Uint64;
        }
        if all(self.float.cells) {
            return if self.exact < self.digits {
                Datatype::StringUtf8
            } else {
                Datatype::Float64
            };
        }
        if all(self.words) {
            return Datatype::Bool;
        }
        // Cells of digits alone are numbers, so a date here has a dash.
        let mut units = UNITS.iter().zip(&self.dates).filter(|(_, fit)| all(fit.cells));
        // A coarser unit holds dates that are out of range for the unit with as many digits, if the digits are zeros.
        let coarser = units.clone().next();
        let unit = units.find(|((_, digits), _)| self.fraction <= *digits).or(coarser);
        unit.map_or(Datatype::StringUtf8, |((unit, _), _)| *unit)
    }

    /// The least and the greatest coordinate; `None` if the column is empty.
    ///
    /// # Errors
    /// A cell cannot be a coordinate.
    pub(crate) fn ends(&self) -> Result<Option<(Scalar, Scalar)>> {
        let datatype = self.datatype();
        if let Some(line) = self.empty {
            bail!("line {line} has no coordinate; fill it in, or remove the line");
        }
        if let Some(line) = self.nowhere.filter(|_| !datatype.is_integer()) {
            bail!("the coordinate on line {line} is infinite, or not a number or time; remove the line");
        }
        ensure!(
            datatype != Datatype::Bool,
            "its cells are true and false, which are no coordinates"
        );
        let dates = || UNITS.iter().zip(&self.dates).find(|((unit, _), _)| *unit == datatype);
        let fit = match datatype {
            _ if self.given.is_some() => &self.of_given,
            Datatype::Int64 | Datatype::Uint64 => &self.whole,
            Datatype::Float64 => &self.float,
            _ => dates().map_or(&self.of_given, |(_, fit)| fit),
        };
        let of_type = |v: &Scalar| match datatype.is_integer() {
            true => v.as_i128().and_then(|v| Scalar::from_i128(datatype, v)),
            false => Some(v.clone()),
        };
        Ok(fit.ends.as_ref().and_then(|(lo, hi)| of_type(lo).zip(of_type(hi))))
    }

    /// The first cell that makes the column text, if most of its cells are something else.
    pub(crate) fn outlier(&self) -> Option<Outlier> {
        if self.given.is_some() || self.datatype() != Datatype::StringUtf8 {
            return None;
        }
        let most = |n: u64| 2 * n > self.filled;
        let numbers = self.float.cells;
        let (odd, others) = if numbers == self.filled {
            let all_whole = self.digits == self.filled;
            let odd = if all_whole { &self.unfit } else { &self.rounded };
            (odd.clone()?, numbers)
        } else if numbers > 0 && numbers + self.nats == self.filled {
            (self.odd_nat.clone()?, numbers)
        } else if most(numbers) || self.commas > 0 && most(numbers + self.commas) {
            (self.odd_number.clone()?, numbers)
        } else if self.slashed > 0 && most(self.days + self.slashed) {
            (self.odd_slash.clone()?, self.slashed)
        } else if self.zoned > 0 && most(self.days + self.zoned) {
            (self.odd_zone.clone()?, self.days)
        } else if self.days > 0 && most(self.days + self.nats) {
            (self.odd_date.clone().or_else(|| self.fine.clone())?, self.days)
        } else if numbers > 0 && self.days > 0 && most(numbers + self.days) {
            if numbers < self.days {
                (self.odd_date.clone()?, self.days)
            } else {
                (self.odd_number.clone()?, numbers)
            }
        } else {
            return None;
        };
        Some(Outlier {
            others,
            filled: self.filled,
            ..odd
        })
    }

    /// The first time of a column of dates that has a UTC offset, and whether other times have no zone.
    pub(crate) fn offset(&self) -> Option<(&Outlier, bool)> {
        let dates = self.given.is_none() && self.datatype().is_datetime();
        let offset = self.offset.as_ref().filter(|_| dates)?;
        Some((offset, self.unnamed))
    }

    /// The first number whose digits the given type float32 does not keep.
    pub(crate) fn coarse(&self) -> Option<&Outlier> {
        self.coarse.as_ref()
    }

    /// The first cell with a leading zero in a column of whole numbers, which do not keep the zero.
    pub(crate) fn zero_led(&self) -> Option<&Outlier> {
        let whole = self.given.is_none() && self.datatype().is_integer();
        self.zero_led.as_ref().filter(|_| whole)
    }
}

/// The start of a text, on one line.
fn shown(text: &str) -> String {
    crate::show::shorten(text, SHOWN)
}
