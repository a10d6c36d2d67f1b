//! The filters that few arrays use: bzip2, WebP, AES and dictionary. In the browser their code is in a separate file,
//! which the npm package loads when an array needs it. Other programs always contain the code.

use std::sync::atomic::{AtomicBool, Ordering};

use super::TileFormat;
use crate::error::Malformed;
use crate::format::pipeline::{Filter, Pipeline};
use crate::format::schema::Schema;

/// Whether the code is loaded. Tests in a browser are not split, so they contain it.
static LOADED: AtomicBool = AtomicBool::new(cfg!(any(not(target_family = "wasm"), feature = "test-util")));

/// Records that the code was loaded.
pub fn set_loaded() {
    LOADED.store(true, Ordering::Relaxed);
}

/// Whether arrays with this schema need the code. Encrypted arrays always do.
pub fn is_needed(schema: &Schema) -> bool {
    let attributes = schema.attributes.iter().map(|attribute| &attribute.filters);
    let dimensions = schema.dimensions.iter().map(|dimension| &dimension.filters);
    let shared = [
        &schema.coords_filters,
        &schema.offsets_filters,
        &schema.validity_filters,
    ];
    let mut all = attributes.chain(dimensions).chain(shared);
    all.any(|pipeline| pipeline.filters.iter().any(is_rare))
}

/// Checks that the code for tiles with this pipeline is loaded.
///
/// # Errors
/// The code is not loaded. This happens only if the array got a rare filter after it was opened.
pub(super) fn check(p: &Pipeline, f: &TileFormat<'_>) -> Result<(), Malformed> {
    let found = p.filters.iter().find(|filter| is_rare(filter));
    if LOADED.load(Ordering::Relaxed) || (found.is_none() && f.key.is_none()) {
        return Ok(());
    }
    let name = found.map_or("encryption", Filter::name);
    Err(Malformed::unsupported(
        name,
        "was added to the array after it was opened; open the array again",
    ))
}

const fn is_rare(filter: &Filter) -> bool {
    match filter {
        Filter::Bzip2 { .. } | Filter::Webp { .. } | Filter::Aes256Gcm | Filter::Dictionary { .. } => true,
        Filter::None
        | Filter::Gzip { .. }
        | Filter::Zstd { .. }
        | Filter::Lz4 { .. }
        | Filter::Rle { .. }
        | Filter::Delta { .. }
        | Filter::DoubleDelta { .. }
        | Filter::BitWidthReduction { .. }
        | Filter::Bitshuffle
        | Filter::Byteshuffle
        | Filter::PositiveDelta { .. }
        | Filter::Md5
        | Filter::Sha256
        | Filter::FloatScale { .. }
        | Filter::Xor
        | Filter::Unknown { .. } => false,
    }
}
