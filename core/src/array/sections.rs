//! Loads sections of fragment metadata, from the bytes read when opening if possible, otherwise from the files.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::Array;
use super::fragment::Fragment;
use super::index::{Missing, Section};
use crate::context::Context;
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::filter::Key;
use crate::vfs::{VfsExt, side_by_side};

/// The most fragments whose sections are decoded on the calling thread. More are decoded in parallel.
const FRAGMENTS_AT_ONCE: usize = 8;

/// Loads the wanted sections of each fragment, except those already decoded or implied.
///
/// # Errors
/// A metadata file cannot be read or is damaged.
pub(crate) async fn load_index(array: &Array, wanted: &[(Arc<Fragment>, Vec<Section>)]) -> Result<()> {
    let needed = wanted.iter().filter_map(|(fragment, sections)| {
        let needed = fragment.index.needed(sections, &fragment.schema);
        (!needed.is_empty()).then(|| (Arc::clone(fragment), needed))
    });
    load_all(array, &needed.collect::<Vec<_>>()).await
}

/// Loads the wanted sections of each fragment, except those already decoded.
///
/// # Errors
/// Same as [`load_index`].
pub(crate) async fn load_all(array: &Array, wanted: &[(Arc<Fragment>, Vec<Section>)]) -> Result<()> {
    let (context, key) = (array.context(), array.key());
    let cpu = if wanted.len() > FRAGMENTS_AT_ONCE {
        context.cpu
    } else {
        Cpu::Inline
    };
    let absent = cpu.try_map(wanted, |(fragment, sections)| {
        let missing = fragment.index.missing(sections);
        let (near, far): (Vec<_>, Vec<_>) = missing
            .into_iter()
            .map(|m| (m, fragment.index.at_hand(&m)))
            .partition(|(_, bytes)| bytes.is_some());
        for (m, bytes) in near {
            store(fragment, &m, &bytes.unwrap_or_default(), key)?;
        }
        Ok::<_, Error>(far.into_iter().map(|(m, _)| m).collect::<Vec<_>>())
    })?;
    let mut absent: Vec<(&Arc<Fragment>, Vec<Missing>)> = wanted
        .iter()
        .zip(absent)
        .filter(|(_, missing)| !missing.is_empty())
        .map(|((fragment, _), missing)| (fragment, missing))
        .collect();
    if absent.is_empty() {
        return Ok(());
    }
    let fetched = read_sections(context, &mut absent).await?;
    let jobs: Vec<_> = absent.into_iter().zip(fetched).collect();
    cpu.try_map(&jobs, |((fragment, missing), fetched)| {
        missing
            .iter()
            .zip(fetched)
            .try_for_each(|(m, bytes)| store(fragment, m, bytes, key))
    })?;
    Ok(())
}

/// Reads these sections of each fragment, as stored, and completes their unknown ends.
///
/// # Errors
/// A metadata file cannot be read.
pub(crate) async fn read_sections(
    context: &Context,
    wanted: &mut [(&Arc<Fragment>, Vec<Missing>)],
) -> Result<Vec<Vec<Bytes>>> {
    let sizes = wanted
        .iter_mut()
        .map(|(fragment, missing)| close_ends(context, fragment, missing));
    side_by_side(sizes).await?;
    let files: Vec<(Arc<str>, Vec<Range<u64>>)> = wanted
        .iter()
        .map(|(fragment, missing)| {
            let ranges = missing.iter().map(|m| m.start..m.end.unwrap_or(m.start).max(m.start));
            (fragment.metadata_path().into(), ranges.collect())
        })
        .collect();
    context.vfs.read_files(&files).await
}

fn store(fragment: &Fragment, m: &Missing, bytes: &[u8], key: Option<&Key>) -> Result<()> {
    fragment.index.store(
        &fragment.metadata_path(),
        m,
        bytes,
        (&fragment.schema, fragment.tiles),
        key,
    )
}

/// Sets unknown ends of sections to the size of the file.
///
/// # Errors
/// The metadata file cannot be found.
pub(crate) async fn close_ends(context: &Context, fragment: &Fragment, missing: &mut [Missing]) -> Result<()> {
    if missing.iter().any(|m| m.end.is_none()) {
        let size = context.vfs.size(&fragment.metadata_path()).await?;
        for m in missing {
            m.end = m.end.or(Some(size));
        }
    }
    Ok(())
}
