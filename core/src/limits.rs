//! Every bound in one place. Decoders check lengths against the bytes that are present first;
//! these bounds catch what that check cannot.

/// Bytes of the name of a dimension or attribute. The format has no limit; real names are short.
pub const NAME_BYTES_MAX: u64 = 1 << 16;
/// Dimensions of an array.
pub const DIMENSIONS_MAX: usize = 1 << 10;
/// Filters in one pipeline.
pub const FILTERS_MAX: u32 = 1 << 10;
/// Bytes of default fill values of a schema that does not store them.
pub const DEFAULT_FILL_BYTES_MAX: u64 = 1 << 24;
/// Nesting of a serialised query condition.
pub const CONDITION_DEPTH_MAX: u32 = 64;
/// Unfiltered bytes of one tile.
pub const TILE_BYTES_MAX: u64 = 1 << 36;
/// How far one filtered chunk may unfold: run-length coding turns few bytes into many.
pub const CHUNK_BYTES_MAX: u64 = u32::MAX as u64;
/// Default byte budget of one batch of a streamed read.
pub const BATCH_BYTES: u64 = 256 << 20;
/// Default bytes kept in the cache of decoded tiles.
pub const CACHE_BYTES: u64 = 64 << 20;
/// Chunk of filtered data as written, in bytes.
pub const CHUNK_BYTES: u64 = 65536;
/// Default memory of a consolidation, in bytes.
pub const CONSOLIDATION_BYTES: u64 = 512 << 20;
/// Unfiltered bytes of the tiles that are packed at a time while writing.
pub const PACK_BYTES: u64 = 32 << 20;
/// Roughly what is noted in memory of one tile of one field while it is read or packed, in bytes.
pub const TILE_NOTES_BYTES: u64 = 1024;
/// Bytes of a fragment's files that are kept back before they are handed to the store in parts.
pub const PUT_BYTES: u64 = 8 << 20;
/// How far ahead of the clock a write's time may be, in milliseconds, to come after what is there.
pub const WRITE_LEAD_MS: u64 = 5000;
/// Folders within folders, from the root of a store or of what is copied: deeper ones are taken for a circle.
pub const FOLDER_DEPTH_MAX: usize = 64;
/// Files and folders that one walk through a store may find, or one manifest may name.
pub const ENTRIES_MAX: usize = 1 << 22;
/// Pages of an object store's listing of one folder, of a thousand names each, as a rule.
pub const LISTING_PAGES_MAX: usize = 1 << 12;
/// Bytes of a file that is read as a whole over a network.
pub const WHOLE_FILE_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a server's listing of one folder.
pub const LISTING_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a manifest.
pub const MANIFEST_BYTES_MAX: u64 = 32 << 20;
