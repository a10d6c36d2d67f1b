//! Reports errors: one line on standard error, and the exit code.

use std::io;
use std::process::ExitCode;

use crate::{show, signals};

/// An error in the command line: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error about the value of `option`.
pub(crate) fn usage(option: &str, why: impl std::fmt::Display) -> anyhow::Error {
    Usage(format!("{option}: {why}")).into()
}

/// Some of the data is damaged; the details were printed before.
#[derive(Debug)]
pub(crate) struct Reported(pub(crate) String);

impl std::fmt::Display for Reported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Reported {}

/// Prints the error and chooses the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        // The reader of the output has closed the pipe, as `head` does.
        return ExitCode::SUCCESS;
    }
    signals::clear_line();
    show::complaint(format_args!("hyperslab: {}", one_line(&sentence(error))));
    if error.chain().any(|c| c.is::<Usage>()) {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

/// Prints clap's error in one line, and help and version unchanged.
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    if error.kind() == clap::error::ErrorKind::InvalidUtf8 {
        show::complaint("hyperslab: an argument is not UTF-8; rename the file, or use a link with a UTF-8 name");
        return ExitCode::from(2);
    }
    let text = error.render().to_string();
    let (message, usage) = text.split_once("Usage:").unwrap_or((&text, ""));
    let usage = usage.lines().next().unwrap_or("").trim();
    // The hint below replaces that of clap.
    let message = message.split("For more information").next().unwrap_or(message);
    let message = one_line(message.trim_start_matches("error:"));
    let hint = if usage.is_empty() {
        "try --help".to_owned()
    } else {
        format!("usage: {usage}")
    };
    show::complaint(format_args!("hyperslab: {message} ({hint})"));
    ExitCode::from(2)
}

/// Joins the chain of causes to one sentence. Omits causes that the previous error includes, and the empty paths of
/// errors about the root of a store.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        let text = text.strip_prefix(": ").unwrap_or(&text);
        if !parts.last().is_some_and(|before| before.ends_with(text)) {
            parts.push(text.to_owned());
        }
    }
    if error.chain().any(wants_key) {
        parts.push("give the key with --key-file FILE".to_owned());
    }
    let remedy = error.chain().find_map(remedy);
    parts.join(": ") + &remedy.map_or_else(String::new, |what| format!("; {what}"))
}

/// Advice for errors of the operating system.
fn remedy(cause: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    Some(match cause.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "free some space, or use another disk"
        }
        io::ErrorKind::PermissionDenied => "change the permissions, or choose another folder",
        io::ErrorKind::ReadOnlyFilesystem => "choose a folder on a writable file system",
        io::ErrorKind::InvalidFilename => "choose a shorter name",
        _ => return None,
    })
}

fn wants_key(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref().is_some_and(hyperslab::Error::wants_key)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|c| {
        c.downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}
