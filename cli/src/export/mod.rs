//! `export`: cells to a file, batch by batch.

mod arrow;
mod encoded;
mod job;

use anyhow::Result;
use hyperslab::view::encode::Format as Encoding;

use crate::args::Export;
use crate::failure::usage;
use crate::formats::{self, Output};
use crate::store::Env;
use job::Job;
pub(crate) use job::fields;

/// Runs the command.
pub(crate) async fn export(env: &Env, args: &Export) -> Result<()> {
    let format = format(args)?;
    let job = Job::new(env, args, format).await?;
    let encoding = match format {
        Output::Arrow => return arrow::export(&job, &args.out).await,
        Output::Npy => Encoding::Npy,
        Output::Csv => Encoding::Csv,
        Output::Tsv => Encoding::Tsv,
        Output::Json => Encoding::Json,
        Output::Jsonl => Encoding::Jsonl,
        Output::Bin => Encoding::Bin,
        Output::Png => Encoding::Png,
    };
    encoded::export(&job, encoding, &args.out).await
}

fn format(args: &Export) -> Result<Output> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    if args.out == "-" {
        return Err(usage(
            "OUT",
            "standard output has no ending; give --format, as in --format csv",
        ));
    }
    formats::of_name(&args.out).map_err(|why| usage("OUT", why))
}
