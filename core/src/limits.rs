//! All limits. Decoders first check lengths against the bytes that are present; these limits catch what that check
//! cannot.

/// The longest name of a dimension or attribute, in bytes. The format has no limit, but real names are short.
pub const NAME_BYTES_MAX: u64 = 1 << 16;
/// The most dimensions of an array.
pub const DIMENSIONS_MAX: usize = 1 << 10;
/// The most filters in a pipeline.
pub const FILTERS_MAX: u32 = 1 << 10;
/// Total size of the default fill values of a schema that does not store them, in bytes.
pub const DEFAULT_FILL_BYTES_MAX: u64 = 1 << 24;
/// Nesting depth of a serialised query condition.
pub const CONDITION_DEPTH_MAX: u32 = 64;
/// Unfiltered size of a tile, in bytes.
pub const TILE_BYTES_MAX: u64 = 1 << 36;
/// Unfiltered size of a chunk, in bytes. Run-length encoding can expand a few bytes to many.
pub const CHUNK_BYTES_MAX: u64 = u32::MAX as u64;
/// Default size of a batch of a streamed read, in bytes.
pub const BATCH_BYTES: u64 = 256 << 20;
/// Most values along an axis that selections by value read.
pub const AXIS_VALUES_MAX: u64 = 1 << 22;
/// Default size of the cache of decoded tiles, in bytes.
pub const CACHE_BYTES: u64 = 64 << 20;
/// Size of a chunk before filtering when writing, in bytes.
pub const CHUNK_BYTES: u64 = 65536;
/// Default memory budget of a consolidation, in bytes.
pub const CONSOLIDATION_BYTES: u64 = 512 << 20;
/// Unfiltered size of the tiles that are encoded at the same time when writing, in bytes.
pub const PACK_BYTES: u64 = 32 << 20;
/// Approximate memory for the bookkeeping of one tile of one field when reading or writing, in bytes.
pub const TILE_NOTES_BYTES: u64 = 1024;
/// Size of the buffer for a fragment's files, which are written to the store in parts, in bytes.
pub const PUT_BYTES: u64 = 8 << 20;
/// How far in the future the time of a write may be, in milliseconds, so that it sorts after existing writes.
pub const WRITE_LEAD_MS: u64 = 5000;
/// Nesting depth of folders in a store or in a copied tree. Deeper nesting is treated as a cycle.
pub const FOLDER_DEPTH_MAX: usize = 64;
/// The most files and folders in one traversal of a store or in one manifest.
pub const ENTRIES_MAX: usize = 1 << 22;
/// The most pages of an object store's listing of a folder. A page usually has a thousand names.
pub const LISTING_PAGES_MAX: usize = 1 << 12;
/// Size of a file that is read at once over a network, in bytes.
pub const WHOLE_FILE_BYTES_MAX: u64 = 256 << 20;
/// Size of a server's listing of a folder, in bytes.
pub const LISTING_BYTES_MAX: u64 = 64 << 20;
/// Size of a manifest, in bytes.
pub const MANIFEST_BYTES_MAX: u64 = 32 << 20;
/// Size of a snapshot token before compression, in bytes.
pub const TOKEN_BYTES_MAX: u64 = 2 << 30;
/// Size of a split before compression, in bytes. Decoded, it takes up to 16 times as much memory.
pub const SPLIT_BYTES_MAX: u64 = 16 << 20;
/// The most bytes that a byte of a compressed snapshot token or split may expand to, beyond [`MESSAGE_BYTES_FREE`].
pub const MESSAGE_EXPANSION_MAX: u64 = 64;
/// Size before compression that a snapshot token or split of any size may have, in bytes.
pub const MESSAGE_BYTES_FREE: u64 = 1 << 20;
/// Default size of the indexes in a snapshot token, in bytes as stored.
pub const SNAPSHOT_INDEX_BYTES: u64 = 4 << 20;
/// The most splits of a query.
pub const SPLITS_MAX: usize = 1 << 20;
/// The most tiles of a sparse query that is divided into splits.
pub const SPLIT_TILES_MAX: usize = 1 << 22;
/// The most ranges of all splits of a query. A range takes about 64 bytes.
pub const SPLIT_RANGES_MAX: usize = 1 << 23;
/// The most tests of a tile of a dense query against the statistics of a fragment. If there are more, no tile is left out.
pub const SPLIT_TESTS_MAX: u64 = 1 << 26;
