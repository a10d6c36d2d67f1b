//! File names for names of arrays, attributes and dimensions.

use super::hash::hash;

/// The longest name in bytes that file systems allow.
const NAME_BYTES_MAX: usize = 255;

/// Escapes a name as one component of a path, with percent-encoding. Only `/`, NUL and the names `.` and `..` are
/// escaped. A name that is too long is shortened.
pub(super) fn file_name(name: &str) -> String {
    match name {
        "" => "%".to_owned(),
        "." => "%2E".to_owned(),
        ".." => "%2E.".to_owned(),
        _ => shortened(name.replace('/', "%2F").replace('\0', "%00")),
    }
}

/// The name, or its start and a hash of all of it if it is too long for a file system.
pub(super) fn shortened(name: String) -> String {
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let hash = format!("~{:016x}", hash(&[name.as_bytes()]));
    let start = name.floor_char_boundary(NAME_BYTES_MAX - hash.len());
    format!("{}{hash}", name.get(..start).unwrap_or_default())
}

/// Escapes the names in a folder. If an escaped name equals another name, underscores are appended to it.
pub fn file_names(names: &[&str]) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    let shown = names.iter().map(|&name| {
        let mut shown = file_name(name);
        while shown != name && (names.contains(&shown.as_str()) || taken.contains(&shown)) {
            shown.push('_');
        }
        taken.push(shown.clone());
        shown
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_characters_invalid_in_paths_are_escaped() {
        let names = ["50%", ".hidden", "a/b", "a%2Fb", "", ".", "..", "...", "x\0y", "a%2Fb_"];
        let shown = [
            "50%", ".hidden", "a%2Fb__", "a%2Fb", "%", "%2E", "%2E.", "...", "x%00y", "a%2Fb_",
        ];
        assert_eq!(file_names(&names), shown);
    }

    #[test]
    fn long_names_are_shortened_and_stay_distinct() {
        let (long, fits) = ("ä".repeat(200), "b".repeat(NAME_BYTES_MAX));
        let names = [long.clone() + "1", long.clone() + "2", fits.clone()];
        let shown = file_names(&names.each_ref().map(String::as_str));
        assert!(shown.iter().all(|name| name.len() <= NAME_BYTES_MAX), "{shown:?}");
        assert!(
            shown[0] != shown[1] && shown[0].starts_with("ääää") && shown[2] == fits,
            "{shown:?}"
        );
        // The same in every process, and for each name alone.
        assert_eq!(shown[1], file_name(&names[1]));
    }
}
