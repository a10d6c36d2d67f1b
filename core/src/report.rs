//! Errors as programs print them: what failed, why, and what to do.
//!
//! A message of this crate has the form `what: why; what to do`. A [`Report`] takes the messages of an error and of its
//! causes apart and prints each part on a line of its own.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use crate::error::Error;
use crate::printable::printable;
use crate::vfs;

/// An error in three parts. Display prints them as lines, without secrets and control characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The operation that failed.
    pub what: String,
    /// The reason. Empty if `what` says it.
    pub why: String,
    /// Advice for the user, or empty.
    pub remedy: String,
}

/// Bold red, as compilers print it.
const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

impl Report {
    /// The report of an error and its causes. Causes that the message before them includes are left out.
    pub fn new(error: &(dyn StdError + 'static)) -> Self {
        let causes = || std::iter::successors(Some(error), |&e| e.source());
        let mut messages: Vec<String> = Vec::new();
        for cause in causes() {
            let text = one_line(&cause.to_string());
            // Errors about the root of a store have an empty path.
            let text = text.strip_prefix(": ").unwrap_or(&text);
            if !messages.last().is_some_and(|before| before.ends_with(text)) {
                messages.push(text.to_owned());
            }
        }
        let mut report = Self::from_messages(&messages);
        if causes().any(|e| e.downcast_ref().is_some_and(Error::wants_key)) {
            report.advise("give the key with --key-file FILE");
        }
        let kind = |e: &(dyn StdError + 'static)| Some(e.downcast_ref::<io::Error>()?.kind());
        let kind = causes().find_map(kind);
        if let Some(remedy) = kind.and_then(system_remedy) {
            report.advise(remedy);
        }
        if report.remedy.is_empty() && kind == Some(io::ErrorKind::NotFound) {
            report.advise("check the path");
        }
        report
    }

    fn from_messages(messages: &[String]) -> Self {
        let mut report = Self::default();
        let mut reasons = Vec::new();
        for message in messages {
            let (reason, remedy) = split_remedy(message);
            reasons.push(reason);
            report.advise(remedy);
        }
        let all = reasons.join(": ");
        let first = reasons.first().copied().unwrap_or_default();
        // A failed action, or a wrong argument, is followed by its reason.
        let names_action = ["cannot ", "invalid value "]
            .iter()
            .any(|start| first.starts_with(start));
        let end = match first.find(": ") {
            Some(colon) if names_action => colon,
            _ => first.len(),
        };
        report.what = all.get(..end).unwrap_or(&all).to_owned();
        report.why = all.get(end + 2..).unwrap_or_default().to_owned();
        report
    }

    /// Adds advice.
    pub fn advise(&mut self, remedy: &str) {
        if self.remedy.is_empty() {
            remedy.clone_into(&mut self.remedy);
        } else if !remedy.is_empty() && !self.remedy.contains(remedy) {
            self.remedy = format!("{}; {remedy}", self.remedy);
        }
    }

    /// The report in one line: `what: why; what to do`.
    pub fn sentence(&self) -> String {
        let mut line = self.what.clone();
        for (sign, part) in [(": ", &self.why), ("; ", &self.remedy)] {
            if !part.is_empty() {
                line = format!("{line}{sign}{part}");
            }
        }
        line
    }

    /// The lines of the report with coloured labels, for a terminal.
    pub fn coloured(&self) -> String {
        self.lines(|label, colour| format!("{colour}{label}:{PLAIN}"))
    }

    fn lines(&self, label: impl Fn(&str, &str) -> String) -> String {
        let mut lines = format!("{} {}", label("error", RED), safe(&self.what));
        for (name, part) in [("why", &self.why), ("try", &self.remedy)] {
            if !part.is_empty() {
                lines.push_str(&format!("\n  {} {}", label(name, BOLD), safe(part)));
            }
        }
        lines
    }
}

impl From<&str> for Report {
    /// Takes a message of the form `what: why; what to do` apart.
    fn from(message: &str) -> Self {
        Self::from_messages(&[one_line(message)])
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines(|label, _| format!("{label}:")))
    }
}

/// A message that is no error, such as `warning: …` or `note: …`, with a coloured label for a terminal.
pub fn coloured_message(label: &str, text: &str) -> String {
    format!("{YELLOW}{label}:{PLAIN} {}", safe(&one_line(text)))
}

fn safe(text: &str) -> String {
    printable(&vfs::redact(text), &[]).into_owned()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Splits a message at the first semicolon outside of quotes and parentheses: what follows is advice.
fn split_remedy(message: &str) -> (&str, &str) {
    let (mut depth, mut quote) = (0_usize, None);
    let mut first = None;
    for (at, c) in message.char_indices() {
        match c {
            '"' | '`' if quote.is_none() => quote = Some(c),
            '"' | '`' if quote == Some(c) => quote = None,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ';' if message.get(at..).is_some_and(|rest| rest.starts_with("; ")) => {
                first = first.or(Some(at));
                if depth == 0 && quote.is_none() {
                    return cut(message, at);
                }
            }
            _ => {}
        }
    }
    // A name may have a single quote or parenthesis.
    match first {
        Some(at) if depth > 0 || quote.is_some() => cut(message, at),
        _ => (message, ""),
    }
}

fn cut(message: &str, at: usize) -> (&str, &str) {
    let (reason, remedy) = message.split_at_checked(at).unwrap_or((message, ""));
    (reason, remedy.trim_start_matches("; "))
}

/// Advice for errors of the operating system.
fn system_remedy(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "free some space, or use another disk"
        }
        io::ErrorKind::PermissionDenied => "change the permissions, or choose another folder",
        io::ErrorKind::ReadOnlyFilesystem => "choose a folder on a writable file system",
        io::ErrorKind::InvalidFilename => "choose a shorter name",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Malformed;

    fn parts(text: &str) -> (String, String, String) {
        let report = Report::from(text);
        assert_eq!(report.sentence(), text);
        (report.what, report.why, report.remedy)
    }

    #[test]
    fn messages_are_taken_apart() {
        let told = |what: &str, why: &str, remedy: &str| (what.to_owned(), why.to_owned(), remedy.to_owned());
        assert_eq!(
            parts("cannot open a: b: c; do d; or e"),
            told("cannot open a", "b: c", "do d; or e")
        );
        assert_eq!(parts("a: exists; remove it"), told("a: exists", "", "remove it"));
        assert_eq!(
            parts("a (b; c) `d; e`; f"),
            told("a (b; c) `d; e`", "", "f"),
            "quotes and parentheses"
        );
        assert_eq!(parts("the name a(b; rename it"), told("the name a(b", "", "rename it"));
        assert_eq!(parts("cancelled"), told("cancelled", "", ""));
    }

    #[test]
    fn causes_give_reasons_and_advice() {
        let full = io::Error::from(io::ErrorKind::PermissionDenied);
        let report = Report::new(&Error::io("a/b", full));
        assert_eq!(report.what, "a/b: permission denied");
        assert_eq!(report.remedy, "change the permissions, or choose another folder");
        let report = Report::new(&Error::Key {
            path: "a".into(),
            why: "it is encrypted".into(),
            wanted: true,
        });
        assert_eq!(report.remedy, "give the key with --key-file FILE");
    }

    #[test]
    fn every_kind_of_error_has_a_report() {
        let path = || "a/f".to_owned();
        let malformed = Malformed::new("footer", 8, "it ends early");
        let missing = io::Error::from(io::ErrorKind::NotFound);
        for (error, expected) in [
            (
                Error::not_found("a/__schema/s", ""),
                "a/__schema/s: not found: the array or group refers to it; open it again, and if that fails, restore the \
                 file from a backup",
            ),
            (
                Error::AlreadyExists { path: path() },
                "a/f: already exists; choose another name or remove it first",
            ),
            (
                Error::Corrupt {
                    path: path(),
                    malformed,
                },
                "a/f: corrupt footer at byte 8: it ends early; restore the file from a backup",
            ),
            (
                Error::UnsupportedVersion {
                    path: path(),
                    found: 99,
                    supported: 22,
                },
                "a/f: format version 99 is newer than 22, the newest this release reads; upgrade Hyperslab",
            ),
            (
                Error::Unsupported("a/f: writing; write elsewhere".into()),
                "not supported: a/f: writing; write elsewhere",
            ),
            (Error::invalid("no change; name one"), "no change; name one"),
            (
                Error::Cell {
                    cell: 3,
                    why: "x = 9 is outside".into(),
                },
                "cell 3, counted from 0: x = 9 is outside",
            ),
            (
                Error::LimitExceeded {
                    what: "bytes of a tile".into(),
                    found: 9,
                    limit: 8,
                },
                "bytes of a tile: 9 exceeds the limit of 8",
            ),
            (
                Error::NoMemory {
                    what: "a tile".into(),
                    bytes: 9,
                },
                "a tile: cannot allocate 9 bytes; select fewer cells, or read in batches",
            ),
            (Error::Cancelled, "cancelled"),
            (Error::io("a/f", missing), "a/f: entity not found; check the path"),
        ] {
            assert_eq!(Report::new(&error).sentence(), expected);
        }
    }

    #[test]
    fn reports_hide_secrets_and_terminal_controls() {
        let report = Report::from("cannot open https://me:secret@host/a: \u{1b}[2J");
        let text = report.coloured();
        assert!(!text.contains("secret") && text.contains("\\u001b[2J"), "{text:?}");
        assert!(text.starts_with("\u{1b}[1;31merror:\u{1b}[0m cannot open"), "{text:?}");
    }
}
