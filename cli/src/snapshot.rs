//! `snapshot`: an open array as a token, from which other processes open it.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};
use hyperslab::SnapshotOptions;

use crate::args::Snapshot;
use crate::errors::usage;
use crate::output_file::Out;
use crate::store::Env;
use crate::time_args;

/// Runs the command.
pub(crate) async fn snapshot(env: &Env, args: &Snapshot) -> Result<()> {
    if io::stdout().is_terminal() {
        let why = "a terminal cannot show a snapshot; redirect the output, as in > array.snapshot";
        return Err(usage("ARRAY", why));
    }
    let array = env.open(&args.array, time_args::window(args.at)?).await?;
    let options = args
        .index_bytes
        .map_or_else(SnapshotOptions::default, |index_bytes_max| SnapshotOptions {
            index_bytes_max,
        });
    let token = array.snapshot(&options).await;
    let token = token.with_context(|| format!("cannot take a snapshot of {}", args.array))?;
    let mut out = Out::create("-", false)?;
    out.write_all(&token)?;
    out.finish()
}
