//! Units of dates and times.

use arrow_schema::TimeUnit;

use crate::datatype::Datatype;

/// Points in time or lengths of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Date,
    Time,
}

/// The kind and the Arrow unit of a datatype; `None` where Arrow lacks the unit.
pub(super) const fn arrow_unit(datatype: Datatype) -> Option<(Kind, TimeUnit)> {
    Some(match datatype {
        Datatype::DatetimeSec => (Kind::Date, TimeUnit::Second),
        Datatype::DatetimeMs => (Kind::Date, TimeUnit::Millisecond),
        Datatype::DatetimeUs => (Kind::Date, TimeUnit::Microsecond),
        Datatype::DatetimeNs => (Kind::Date, TimeUnit::Nanosecond),
        Datatype::TimeSec => (Kind::Time, TimeUnit::Second),
        Datatype::TimeMs => (Kind::Time, TimeUnit::Millisecond),
        Datatype::TimeUs => (Kind::Time, TimeUnit::Microsecond),
        Datatype::TimeNs => (Kind::Time, TimeUnit::Nanosecond),
        _ => return None,
    })
}

/// The datatype of a kind and an Arrow unit.
pub(super) const fn datatype(kind: Kind, unit: TimeUnit) -> Datatype {
    match (kind, unit) {
        (Kind::Date, TimeUnit::Second) => Datatype::DatetimeSec,
        (Kind::Date, TimeUnit::Millisecond) => Datatype::DatetimeMs,
        (Kind::Date, TimeUnit::Microsecond) => Datatype::DatetimeUs,
        (Kind::Date, TimeUnit::Nanosecond) => Datatype::DatetimeNs,
        (Kind::Time, TimeUnit::Second) => Datatype::TimeSec,
        (Kind::Time, TimeUnit::Millisecond) => Datatype::TimeMs,
        (Kind::Time, TimeUnit::Microsecond) => Datatype::TimeUs,
        (Kind::Time, TimeUnit::Nanosecond) => Datatype::TimeNs,
    }
}

/// Attoseconds of one tick; `None` for calendar units and for what is no date or time.
pub(super) const fn tick(datatype: Datatype) -> Option<i128> {
    const SECOND: i128 = 1_000_000_000_000_000_000;
    Some(match datatype {
        Datatype::DatetimeWeek => 7 * 86_400 * SECOND,
        Datatype::DatetimeDay => 86_400 * SECOND,
        Datatype::DatetimeHr | Datatype::TimeHr => 3_600 * SECOND,
        Datatype::DatetimeMin | Datatype::TimeMin => 60 * SECOND,
        Datatype::DatetimeSec | Datatype::TimeSec => SECOND,
        Datatype::DatetimeMs | Datatype::TimeMs => SECOND / 1_000,
        Datatype::DatetimeUs | Datatype::TimeUs => SECOND / 1_000_000,
        Datatype::DatetimeNs | Datatype::TimeNs => SECOND / 1_000_000_000,
        Datatype::DatetimePs | Datatype::TimePs => SECOND / 1_000_000_000_000,
        Datatype::DatetimeFs | Datatype::TimeFs => 1_000,
        Datatype::DatetimeAs | Datatype::TimeAs => 1,
        _ => return None,
    })
}

/// `value` in ticks of `from`, in ticks of `to`; `None` where that is no whole 64-bit number.
pub(super) fn convert(value: i64, from: i128, to: i128) -> Option<i64> {
    let fine = i128::from(value).checked_mul(from)?;
    if fine % to == 0 {
        i64::try_from(fine / to).ok()
    } else {
        None
    }
}
