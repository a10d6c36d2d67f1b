//! Messages about cells that differ from the rest of their column.

use anyhow::{Error, Result, anyhow, bail};

use crate::input::{Guess, Kind, Named, Outlier, Values};
use crate::show;

/// The error for a coordinate that is unlike the others.
pub(super) fn refusal(name: &str, odd: &Outlier) -> Error {
    anyhow!("{}; {}", odd_cell(name, odd), odd_remedy(name, odd))
}

/// Warns about numbers that lose leading zeros, which codes often have, and about times that lose their UTC offsets.
pub(super) fn warn_of_losses(name: &str, column: &Named) {
    let Values::Seen(guess) = &column.values else { return };
    if let Some(Outlier { line, text, .. }) = guess.zero_led() {
        show::warning(format_args!(
            "line {line}, column '{name}': '{text}' is imported as a number, without its \
             leading zeros; keep them with --types {name}=string_ascii"
        ));
    }
    if let Some(Outlier { line, text, .. }) = guess.coarse() {
        show::warning(format_args!(
            "line {line}, column '{name}': float32 does not keep all digits of '{text}'; keep them \
             with --types {name}=float64"
        ));
    }
    if let Some((Outlier { line, text, .. }, unnamed)) = guess.offset() {
        let others = if unnamed {
            ", and times without an offset count as UTC"
        } else {
            ""
        };
        show::warning(format_args!(
            "line {line}, column '{name}': '{text}' is imported in UTC, without its offset{others}; \
             confirm this with --types {name}={}, or keep the text with --types {name}=string_ascii",
            guess.datatype()
        ));
    }
}

/// Describes the cell that makes a column text, and the other cells.
fn odd_cell(name: &str, odd: &Outlier) -> String {
    let Outlier {
        line,
        text,
        others,
        filled,
        kind,
    } = odd;
    match kind {
        Kind::DecimalCommas => format!("line {line}, column '{name}': '{text}' has a decimal comma"),
        Kind::Numbers => {
            format!("line {line}, column '{name}': '{text}' is not a number, but {others} of {filled} cells are")
        }
        Kind::Dates => {
            format!("line {line}, column '{name}': '{text}' is not a date, but {others} of {filled} cells are")
        }
        Kind::Whole => {
            format!("line {line}, column '{name}': no integer type holds '{text}' together with the other numbers")
        }
        Kind::DateOrder => {
            format!("line {line}, column '{name}': the first number of '{text}' may be the day or the month")
        }
        Kind::Zones => format!(
            "line {line}, column '{name}': '{text}' has text after its time that is neither Z nor an offset such as \
             +02:00"
        ),
        Kind::Thousands => {
            format!("line {line}, column '{name}': '{text}' has a comma, which may separate thousands or a fraction")
        }
        Kind::Durations => format!(
            "line {line}, column '{name}': '{text}' is not a number, but {others} of {filled} cells are, which may be \
             durations"
        ),
        Kind::Fine => format!(
            "line {line}, column '{name}': no datatype holds '{text}' together with the other dates; nanoseconds reach \
             from 1677 to 2262"
        ),
        Kind::Floats | Kind::PlainNumbers | Kind::Offsets | Kind::Coarse => {
            format!("line {line}, column '{name}': float64, the type of the other numbers, would round '{text}'")
        }
    }
}

/// Advice for such a cell.
fn odd_remedy(name: &str, odd: &Outlier) -> String {
    let text = format!("or keep the column as text with --types {name}=string_ascii");
    match odd.kind {
        Kind::DecimalCommas => format!("read them with --decimal comma, {text}"),
        Kind::DateOrder => format!("say which with --date-order dmy or mdy, {text}"),
        Kind::Numbers | Kind::Dates => format!("correct or remove the line, {text}"),
        Kind::Zones => format!("end the times in Z or an offset, {text}"),
        Kind::Whole => format!("accept the rounding with --types {name}=float64, {text}"),
        Kind::Thousands => format!("write 1,234 as 1234, or read it as 1.234 with --decimal comma, {text}"),
        Kind::Durations => format!("give their unit, as in --types {name}=time_ms, {text}"),
        Kind::Fine => format!("shorten the fractions of seconds, {text}"),
        Kind::Floats | Kind::PlainNumbers | Kind::Offsets | Kind::Coarse => {
            format!("accept the rounding with --types {name}=float64, {text}")
        }
    }
}

/// Returns an error for numbers with commas. Warns if a few cells make a column text.
pub(super) fn check_text(name: &str, guess: &Guess) -> Result<()> {
    let Some(odd) = guess.outlier() else { return Ok(()) };
    let remedy = match odd.kind {
        Kind::DecimalCommas => Some("read them with --decimal comma"),
        Kind::Thousands => Some("write 1,234 as 1234, or read it as 1.234 with --decimal comma"),
        _ => None,
    };
    if let Some(remedy) = remedy {
        bail!(
            "{}; {remedy}, or keep the column as text with --types {name}=string_utf8",
            odd_cell(name, &odd)
        );
    }
    let otherwise = match odd.kind {
        Kind::DateOrder => "say which with --date-order dmy or mdy".to_owned(),
        Kind::Zones => "end the times in Z or an offset".to_owned(),
        Kind::Durations => format!("give their unit, as in --types {name}=time_ms"),
        Kind::Fine => "shorten the fractions of seconds".to_owned(),
        Kind::Floats | Kind::PlainNumbers | Kind::Whole => format!("accept the rounding with --types {name}=float64"),
        _ => "clear such cells to get a column with nulls".to_owned(),
    };
    show::warning(format_args!(
        "{}; the column is imported as text: {otherwise}, or confirm that it is text with --types \
         {name}=string_utf8",
        odd_cell(name, &odd)
    ));
    Ok(())
}
