//! Format versions and the features of each. Version numbers are compared only in this file.

use super::cursor::Decoded;
use crate::error::{Malformed, MalformedKind};

/// A format version, as stored in fragment names, schemas and footers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    /// The version that this release writes, and the newest that it reads (libtiledb 2.25 to 2.30).
    pub const CURRENT: Self = Self(22);
    /// The highest number that is treated as a future version; anything above it is damage. The format reached version
    /// 22 in ten years.
    const PLAUSIBLE_MAX: u32 = 99;
    /// The version written by builds with experimental features.
    const EXPERIMENTAL: u32 = u32::MAX;
    /// The version of fragment names without a number: 3 or 4, which have the same layout.
    pub(crate) const PLAIN_NAMES: Self = Self(4);
    /// The version of fragment names in the oldest form: 1 or 2, which the metadata distinguishes.
    pub(crate) const OLDEST_NAMES: Self = Self(2);

    /// The version with this number.
    ///
    /// # Errors
    /// The number is 0 or newer than [`Version::CURRENT`].
    pub fn new(number: u32) -> Decoded<Self> {
        match number {
            0 => Err(Malformed::new("format version", 0, "there is no version 0")),
            Self::EXPERIMENTAL => {
                let why = "written by an experimental build of libtiledb, which no release can read; write the data again with a release";
                let mut m = Malformed::new("format version", 0, why);
                m.kind = MalformedKind::Unsupported;
                Err(m)
            }
            n if n > Self::PLAUSIBLE_MAX => Err(Malformed::new(
                "format version",
                0,
                format!("there is no version {n}; the newest is {}", Self::CURRENT.0),
            )),
            n if n > Self::CURRENT.0 => {
                let mut m = Malformed::new("format version", 0, format!("{n} is newer than {}", Self::CURRENT.0));
                m.kind = MalformedKind::NewerVersion(n, Self::CURRENT.0);
                Err(m)
            }
            n => Ok(Self(n)),
        }
    }

    /// The version with this number, or the nearest one that this release knows.
    #[doc(hidden)]
    pub const fn nearest(number: u32) -> Self {
        match number {
            0 => Self(1),
            n if n > Self::CURRENT.0 => Self::CURRENT,
            n => Self(n),
        }
    }

    /// The number in the file.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Like [`Version::has_delete_metadata`], for a number in a name that may be newer than this release reads.
    pub(crate) const fn number_has_delete_metadata(number: u32) -> bool {
        Self(number).has_delete_metadata()
    }

    /// 3 and 4: fragment names without a version, which [`Version::PLAIN_NAMES`] represents.
    pub(crate) const fn has_plain_names(self) -> bool {
        self.has_footer() && !self.has_dimension_files()
    }

    /// The version of new fragments in an array whose schema has this version. Like libtiledb, keeps the schema's
    /// version since 7, and uses the current version in older arrays.
    pub(crate) const fn for_new_fragments(self) -> Self {
        if self.0 >= 7 { self } else { Self::CURRENT }
    }
}

macro_rules! capabilities {
    ($($(#[$doc:meta])* $name:ident >= $since:literal;)*) => {
        impl Version {
            $($(#[$doc])* pub const fn $name(self) -> bool { self.0 >= $since })*
        }
    };
}

capabilities! {
    /// Since 2 (TileDB 1.5): coordinates are stored dimension by dimension in each tile.
    has_split_coordinates >= 2;
    /// Since 3 (1.6): fragment metadata consists of generic tiles, an R-tree and a footer.
    has_footer >= 3;
    /// Since 5 (2.0): a file per dimension, dimensions of mixed types and strings, the duplicates flag, `.ok` files,
    /// and the version in fragment names.
    has_dimension_files >= 5;
    /// Since 6 (2.1): fill values of attributes.
    has_fill_values >= 6;
    /// Since 7 (2.2): nullable attributes.
    has_validity >= 7;
    /// Since 8 (2.2.3): data files named by the percent-encoded field name.
    has_encoded_file_names >= 8;
    /// Since 9 (2.3): data files named by the field's index.
    has_index_file_names >= 9;
    /// Since 10 (2.4): schemas in a folder, named by the footer, and the footer's length always stored.
    has_schema_folder >= 10;
    /// Since 10: bounding boxes cover all strings. Before that, a box that starts with the empty string may end too
    /// early: 2.1 to 2.3 restarted the range at every empty string.
    has_sound_string_boxes >= 10;
    /// Since 11 (2.7): minimum, maximum, sum and null count of each tile; chunks hold whole cells.
    has_tile_statistics >= 11;
    /// Since 12 (2.8): folders for fragments, commits and consolidated metadata; statistics of the whole fragment.
    has_commit_folder >= 12;
    /// Since 12: statistics of the whole fragment.
    has_fragment_statistics >= 12;
    /// Since 12 (2.8): a tile whose variable-length cells are all empty has one chunk without bytes. 2.10 to 2.16
    /// divide by zero if it has no chunks.
    has_chunk_of_nothing >= 12;
    /// Since 12 (2.8): run-length encoding of variable-length ASCII strings together with their offsets.
    has_string_rle >= 12;
    /// Since 13 (2.9): dictionary encoding of variable-length ASCII strings.
    has_string_dictionary >= 13;
    /// Since 14 (2.10): a timestamp for each cell of consolidated fragments.
    has_timestamps >= 14;
    /// Since 15 (2.11): delete timestamps and conditions in consolidated fragments. A sparse fragment is visible if it
    /// overlaps a time window; before, it had to be inside.
    has_delete_metadata >= 15;
    /// Since 16 (2.12): delete commits, and the offset of processed conditions in the footer.
    has_delete_commits >= 16;
    /// Since 17 (2.14): the order of an attribute's data.
    has_data_order >= 17;
    /// Since 17 (2.14): run-length and dictionary encoding of variable-length UTF-8 strings too.
    has_utf8_coding >= 17;
    /// Since 18 (2.15): dimension labels.
    has_dimension_labels >= 18;
    /// Since 19 (2.16): names in vacuum files are relative to the array. Earlier releases cannot match such names to
    /// fragments.
    has_relative_vacuum_names >= 19;
    /// Since 19 (2.16): the reinterpret datatype of the delta filter.
    has_delta_reinterpret >= 19;
    /// Since 20 (2.17): enumerations.
    has_enumerations >= 20;
    /// Since 20 (2.17): the reinterpret datatype of the double delta filter.
    has_double_delta_reinterpret >= 20;
    /// Since 20 (2.17): bit width reduction and positive delta act on dates and times.
    has_date_reduction >= 20;
    /// Since 20 (2.17), for the writing release: each filter sees the datatype produced by the filter before it.
    /// Earlier releases pass the field's type to all filters.
    has_types_of_filters >= 20;
    /// Since 21 (2.19): statistics of nullable fixed-size strings in dense arrays are correct.
    has_sound_string_statistics >= 21;
    /// Since 22 (2.25): the current domain.
    has_current_domain >= 22;
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_versions_are_newer_experimental_or_damaged() {
        let kind = |number| Version::new(number).map_err(|m| m.kind);
        assert_eq!(kind(22), Ok(Version::CURRENT));
        assert_eq!(kind(23), Err(MalformedKind::NewerVersion(23, 22)));
        assert_eq!(kind(u32::MAX), Err(MalformedKind::Unsupported));
        assert_eq!([kind(0), kind(1000)], [Err(MalformedKind::Damaged); 2]);
    }
}
