//! What is said of cells that differ from the rest of their column.

use anyhow::{Error, Result, anyhow, ensure};

use crate::input::{Guess, Kind, Named, Odd, Values};
use crate::show;

/// The error that a coordinate is unlike the others.
pub(super) fn refusal(name: &str, odd: &Odd) -> Error {
    anyhow!("{}; {}", odd_cell(name, odd), odd_remedy(name, odd))
}

/// Warns of numbers that lose the zeros they begin with, as codes do, and of times that lose their UTC offsets.
pub(super) fn warn_of_losses(name: &str, column: &Named) {
    let Values::Seen(guess) = &column.values else { return };
    if let Some(Odd { line, text, .. }) = guess.zero_led() {
        show::complaint(format_args!(
            "hyperslab: warning: line {line}, column '{name}': '{text}' is imported as a number, without the zeros \
             that it begins with; keep them with --types {name}=string_ascii"
        ));
    }
    if let Some((Odd { line, text, .. }, unnamed)) = guess.offset() {
        let others = if unnamed {
            ", and times without an offset count as UTC"
        } else {
            ""
        };
        show::complaint(format_args!(
            "hyperslab: warning: line {line}, column '{name}': '{text}' is imported in UTC, without its offset{others}; \
             accept that with --types {name}={}, or keep the text with --types {name}=string_ascii",
            guess.datatype()
        ));
    }
}

/// The cell that makes a column text, and what the others are.
fn odd_cell(name: &str, odd: &Odd) -> String {
    let Odd {
        line,
        text,
        others,
        filled,
        kind,
    } = odd;
    match kind {
        Kind::DecimalCommas => format!("line {line}, column '{name}': '{text}' has a decimal comma"),
        Kind::Numbers => {
            format!("line {line}, column '{name}': '{text}' is no number, as {others} of {filled} cells are")
        }
        Kind::Dates => format!("line {line}, column '{name}': '{text}' is no date, as {others} of {filled} cells are"),
        Kind::Whole => {
            format!("line {line}, column '{name}': no integer type holds '{text}' together with the other numbers")
        }
        Kind::Zones => format!(
            "line {line}, column '{name}': '{text}' has something after its time that is neither Z nor an offset such \
             as +02:00"
        ),
        Kind::Floats | Kind::PlainNumbers | Kind::Offsets => {
            format!("line {line}, column '{name}': float64, the type of the other numbers, would round '{text}'")
        }
    }
}

/// What to do about it.
fn odd_remedy(name: &str, odd: &Odd) -> String {
    let text = format!("or keep the column as text with --types {name}=string_ascii");
    match odd.kind {
        Kind::DecimalCommas => format!("write the numbers with a point, {text}"),
        Kind::Numbers | Kind::Dates => format!("correct the line or take it out, {text}"),
        Kind::Zones => format!("end the times in Z or an offset, {text}"),
        Kind::Whole => format!("accept rounding with --types {name}=float64, {text}"),
        Kind::Floats | Kind::PlainNumbers | Kind::Offsets => format!("accept that with --types {name}=float64, {text}"),
    }
}

/// Refuses numbers with decimal commas, and warns of a column that is text because of a few of its cells.
pub(super) fn check_text(name: &str, guess: &Guess) -> Result<()> {
    let Some(odd) = guess.odd_one() else { return Ok(()) };
    ensure!(
        odd.kind != Kind::DecimalCommas,
        "{}; write the numbers with a point, or keep the column as text with --types {name}=string_utf8",
        odd_cell(name, &odd)
    );
    let otherwise = match odd.kind {
        Kind::Zones => "end the times in Z or an offset".to_owned(),
        Kind::Floats | Kind::PlainNumbers | Kind::Whole => format!("accept the rounding with --types {name}=float64"),
        _ => "empty such cells for a column with nulls".to_owned(),
    };
    show::complaint(format_args!(
        "hyperslab: warning: {}; the column is imported as text: {otherwise}, or say that text is meant with --types \
         {name}=string_utf8",
        odd_cell(name, &odd)
    ));
    Ok(())
}
