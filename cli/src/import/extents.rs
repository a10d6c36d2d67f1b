//! Parses `--tile`: extents in the order of the dimensions, or by name.

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::internals::suggest;
use hyperslab::{Datatype, Scalar};

use crate::errors::usage;
use crate::input;

/// A unit of time: the suffix of its datatypes, its short form on the command line, and its length.
struct Unit {
    name: &'static str,
    short: &'static str,
    length: Length,
}

/// Months have no length in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Months(i128),
    Attoseconds(i128),
}

const SECOND: i128 = 1_000_000_000_000_000_000;

const fn unit(name: &'static str, short: &'static str, attoseconds: i128) -> Unit {
    let length = Length::Attoseconds(attoseconds);
    Unit { name, short, length }
}

const UNITS: [Unit; 13] = [
    Unit {
        name: "year",
        short: "y",
        length: Length::Months(12),
    },
    Unit {
        name: "month",
        short: "mo",
        length: Length::Months(1),
    },
    unit("week", "w", 7 * 86_400 * SECOND),
    unit("day", "d", 86_400 * SECOND),
    unit("hr", "h", 3600 * SECOND),
    unit("min", "min", 60 * SECOND),
    unit("sec", "s", SECOND),
    unit("ms", "ms", SECOND / 1000),
    unit("us", "us", SECOND / 1_000_000),
    unit("ns", "ns", SECOND / 1_000_000_000),
    unit("ps", "ps", 1_000_000),
    unit("fs", "fs", 1000),
    unit("as", "as", 1),
];

/// The extent that `--tile` gives each of these dimensions; `None` for those that it omits.
pub(super) fn given<'a>(list: Option<&'a [String]>, names: &[String]) -> Result<Vec<Option<&'a str>>> {
    let mut found = vec![None; names.len()];
    let Some(list) = list else { return Ok(found) };
    let named = list.iter().filter(|item| item.contains('=')).count();
    if named == 0 {
        ensure!(
            list.len() == names.len(),
            usage(
                "--tile",
                format!(
                    "{} extents for {} dimensions; give one for each",
                    list.len(),
                    names.len()
                )
            )
        );
        return Ok(list
            .iter()
            .map(|t| Some(t.as_str()).filter(|t| !t.is_empty()))
            .collect());
    }
    ensure!(
        named == list.len(),
        usage(
            "--tile",
            "give an extent for each dimension in order, or DIM=N for some of them"
        )
    );
    for (name, extent) in list.iter().filter_map(|item| item.rsplit_once('=')) {
        let position = names.iter().position(|n| n == name);
        let slot = position
            .and_then(|i| found.get_mut(i))
            .ok_or_else(|| usage("--tile", suggest::unknown("dimension", name, names)))?;
        ensure!(
            slot.replace(extent).is_none(),
            usage("--tile", format!("dimension '{name}' is named twice; name it once"))
        );
    }
    Ok(found)
}

/// Parses the extent of a dimension of `datatype`. The extent of dates is a duration, not a date.
pub(super) fn extent(name: &str, datatype: Datatype, text: &str) -> Result<Scalar> {
    let read = if datatype.is_temporal() {
        ticks(datatype, text)
    } else {
        input::scalar(text, datatype)
    };
    let read = read.and_then(|extent| match extent.as_i128() {
        Some(cells) if cells < 1 => bail!("an extent must be 1 or more, not {cells}"),
        _ => Ok(extent),
    });
    read.map_err(|e| usage("--tile", format!("dimension '{name}': {e:#}")))
}

/// Parses a duration, in ticks of a datatype: a plain number, or a number with a unit of time.
fn ticks(datatype: Datatype, text: &str) -> Result<Scalar> {
    let text = text.trim();
    let ending = datatype.name().rsplit('_').next();
    let own = UNITS.iter().find(|u| Some(u.name) == ending);
    let own = own.with_context(|| format!("{datatype} has no unit of time"))?;
    let (digits, typed) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let typed = typed.trim();
    let unit = if typed.is_empty() {
        Some(own)
    } else {
        UNITS.iter().find(|u| u.short == typed || u.name == typed)
    };

    let (Some(unit), Ok(count)) = (unit, digits.parse::<u64>()) else {
        let shorts: Vec<&str> = UNITS.iter().map(|u| u.short).collect();
        bail!(
            "'{text}' is not a duration; write a number with a unit, as in 7d; without a unit it counts as {} (the \
             units are {})",
            own.short,
            shorts.join(", ")
        );
    };
    let (all, one) = match (unit.length, own.length) {
        (Length::Months(all), Length::Months(one)) | (Length::Attoseconds(all), Length::Attoseconds(one)) => {
            (i128::from(count).checked_mul(all), one)
        }
        _ => (None, 1),
    };
    let ticks = all.filter(|all| all % one == 0).map(|all| all / one);
    let ticks = ticks.and_then(|n| Scalar::from_i128(datatype, n));
    ticks.with_context(|| {
        format!(
            "'{text}' is not a multiple of the unit of {datatype}, which is {}",
            own.short
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_of_dates_are_durations() {
        for (datatype, text, ticks) in [
            (Datatype::DatetimeMs, "1d", 86_400_000),
            (Datatype::DatetimeMs, "86400000", 86_400_000),
            (Datatype::DatetimeDay, "2w", 14),
            (Datatype::DatetimeDay, "48 h", 2),
            (Datatype::DatetimeYear, "24mo", 2),
            (Datatype::DatetimeMonth, "1year", 12),
            (Datatype::TimeSec, "3min", 180),
            (Datatype::DatetimeAs, "5", 5),
        ] {
            let extent = extent("t", datatype, text).unwrap();
            assert_eq!(extent, Scalar::I64(ticks), "{text} of {datatype}");
        }
    }

    #[test]
    fn errors_about_durations_say_what_to_write() {
        for (datatype, text, why) in [
            (Datatype::DatetimeMs, "2020-01-02", "as in 7d"),
            (Datatype::DatetimeMs, "1x", "y, mo, w, d, h, min"),
            (Datatype::DatetimeMs, "", "counts as ms"),
            (Datatype::DatetimeMs, "-1d", "not a duration"),
            (
                Datatype::DatetimeDay,
                "1h",
                "not a multiple of the unit of datetime_day",
            ),
            (Datatype::DatetimeDay, "1mo", "not a multiple"),
            (Datatype::DatetimeAs, "18446744073709551615y", "not a multiple"),
            (Datatype::DatetimeAs, "18446744073709551615w", "not a multiple"),
            (Datatype::Int32, "1d", "'1d'"),
        ] {
            let error = extent("t", datatype, text).unwrap_err().to_string();
            assert!(
                error.contains("--tile: dimension 't'") && error.contains(why),
                "{error}"
            );
        }
    }

    #[test]
    fn extents_come_in_order_or_by_name() {
        let names = ["x".to_owned(), "t".to_owned()];
        let of = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(|&t| t.to_owned()).collect();
            let found = given(Some(&list), &names).map_err(|e| e.to_string())?;
            Ok::<_, String>(found.into_iter().map(|t| t.map(str::to_owned)).collect::<Vec<_>>())
        };
        assert_eq!(of(&["4", "1d"]), Ok(vec![Some("4".into()), Some("1d".into())]));
        assert_eq!(of(&["t=1d"]), Ok(vec![None, Some("1d".into())]));
        for (list, why) in [
            (&["4"][..], "1 extents for 2 dimensions"),
            (&["4", "t=1d"], "DIM=N for some"),
            (&["y=4"], "the dimensions are x, t"),
            (&["t=4", "t=5"], "named twice"),
        ] {
            assert!(of(list).unwrap_err().contains(why), "{list:?}");
        }
    }
}
