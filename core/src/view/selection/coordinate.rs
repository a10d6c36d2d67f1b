//! Parses the selection of one axis.

use super::{Axis, Beyond, lexer};
use crate::calendar;
use crate::datatype::{Datatype, Physical};
use crate::error::{Error, Result};
use crate::format::domain::Dimension;
use crate::scalar::{Scalar, ScalarRange};

/// Sorts after all strings of a dimension, which are ASCII.
pub(super) const AFTER_STRINGS: &[u8] = &[0xff];

/// The parts of a range as written; empty if omitted.
struct Parts<'a> {
    text: &'a str,
    lo: &'a str,
    hi: &'a str,
    step: &'a str,
    single: bool,
}

/// Parses the selection along `dimension` within `limits`, which apply to everything but strings. `whole` selects the
/// whole axis.
pub(super) fn axis(
    text: &str,
    limits: Option<ScalarRange>,
    dimension: &Dimension,
    whole: &Axis,
    beyond: Beyond,
) -> Result<Axis> {
    let text = text.trim();
    if text.is_empty() {
        return Err(wrong(text, dimension, "is empty; write : for the whole dimension"));
    }
    if matches!(text, ":" | "_" | "all" | "..") {
        return Ok(whole.clone());
    }
    if let Some(items) = lexer::list(text)? {
        let items = items.into_iter().map(|item| {
            let part = axis(item, limits.clone(), dimension, whole, beyond)?;
            let is_part = part.is_range() && part.range.is_some();
            is_part.then_some(part).ok_or_else(|| {
                let why = "a part of a list is a coordinate or a range, without a step";
                wrong(item, dimension, why)
            })
        });
        return Ok(Axis::join(items.collect::<Result<_>>()?));
    }
    let parts = split(text, dimension)?;
    // Only a current domain limits strings, and a selection may exceed it.
    let Some(limits) = limits.filter(|_| !dimension.cell.is_var()) else {
        return string_axis(&parts, dimension, whole);
    };
    let open = whole.range.clone().unwrap_or_else(|| limits.clone());
    match dimension.datatype {
        Datatype::Float32 | Datatype::Float64 => float_axis(&parts, dimension, &open, &limits),
        t if t.is_datetime() => date_axis(&parts, dimension, &open, &limits),
        _ => integer_axis(&parts, dimension, &open, &limits, beyond),
    }
}

/// The error for a half-open integer range from `lo` that ends at `lo` or before.
pub fn selects_nothing(text: &str, dimension: &Dimension, lo: i128) -> Error {
    let why = format!(
        "selects nothing: ranges are half-open, so {lo}:{} selects {lo}; negative coordinates do not wrap around",
        lo + 1
    );
    wrong(text, dimension, &why)
}

fn wrong(text: &str, dimension: &Dimension, why: &str) -> Error {
    Error::invalid(format!(
        "'{text}' along dimension '{}' ({}): {why}",
        dimension.name, dimension.datatype
    ))
}

/// Splits at `..`, or else at `:`. A time of day may contain colons. Of all splits into valid dates, the one with the
/// fewest parts is used.
fn split<'a>(text: &'a str, dimension: &Dimension) -> Result<Parts<'a>> {
    let dots: Vec<usize> = lexer::positions(text, |rest| rest.starts_with("..")).collect();
    if dots.windows(2).any(|w| matches!(w, [a, b] if b - a == 1)) {
        return Err(wrong(text, dimension, "three dots in a row; write a:b"));
    }
    let (cuts, width) = if dots.is_empty() {
        (lexer::positions(text, |rest| rest.starts_with(':')).collect(), 1)
    } else {
        (dots, 2)
    };
    if dimension.datatype.is_datetime() && width == 1 {
        return split_dates(text, &cuts, dimension);
    }
    parts(text, &cuts, width).ok_or_else(|| wrong(text, dimension, "more than two colons; a range is start:end:step"))
}

fn parts<'a>(text: &'a str, cuts: &[usize], width: usize) -> Option<Parts<'a>> {
    let piece = |from: usize, to: usize| text.get(from..to).unwrap_or("").trim();
    let end = text.len();
    Some(match *cuts {
        [] => Parts {
            text,
            lo: piece(0, end),
            hi: "",
            step: "",
            single: true,
        },
        [a] => Parts {
            text,
            lo: piece(0, a),
            hi: piece(a + width, end),
            step: "",
            single: false,
        },
        [a, b] => Parts {
            text,
            lo: piece(0, a),
            hi: piece(a + width, b),
            step: piece(b + width, end),
            single: false,
        },
        _ => return None,
    })
}

fn split_dates<'a>(text: &'a str, colons: &[usize], dimension: &Dimension) -> Result<Parts<'a>> {
    let is_date = |s: &str| moment(s, dimension.datatype).is_ok();
    let fits = |p: &Parts<'_>| {
        let step_ok = p.step.is_empty() || p.step.parse::<u64>().is_ok();
        (p.lo.is_empty() || is_date(p.lo)) && (p.hi.is_empty() || is_date(p.hi)) && step_ok
    };
    let ones = colons.iter().map(|&a| vec![a]);
    let twos = colons
        .iter()
        .enumerate()
        .flat_map(|(i, &a)| colons.iter().skip(i + 1).map(move |&b| vec![a, b]));
    // A time of day has at most two colons, so two times and a step have at most six.
    let ways = std::iter::once(Vec::new())
        .chain(ones)
        .chain(twos)
        .take(if colons.len() <= 6 { usize::MAX } else { 1 });
    let found = ways.filter_map(|cuts| parts(text, &cuts, 1)).find(fits);
    found.ok_or_else(|| {
        let first = text.split(':').find(|s| !s.is_empty() && !is_date(s)).unwrap_or(text);
        match moment(first, dimension.datatype) {
            Err(why) => wrong(text, dimension, &why),
            Ok(_) => wrong(text, dimension, "not a range of dates; write start:end"),
        }
    })
}

/// The first and last tick of a date. A domain may start at not-a-time.
fn moment(text: &str, datatype: Datatype) -> Result<(i64, i64), String> {
    if text == "NaT" {
        return Ok((i64::MIN, i64::MIN));
    }
    calendar::parse(text, datatype)
}

fn integer_axis(
    parts: &Parts<'_>,
    dimension: &Dimension,
    open: &ScalarRange,
    limits: &ScalarRange,
    beyond: Beyond,
) -> Result<Axis> {
    let text = parts.text;
    let number = |s: &str, otherwise: i128| {
        if s.is_empty() {
            return Ok(otherwise);
        }
        // Limited to 100 bits, so that the sums below do not overflow. Such values are outside any domain.
        let value = s.parse::<i128>().ok().filter(|v| v.unsigned_abs() < 1 << 100);
        value.ok_or_else(|| {
            wrong(
                text,
                dimension,
                &format!("'{s}' is not a 64-bit integer; write start:end or one coordinate"),
            )
        })
    };
    let ends = |r: &ScalarRange| (r.lo.as_i128().unwrap_or(0), r.hi.as_i128().unwrap_or(0));
    let (first, last) = ends(limits);
    let (open_lo, open_hi) = ends(open);
    let lo = number(parts.lo, open_lo)?;
    let hi = if parts.single {
        lo
    } else {
        number(parts.hi, open_hi + 1)? - 1
    };
    if hi < lo {
        return Err(selects_nothing(text, dimension, lo));
    }
    let (lo, hi) = match beyond {
        Beyond::Clipped if lo <= last && hi >= first => (lo.max(first), hi.min(last)),
        _ => (lo, hi),
    };
    if lo < first || hi > last {
        return Err(wrong(
            text,
            dimension,
            &format!("outside the domain, {first}:{} (half-open)", last + 1),
        ));
    }
    let step = step(parts, dimension)?;
    closed(dimension, lo, hi, step, parts.single)
}

/// The axis from `lo` to the last coordinate that the step selects.
fn closed(dimension: &Dimension, lo: i128, hi: i128, step: u64, single: bool) -> Result<Axis> {
    let last = hi - (hi - lo) % i128::from(step);
    let scalar = |v| Scalar::from_i128(dimension.datatype, v);
    match (scalar(lo), scalar(last)) {
        (Some(lo), Some(hi)) => Ok(Axis {
            step,
            single,
            ..Axis::of(Some(ScalarRange { lo, hi }))
        }),
        _ => Err(wrong(&format!("{lo}:{hi}"), dimension, "outside the range of the type")),
    }
}

fn step(parts: &Parts<'_>, dimension: &Dimension) -> Result<u64> {
    if parts.step.is_empty() {
        return Ok(1);
    }
    let step = parts.step.parse::<u64>().ok().filter(|s| *s > 0);
    step.ok_or_else(|| {
        wrong(
            parts.text,
            dimension,
            &format!(
                "'{}' is not a valid step; a step is a whole number of at least 1",
                parts.step
            ),
        )
    })
}

fn no_step(parts: &Parts<'_>, dimension: &Dimension) -> Result<()> {
    if parts.step.is_empty() {
        return Ok(());
    }
    Err(wrong(
        parts.text,
        dimension,
        "cannot have a step; steps are for integers and dates",
    ))
}

fn float_axis(parts: &Parts<'_>, dimension: &Dimension, open: &ScalarRange, limits: &ScalarRange) -> Result<Axis> {
    no_step(parts, dimension)?;
    let number = |s: &str, otherwise: &Scalar| -> Result<Scalar> {
        if s.is_empty() {
            return Ok(otherwise.clone());
        }
        let value = match dimension.datatype.physical() {
            Physical::F32 => s.parse::<f32>().ok().filter(|v| !v.is_nan()).map(Scalar::F32),
            _ => s.parse::<f64>().ok().filter(|v| !v.is_nan()).map(Scalar::F64),
        };
        value.ok_or_else(|| {
            wrong(
                parts.text,
                dimension,
                &format!("'{s}' is not a number; write start:end, for example 30.0:40.5"),
            )
        })
    };
    let lo = number(parts.lo, &open.lo)?;
    let hi = if parts.single {
        lo.clone()
    } else {
        number(parts.hi, &open.hi)?
    };
    clipped(parts, dimension, ScalarRange { lo, hi }, limits, 1, parts.single)
}

fn date_axis(parts: &Parts<'_>, dimension: &Dimension, open: &ScalarRange, limits: &ScalarRange) -> Result<Axis> {
    let ticks = |s: &str| moment(s, dimension.datatype).map_err(|why| wrong(parts.text, dimension, &why));
    let lo = if parts.lo.is_empty() {
        open.lo.clone()
    } else {
        Scalar::I64(ticks(parts.lo)?.0)
    };
    let last = if parts.single { parts.lo } else { parts.hi };
    let hi = if last.is_empty() {
        open.hi.clone()
    } else {
        Scalar::I64(ticks(last)?.1)
    };
    let single = parts.single && lo == hi;
    clipped(
        parts,
        dimension,
        ScalarRange { lo, hi },
        limits,
        step(parts, dimension)?,
        single,
    )
}

/// Clips a closed range to `limits`.
fn clipped(
    parts: &Parts<'_>,
    dimension: &Dimension,
    asked: ScalarRange,
    limits: &ScalarRange,
    step: u64,
    single: bool,
) -> Result<Axis> {
    let show = |v: &Scalar| super::coordinate_text(v, dimension.datatype);
    if asked.is_empty() {
        return Err(wrong(parts.text, dimension, "the end is before the start"));
    }
    let range = asked.intersection(limits);
    if range.is_empty() {
        let why = format!(
            "outside the domain, {}:{} (inclusive)",
            show(&limits.lo),
            show(&limits.hi)
        );
        return Err(wrong(parts.text, dimension, &why));
    }
    match (range.lo.as_i128(), range.hi.as_i128()) {
        (Some(lo), Some(hi)) => closed(dimension, lo, hi, step, single),
        _ => Ok(Axis {
            single,
            ..Axis::of(Some(range))
        }),
    }
}

fn string_axis(parts: &Parts<'_>, dimension: &Dimension, whole: &Axis) -> Result<Axis> {
    no_step(parts, dimension)?;
    if !parts.single && parts.hi.is_empty() && lexer::unquote(parts.lo)?.is_empty() {
        return Ok(whole.clone());
    }
    let bytes = |s: &str| lexer::unquote(s).map(|s| Scalar::Bytes(s.into_bytes()));
    let lo = bytes(parts.lo)?;
    let hi = match (parts.single, parts.hi) {
        (true, _) => lo.clone(),
        (false, "") => Scalar::Bytes(AFTER_STRINGS.to_vec()),
        (false, hi) => bytes(hi)?,
    };
    let range = ScalarRange { lo, hi };
    if range.is_empty() {
        return Err(wrong(
            parts.text,
            dimension,
            "the end is before the start; strings are ordered by their bytes",
        ));
    }
    Ok(Axis {
        single: parts.single,
        ..Axis::of(Some(range))
    })
}
