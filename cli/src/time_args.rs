//! Times on the command line, as [`calendar::milliseconds`] reads them.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use hyperslab::internals::calendar;
use hyperslab::{Datatype, Window};

/// The time of a write: the first millisecond of the period that the text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Milliseconds since 1970.
    pub(crate) ms: u64,
}

/// `T`: everything until the end of that period. `T0..T1`: from the start of one to the end of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Window);

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "now" {
            let ms = or_now(None).map_err(|e| e.to_string())?;
            return Ok(Self { ms });
        }
        Ok(Self {
            ms: calendar::milliseconds(text)?.0,
        })
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((from, to)) = text.split_once("..") else {
            return Ok(Self(Window::at(calendar::milliseconds(text)?.1)));
        };
        let start_ms = if from.is_empty() {
            0
        } else {
            calendar::milliseconds(from)?.0
        };
        let end_ms = if to.is_empty() {
            u64::MAX
        } else {
            calendar::milliseconds(to)?.1
        };
        if start_ms > end_ms {
            return Err(format!("'{text}' ends before it starts"));
        }
        Ok(Self(Window { start_ms, end_ms }))
    }
}

/// The window of `--at`, or everything until now, as in libtiledb.
pub(crate) fn window(at: Option<Span>) -> Result<Window> {
    at.map_or_else(|| or_now(None).map(Window::at), |s| Ok(s.0))
}

/// The window of `--at`, or all of time.
pub(crate) fn all(at: Option<Span>) -> Window {
    at.map_or(Window::ALL, |s| s.0)
}

/// The milliseconds of `--timestamp`, or of the clock.
pub(crate) fn or_now(moment: Option<Moment>) -> Result<u64> {
    if let Some(moment) = moment {
        return Ok(moment.ms);
    }
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .context("the system clock is before 1970; correct it, or give a time")?;
    Ok(u64::try_from(since.as_millis())?)
}

/// The milliseconds of `--timestamp`, or of the clock. The latter are at least those that `after` returns for the
/// clock, so that the change follows earlier ones. Does not wait for the clock to reach them, which suits a dry run.
pub(crate) async fn planned(
    moment: Option<Moment>,
    after: impl AsyncFnOnce(u64) -> hyperslab::Result<u64>,
) -> Result<u64> {
    match moment {
        Some(moment) => Ok(moment.ms),
        None => Ok(after(or_now(None)?).await?),
    }
}

/// The time of [`planned`]. Returns once the clock has reached it, so that readers see the change.
pub(crate) async fn of_change(
    moment: Option<Moment>,
    after: impl AsyncFnOnce(u64) -> hyperslab::Result<u64>,
) -> Result<u64> {
    let time = planned(moment, after).await?;
    if moment.is_none() {
        std::thread::sleep(Duration::from_millis(time.saturating_sub(or_now(None)?)));
    }
    Ok(time)
}

/// Milliseconds since 1970 as ISO 8601.
pub(crate) fn iso(ms: u64) -> String {
    i64::try_from(ms).map_or_else(
        |_| "the end of time".to_owned(),
        |ms| format!("{}Z", calendar::format(ms, Datatype::DatetimeMs)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn span(text: &str, expect: Result<(u64, u64), &str>) {
        let got = text.parse::<Span>().map(|s| (s.0.start_ms, s.0.end_ms));
        match expect {
            Ok(expect) => assert_eq!(got, Ok(expect)),
            Err(part) => assert!(got.clone().is_err_and(|e| e.contains(part)), "{got:?}"),
        }
    }

    #[test]
    fn moments_are_milliseconds_or_iso() {
        span("1500ms", Ok((0, 1500)));
        span("1000000000000", Ok((0, 1_000_000_000_000)));
        span("1970-01-02T00:00:00.000Z", Ok((0, 86_400_000)));
        span("1970-01-02T02:00:00.250+02:00", Ok((0, 86_400_250)));
    }

    #[test]
    fn a_period_includes_its_end() {
        span("1970-01-01..1970-01-02", Ok((0, 2 * 86_400_000 - 1)));
        span("1970-01-02T00:00:00Z", Ok((0, 86_400_999)));
        span("15..", Ok((15, u64::MAX)));
        span("..15", Ok((0, 15)));
    }

    #[test]
    fn invalid_times_say_what_to_write() {
        span("yesterday", Err("or milliseconds since 1970 as a number"));
        span("2..1", Err("ends before"));
        span("1969-12-31", Err("before 1970"));
        span("-5", Err("'-5' is before 1970; times start at 0"));
        assert_eq!("1970-01-02".parse(), Ok(Moment { ms: 86_400_000 }));
    }
}
