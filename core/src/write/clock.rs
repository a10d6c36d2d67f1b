//! Timestamps and names that sort after existing ones.

use crate::calendar;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::format::name::{self, TimestampedName};
use crate::identity::Ids;
use crate::limits::WRITE_LEAD_MS;

/// Returns the timestamp for a write at `now_ms`: `now_ms`, or 1 ms after the latest timestamp in `names` if later.
///
/// # Errors
/// [`Error::InvalidArgument`] if the latest timestamp is [`WRITE_LEAD_MS`] or more in the future.
pub(crate) fn after(names: &[String], now_ms: u64) -> Result<u64> {
    let timed = names
        .iter()
        .filter_map(|n| Some((TimestampedName::parse(n).ok()?.end_ms, n)));
    let Some((latest_ms, name)) = timed.max() else {
        return Ok(now_ms);
    };
    match latest_ms.checked_sub(now_ms) {
        None => Ok(now_ms),
        Some(lead) if lead < WRITE_LEAD_MS => Ok(latest_ms + 1),
        Some(_) => Err(Error::invalid(format!(
            "{name} has the timestamp {}, but this machine's clock says {}, so this write would sort before it. Correct the \
             clock, or pass a time: `--timestamp now` (`at: Date.now()` in JavaScript) writes before the existing data, a \
             time after {latest_ms} writes after it",
            shown(latest_ms),
            shown(now_ms)
        ))),
    }
}

/// Makes `ids` draw ids that sort after those in `names` with the timestamp `time_ms`.
pub(crate) fn rise_above(ids: &mut Ids, names: &[String], time_ms: u64) -> Result<()> {
    let same = |n: &&String| TimestampedName::parse(n).is_ok_and(|n| (n.start_ms, n.end_ms) == (time_ms, time_ms));
    match names.iter().filter(same).filter_map(|n| name::uuid(n)).max() {
        Some(last) => ids.rise_above(last),
        None => Ok(()),
    }
}

fn shown(ms: u64) -> String {
    match i64::try_from(ms) {
        Ok(time) => format!("{}Z", calendar::format(time, Datatype::DatetimeMs)),
        Err(_) => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(times: &[(u64, u64)]) -> Vec<String> {
        let name = |(start, end): &(u64, u64)| format!("__{start}_{end}_0123456789abcdef0123456789abcdef_22.wrt");
        times.iter().map(name).chain(["other".to_owned()]).collect()
    }

    #[test]
    fn a_write_comes_after_what_is_there_or_is_refused() {
        assert_eq!(after(&names(&[]), 7).unwrap(), 7);
        assert_eq!(after(&names(&[(1, 6), (2, 3)]), 7).unwrap(), 7);
        assert_eq!(after(&names(&[(1, 7), (2, 3)]), 7).unwrap(), 8);
        assert_eq!(after(&names(&[(1, 4999)]), 0).unwrap(), 5000);
        let error = after(&names(&[(1, 86_400_000)]), 1000).unwrap_err().to_string();
        let parts = [
            "__1_86400000_",
            "1970-01-02T00:00:00",
            "1970-01-01T00:00:01",
            "--timestamp now",
        ];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
