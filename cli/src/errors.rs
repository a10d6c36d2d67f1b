//! Reports errors: what failed, why and what to try, on standard error, and the exit code.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use hyperslab::internals::Report;

use crate::{show, signals};

/// An error in the command line: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl Display for Usage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error about the value of `option`.
pub(crate) fn usage(option: &str, why: impl Display) -> anyhow::Error {
    Usage(invalid(option, why)).into()
}

/// The message of an error about the value of `option`.
pub(crate) fn invalid(option: &str, why: impl Display) -> String {
    format!("invalid value for {option}: {why}")
}

/// Some of the data is damaged; the details were printed before.
#[derive(Debug)]
pub(crate) struct Reported(pub(crate) String);

impl Display for Reported {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Reported {}

/// Prints an error. The program continues.
pub(crate) fn print(error: &anyhow::Error) {
    show::styled(Report::new(error.as_ref()).coloured());
}

/// Prints the error that ends the program, and chooses the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        // The reader of the output has closed the pipe, as `head` does.
        return ExitCode::SUCCESS;
    }
    signals::clear_line();
    print(error);
    if error.chain().any(|c| c.is::<Usage>()) {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

/// Prints clap's error in the form of the others, and help and version unchanged.
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    show::styled(of_arguments(error).coloured());
    ExitCode::from(2)
}

/// The report of clap's error: its first paragraph, and its tips or the usage as advice.
fn of_arguments(error: &clap::Error) -> Report {
    if error.kind() == ErrorKind::InvalidUtf8 {
        return Report::from("an argument is not UTF-8; rename the file, or use a link with a UTF-8 name");
    }
    let text = error.render().to_string();
    let (message, usage) = text.split_once("Usage:").unwrap_or((&text, ""));
    let message = message.split("For more information").next().unwrap_or(message);
    let paragraph = message.trim_start_matches("error:").split("\n\n").next();
    let paragraph = paragraph.unwrap_or(message);
    // The advice below lists the possible values.
    let what = paragraph.split("[possible values:").next();
    let mut report = Report::from(what.unwrap_or(paragraph));
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => vec![name.clone()],
        Some(ContextValue::Strings(names)) => names.clone(),
        _ => Vec::new(),
    };
    let suggested = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let suggested = suggested.into_iter().flat_map(named).collect::<Vec<_>>();
    if !suggested.is_empty() {
        report.advise(&format!("did you mean {}?", suggested.join(" or ")));
    }
    let values = named(ContextKind::ValidValue);
    if !values.is_empty() {
        report.advise(&format!("one of {}", values.join(", ")));
    }
    if report.remedy.is_empty() {
        let usage = usage.lines().next().unwrap_or("").trim();
        report.advise(if usage.is_empty() { "hyperslab --help" } else { usage });
    }
    report
}

/// An error in one line.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    Report::new(error.as_ref()).sentence()
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|c| {
        c.downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}
