//! The names of the files in `fragments/`.

use crate::array::Fragment;
use crate::calendar;
use crate::datatype::Datatype;

/// The file names that lead to a fragment: the listed name, and the name of the fragment with `.json`.
pub(super) fn fragment_files(f: &Fragment) -> [String; 2] {
    [fragment_file(f), format!("{}.json", f.name)]
}

/// The listed name of a fragment's file: the time or period of its writes, and the random part of the fragment's name.
pub(super) fn fragment_file(f: &Fragment) -> String {
    let time = |ms: u64| match i64::try_from(ms) {
        Ok(ms) => calendar::format(ms, Datatype::DatetimeMs) + "Z",
        Err(_) => format!("{ms}ms"),
    };
    let period = if f.start_ms == f.end_ms {
        time(f.end_ms)
    } else {
        format!("{}..{}", time(f.start_ms), time(f.end_ms))
    };
    let random = f.name.split('_').max_by_key(|part| part.len()).unwrap_or_default();
    format!("{period}_{random}.json")
}
