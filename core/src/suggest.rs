//! The error for a name that does not exist: the closest existing name, and a list of the existing ones.

use std::fmt::Write;

/// The most names that a message lists.
const LISTED_MAX: usize = 20;

/// Says that there is no `kind` (such as "attribute") called `name`, suggests the closest of the `known` names, and
/// lists them.
///
/// ```
/// let why = hyperslab::internals::suggest::unknown("attribute", "tmep", &["temp", "salinity"]);
/// assert_eq!(why, "there is no attribute 'tmep'; did you mean 'temp'? The attributes are temp, salinity");
/// ```
pub fn unknown(kind: &str, name: &str, known: &[impl AsRef<str>]) -> String {
    let mut out = format!("there is no {kind} '{name}'");
    let names = || known.iter().map(AsRef::as_ref);
    if known.is_empty() {
        out.push_str("; the array has none");
        return out;
    }
    let the = match closest(name, names()) {
        Some(close) => {
            let _ = write!(out, "; did you mean '{close}'?");
            "The"
        }
        None => {
            out.push(';');
            "the"
        }
    };
    let listed: Vec<&str> = names().take(LISTED_MAX).collect();
    let (verb, end) = if known.len() == 1 { ("is", "") } else { ("are", "s") };
    let _ = write!(out, " {the} {kind}{end} {verb} {}", listed.join(", "));
    if known.len() > listed.len() {
        let _ = write!(out, " and {} more", known.len() - listed.len());
    }
    out
}

/// The name that takes the fewest edits, if these are at most a third of its characters. Case does not count.
pub(crate) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let edits = |k: &str| strsim::osa_distance(&wanted, &k.to_lowercase());
    // A name that is long beyond all others is no misspelling, and comparing it would take time.
    let near = known.filter(|k| k.len().abs_diff(name.len()) <= k.len() / 3 && k.len() <= 256);
    let (edits, close) = near.map(|k| (edits(k), k)).min_by_key(|(edits, _)| *edits)?;
    (edits * 3 <= close.chars().count()).then_some(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_suggested_and_others_are_not() {
        let close = |name| closest(name, ["temp", "lat", "salinity"].into_iter());
        assert_eq!(close("Temp"), Some("temp"));
        assert_eq!(close("lta"), Some("lat"));
        assert_eq!(close("salinty"), Some("salinity"));
        assert_eq!(close("depth"), None);
        assert_eq!(close(""), None);
        assert_eq!(closest("x", ["d"].into_iter()), None);
    }

    #[test]
    fn long_lists_are_cut_and_empty_ones_named() {
        let many: Vec<String> = (0..30).map(|i| format!("band_{i}")).collect();
        let why = unknown("attribute", "x", &many);
        assert!(why.ends_with("band_18, band_19 and 10 more"), "{why}");
        let why = unknown("dimension label", "x", &[] as &[&str]);
        assert_eq!(why, "there is no dimension label 'x'; the array has none");
    }
}
