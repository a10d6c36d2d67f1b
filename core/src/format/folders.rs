//! The names of the folders and files in an array or a group.

/// Folder of the schemas.
pub const SCHEMA_DIR: &str = "__schema";
/// Folder of the enumerations.
pub const ENUMERATIONS_DIR: &str = "__schema/__enumerations";
/// Folder of consolidated fragment metadata.
pub const FRAGMENT_META_DIR: &str = "__fragment_meta";
/// Folder of array or group metadata.
pub const META_DIR: &str = "__meta";
/// Folder of the dimension labels.
pub const LABELS_DIR: &str = "__labels";
/// Folder of the group details.
pub const GROUP_DIR: &str = "__group";
/// File that marks a folder as a group.
pub const GROUP_MARKER: &str = "__tiledb_group.tdb";
/// The schema file before version 10.
pub const ROOT_SCHEMA: &str = "__array_schema.tdb";

/// The entries of a folder that make it an array.
pub const ARRAY_MARKERS: [&str; 2] = [SCHEMA_DIR, ROOT_SCHEMA];
/// The entries of a folder that make it a group.
pub const GROUP_MARKERS: [&str; 2] = [GROUP_DIR, GROUP_MARKER];

/// Whether the file or folder at `path` makes a folder an array or a group.
pub fn is_marker(path: &str) -> bool {
    path.split('/')
        .any(|part| ARRAY_MARKERS.contains(&part) || GROUP_MARKERS.contains(&part))
}
