//! The metadata of a fragment as it was read, before its schema is known.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::directory::FragmentRef;
use super::fragment::Fragment;
use super::index::{Index, Pieces};
use crate::error::{AtPath, Result};
use crate::format::data_file::FRAGMENT_METADATA;
use crate::format::fragment::footer::Footer;
use crate::format::fragment::legacy::LegacyMetadata;
use crate::format::schema::Schema;
use crate::vfs::join;

/// The metadata read for a fragment.
pub(super) enum RawMetadata {
    /// A footer, and as much of the index as was read or carried with it.
    Footer {
        footer: Bytes,
        /// End of the last section of the index, if known.
        end: Option<u64>,
        pieces: Pieces,
    },
    /// The payload of the whole file, for versions 1 and 2.
    Legacy { payload: Vec<u8>, dense: bool },
}

impl RawMetadata {
    /// A footer from consolidated fragment metadata.
    pub(super) const fn consolidated(footer: Bytes) -> Self {
        Self::Footer {
            footer,
            end: None,
            pieces: Pieces::new(),
        }
    }

    /// The end of a metadata file from byte `start` on, with the footer at the byte range `footer` of the file.
    pub(super) fn tail(start: u64, bytes: Bytes, footer: Range<u64>) -> Self {
        let at = |byte: u64| usize::try_from(byte.saturating_sub(start)).unwrap_or(usize::MAX);
        let range = at(footer.start)..at(footer.end);
        Self::Footer {
            footer: bytes.get(range).map_or_else(Bytes::new, |part| bytes.slice_ref(part)),
            end: Some(footer.start),
            pieces: vec![(start, bytes)],
        }
    }

    /// The bytes of the footer.
    pub(super) fn footer(&self) -> &[u8] {
        match self {
            Self::Legacy { .. } => &[],
            Self::Footer { footer, .. } => footer,
        }
    }

    /// File name of the fragment's schema; `None` if the array has only one schema.
    pub(super) fn schema_name(&self, array: &str, f: &FragmentRef) -> Result<Option<&str>> {
        if !f.version.has_schema_folder() {
            return Ok(None);
        }
        Footer::schema_name(self.footer(), f.version).at_with(|| metadata_path(array, f))
    }

    /// Decodes the metadata of a fragment with this schema.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] if it is damaged.
    pub(super) fn into_fragment(self, array: &str, f: FragmentRef, schema: &Arc<Schema>) -> Result<Fragment> {
        let path = || metadata_path(array, &f);
        let (footer, index) = match self {
            Self::Legacy { payload, dense } => {
                let metadata = LegacyMetadata::decode(&payload, schema, dense).at_with(path)?;
                let footer = Arc::new(metadata.footer.clone());
                (Arc::clone(&footer), Index::legacy(footer, metadata))
            }
            Self::Footer { footer, end, pieces } => {
                let footer = Arc::new(Footer::decode(&footer, schema, f.version).at_with(path)?);
                (Arc::clone(&footer), Index::new(footer, end, pieces))
            }
        };
        Fragment::new(array, f, footer, index, Arc::clone(schema))
    }
}

/// Path of the metadata file of a fragment of the array at `array`.
pub(super) fn metadata_path(array: &str, f: &FragmentRef) -> String {
    join(&join(array, &f.path), FRAGMENT_METADATA)
}
