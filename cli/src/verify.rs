//! `verify` and `index`.

use anyhow::{Context as _, Result};
use hyperslab::vfs::{join_url, manifest, redact};

use crate::args::{Index, Verify};
use crate::each::each;
use crate::failure::Reported;
use crate::progress::Progress;
use crate::store::{Env, Place};
use crate::{show, sizes, when};

/// Reads every tile; says all that is wrong.
pub(crate) async fn verify(env: &Env, args: &Verify) -> Result<()> {
    each(env, &args.array, async |target| {
        verify_one(env, &target.url, args).await
    })
    .await
}

async fn verify_one(env: &Env, url: &str, args: &Verify) -> Result<()> {
    let (array, unopened) = env.open_to_verify(url, when::all(args.at)).await?;
    let (mut files, mut tiles, mut bytes, mut damaged) = (0_u64, 0_u64, 0_u64, 0_u64);
    let progress = Progress::new(
        "verifying",
        Some(sizes::total(array.fragments().iter().map(|f| f.bytes))),
        "bytes",
    );
    for error in &unopened {
        files += 1;
        damaged += 1;
        progress.say(&error.to_string());
    }
    let mut report = |finding: hyperslab::query::Finding| {
        files += 1;
        tiles = tiles.saturating_add(finding.tiles);
        bytes = bytes.saturating_add(finding.bytes);
        progress.add(finding.bytes);
        if let Some(error) = finding.error {
            damaged += 1;
            progress.say(&error.to_string());
        }
    };
    array
        .verify(&mut report)
        .await
        .with_context(|| format!("cannot verify {url}"))?;
    drop(progress);
    let (files, tiles) = (show::count(files, "file"), show::count(tiles, "tile"));
    let seen = format!("{files}, {tiles}, {} read", sizes::show(bytes));
    if damaged > 0 {
        return Err(Reported(format!(
            "{url}: {damaged} damaged of {seen}; restore the files named above from a copy, or do what their lines say"
        ))
        .into());
    }
    let fragments = show::count(array.fragments().len() as u64, "fragment");
    show::line(format_args!("{}: sound ({fragments}, {seen})", redact(url)))
}

/// Writes the manifest.
pub(crate) async fn index(args: &Index) -> Result<()> {
    let place = Place::new(&args.array)?;
    manifest::write(place.context.vfs.as_ref(), &place.path)
        .await
        .with_context(|| format!("cannot index {}", args.array))?;
    show::line(redact(&join_url(&args.array, manifest::MANIFEST)))
}
