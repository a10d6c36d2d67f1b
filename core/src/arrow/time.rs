//! Units of dates and times, and conversion between them.
//!
//! Arrow counts dates in days (`Date32`), and timestamps and durations in seconds or finer units. A coarser TileDB unit
//! is converted to the next finer unit of Arrow. Arrow has no unit for picoseconds and finer.

use arrow_schema::{DataType, TimeUnit};

use crate::calendar;
use crate::datatype::Datatype;

/// Not-a-time, numpy's NaT. It is null in Arrow.
pub(super) const NOT_A_TIME: i64 = i64::MIN;

/// The Arrow type for dates or times of a unit; `None` if no unit of Arrow is fine enough.
pub(super) const fn arrow_type(datatype: Datatype) -> Option<DataType> {
    use Datatype as T;
    Some(match datatype {
        T::DatetimeYear | T::DatetimeMonth | T::DatetimeWeek | T::DatetimeDay => DataType::Date32,
        T::DatetimeHr | T::DatetimeMin | T::DatetimeSec => DataType::Timestamp(TimeUnit::Second, None),
        T::DatetimeMs => DataType::Timestamp(TimeUnit::Millisecond, None),
        T::DatetimeUs => DataType::Timestamp(TimeUnit::Microsecond, None),
        T::DatetimeNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
        T::TimeHr | T::TimeMin | T::TimeSec => DataType::Duration(TimeUnit::Second),
        T::TimeMs => DataType::Duration(TimeUnit::Millisecond),
        T::TimeUs => DataType::Duration(TimeUnit::Microsecond),
        T::TimeNs => DataType::Duration(TimeUnit::Nanosecond),
        _ => return None,
    })
}

/// The datatype with the same unit as an Arrow date or time type; `None` for other types.
pub(super) const fn datatype(t: &DataType) -> Option<Datatype> {
    Some(match t {
        DataType::Date32 => Datatype::DatetimeDay,
        DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => Datatype::DatetimeMs,
        DataType::Timestamp(TimeUnit::Second, _) => Datatype::DatetimeSec,
        DataType::Timestamp(TimeUnit::Microsecond, _) => Datatype::DatetimeUs,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Datatype::DatetimeNs,
        DataType::Duration(unit) | DataType::Time32(unit) | DataType::Time64(unit) => match unit {
            TimeUnit::Second => Datatype::TimeSec,
            TimeUnit::Millisecond => Datatype::TimeMs,
            TimeUnit::Microsecond => Datatype::TimeUs,
            TimeUnit::Nanosecond => Datatype::TimeNs,
        },
        _ => return None,
    })
}

/// Whether Arrow represents the unit of a datatype in a finer unit, which has a smaller range.
pub(super) fn is_coarse(datatype: Datatype) -> bool {
    arrow_type(datatype).is_some_and(|t| t == DataType::Date32 || self::datatype(&t) != Some(datatype))
}

/// Converts `value` from the unit of `from` to the unit of `to`; `None` if the result is not a 64-bit integer. A year,
/// month, week or day is converted as its first moment.
pub(super) fn convert(value: i64, from: Datatype, to: Datatype) -> Option<i64> {
    if from == to || value == NOT_A_TIME {
        return Some(value);
    }
    let (ticks, unit) = match calendar::first_day(value, from) {
        Some(day) => (day, Datatype::DatetimeDay),
        None => (i128::from(value), from),
    };
    match tick(to) {
        Some(to) => rescale(ticks, tick(unit)?, to),
        None => calendar::starting_on(rescale(ticks, tick(unit)?, tick(Datatype::DatetimeDay)?)?, to),
    }
}

fn rescale(value: i128, from: i128, to: i128) -> Option<i64> {
    let fine = value.checked_mul(from)?;
    let whole = i64::try_from(fine / to).ok()?;
    (fine % to == 0 && whole != NOT_A_TIME).then_some(whole)
}

/// Attoseconds per tick; `None` for calendar units and for other datatypes.
const fn tick(datatype: Datatype) -> Option<i128> {
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
