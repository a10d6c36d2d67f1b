//! `export`: cells to a file, batch by batch.

mod arrow;
mod encoded;
mod job;

use std::io::{self, IsTerminal as _};
use std::path::Path;

use anyhow::{Result, ensure};
use hyperslab::internals::view::encode::Format;

use crate::args::Export;
use crate::build::refuse_inside_array;
use crate::errors::usage;
use crate::formats::{self, Output};
use crate::store::{Env, Place};
use job::Job;
pub(crate) use job::repeated;

/// Runs the command.
pub(crate) async fn export(env: &Env, args: &Export) -> Result<()> {
    let format = format(args)?;
    if args.out == "-" {
        check_terminal(format, io::stdout().is_terminal())?;
    } else if !args.out.contains("://") {
        let path = Path::new(&args.out);
        let path = path.canonicalize().or_else(|_| std::path::absolute(path))?;
        refuse_inside_array(&Place::new(&path.to_string_lossy())?).await?;
    }
    let job = Job::new(env, args, format).await?;
    match format {
        Format::Arrow => arrow::export(&job, args).await,
        format => encoded::export(&job, format, args).await,
    }
}

/// Returns an error for a binary format on a terminal.
fn check_terminal(format: Format, is_terminal: bool) -> Result<()> {
    let name = format.extension();
    ensure!(
        format.is_text() || !is_terminal,
        usage(
            "OUT",
            format!(
                "a terminal cannot show {name}; redirect the output, as in > out.{name}, or give a file instead of -"
            )
        )
    );
    Ok(())
}

fn format(args: &Export) -> Result<Format> {
    if let Some(Output(format)) = args.format {
        return Ok(format);
    }
    if args.out == "-" {
        return Err(usage(
            "OUT",
            "standard output has no file extension; give --format, as in --format csv",
        ));
    }
    let Output(format) = formats::of_name(&args.out).map_err(|why| usage("OUT", why))?;
    Ok(format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_get_text_formats_only() {
        for format in [Format::Arrow, Format::Npy, Format::Bin, Format::Png] {
            let error = check_terminal(format, true).unwrap_err().to_string();
            assert!(error.contains("redirect the output, as in > out."), "{error}");
            check_terminal(format, false).unwrap();
        }
        check_terminal(Format::Csv, true).unwrap();
        check_terminal(Format::Jsonl, true).unwrap();
    }
}
