//! Parts of the engine for this project's own programs and tests. They are not covered by semantic versioning.

pub use crate::error::AtPath;
pub use crate::printable::printable;
pub use crate::report::{Report, coloured_message};

/// Opening and creating arrays, and the listing behind them.
pub mod array {
    pub use crate::array::{directory, may_be_array, refuse_inside_array};
}

/// Dates as text.
pub mod calendar {
    pub use crate::calendar::*;
}

/// Names as parts of paths.
pub mod escape {
    pub use crate::escape::*;
}

/// Filter pipelines, forwards and backwards.
pub mod filter {
    pub use crate::filter::*;
}

/// The structures of the file format.
pub mod format {
    pub use crate::format::*;
}

/// Size limits.
pub mod limits {
    pub use crate::limits::*;
}

/// Scalars in JSON.
pub mod scalar {
    pub use crate::scalar::json_word;
}

/// The closest of the existing names.
pub mod suggest {
    pub use crate::suggest::*;
}

/// The files of a local folder, and folder listings of HTTP servers.
pub mod vfs {
    #[cfg(feature = "fs")]
    pub use crate::vfs::local::{LocalEntry, LocalKind, LocalRoot, readable_by_everyone};

    pub use crate::vfs::path::{has_valid_escapes, percent_decode, percent_encode};

    /// Folder listings of HTTP servers.
    pub mod listing {
        pub use crate::vfs::listing::*;
    }
}

/// The grammar of slices and the formats of their files.
pub mod view {
    pub use crate::view::file_names::file_names;
    pub use crate::view::node::dir_id;

    /// Cells as the bytes of a file.
    pub mod encode {
        pub use crate::view::encode::*;
    }

    /// The arrays of the Zarr view, and what missing cells are in them.
    pub mod zarr {
        pub use crate::view::members::{Member, dimension_names, members, text_members};
        pub use crate::view::missing::Missing;
    }

    /// The grammar of slices.
    pub mod selection {
        pub use crate::view::selection::*;
    }
}

/// XML as a tree.
pub mod xml {
    pub use crate::xml::*;
}
