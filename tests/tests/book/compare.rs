//! Compares the output of commands with the output that a page shows.

/// Whether `shown` describes `actual`. In `shown`, a line `…` stands for any lines, and `…` within a line for any text.
/// Spaces at the ends of lines do not count.
pub(crate) fn matches(shown: &str, actual: &str) -> bool {
    let lines = |text: &str| {
        text.trim_end()
            .lines()
            .map(|l| l.trim_end().to_owned())
            .collect::<Vec<_>>()
    };
    lines_match(&lines(shown), &lines(actual))
}

fn lines_match(shown: &[String], actual: &[String]) -> bool {
    match shown.split_first() {
        None => actual.is_empty(),
        Some((line, rest)) if line.trim() == "…" => (0..=actual.len()).any(|skip| lines_match(rest, &actual[skip..])),
        Some((line, rest)) => actual
            .split_first()
            .is_some_and(|(first, others)| line_matches(line, first) && lines_match(rest, others)),
    }
}

fn line_matches(shown: &str, actual: &str) -> bool {
    match shown.split_once('…') {
        None => shown == actual,
        Some((start, rest)) => actual.strip_prefix(start).is_some_and(|tail| {
            let mut ends = tail.char_indices().map(|(i, _)| i).chain([tail.len()]);
            ends.any(|i| line_matches(rest, &tail[i..]))
        }),
    }
}

/// The text with `…` in place of identifiers, which are 32 hexadecimal digits, and of temporary folders.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::new();
    let is_id = |word: &str| word.len() == 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        match is_id(word) {
            true => out.extend(["…", &part[word.len()..]]),
            false => out.push_str(part),
        }
    }
    let folder = std::env::temp_dir().join(".tmp").to_string_lossy().into_owned();
    while let Some(start) = out.find(&folder) {
        let rest = &out[start + folder.len()..];
        let name = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        out.replace_range(start..start + folder.len() + name, "…");
    }
    out
}

#[test]
fn identifiers_and_temporary_folders_are_masked() {
    let folder = std::env::temp_dir();
    let text = format!(
        "__1_2_0123456789abcdef0123456789abcdef_22.wrt in {}/.tmpAb1/x, or y",
        folder.display()
    );
    assert_eq!(masked(&text), "__1_2_…_22.wrt in …/x, or y");
}

#[test]
fn dots_stand_for_any_text() {
    assert!(matches("a\nb", "a  \nb\n"));
    assert!(matches("a …, b … c", "a 12, b x, b y c"));
    assert!(matches("a\n…\nb", "a\n1\n2\nb"));
    assert!(matches("a\n…", "a"));
    assert!(!matches("a\n…\nb", "a\n1\n2"));
    assert!(!matches("a", "a\nb"));
    assert!(!matches("a … c", "a b d"));
}
