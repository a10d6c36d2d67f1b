//! UTC offsets and other text after the time of a date.

use hyperslab::Datatype;
use hyperslab::internals::calendar;

/// The zone of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// None, so the time counts as UTC. This includes dates without a time.
    Unnamed,
    /// `Z`, or an offset of zero.
    Utc,
    /// Another offset, which is lost in UTC.
    Offset,
}

/// The zone of a text that [`calendar::parse`] reads.
pub(super) fn of_date(text: &str) -> Zone {
    let text = text.trim();
    let time = text.find(['T', 't', ' ']).and_then(|at| text.get(at..)).unwrap_or("");
    match time.rfind(['+', '-']).and_then(|at| time.get(at..)) {
        Some(offset) if offset.contains(|c: char| matches!(c, '1'..='9')) => Zone::Offset,
        None if !time.ends_with(['Z', 'z']) => Zone::Unnamed,
        _ => Zone::Utc,
    }
}

/// Whether a text is a date and a time, followed by text that [`calendar::parse`] does not read: ` CET`,
/// `[Europe/Berlin]` or ` PM`.
pub(super) fn has_other_zone(text: &str) -> bool {
    let is_time = |text: &str| text.contains(':') && calendar::parse(text, Datatype::DatetimeMs).is_ok();
    let text = text.trim();
    let letters = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let word = text.rsplit_once(' ').map_or("", |(time, _)| time);
    is_time(letters) || is_time(word)
}
