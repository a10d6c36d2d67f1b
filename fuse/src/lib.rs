//! Mounts TileDB arrays as folders of files.
//!
//! [`filesystem`] is the whole file system, and knows nothing of kernels; [`adapter`] passes a kernel's
//! questions to it; [`mount`] attaches it to a folder and takes it off again;
//! [`background`] lets it outlive a terminal.

pub mod adapter;
pub mod background;
pub mod errno;
pub mod filesystem;
pub mod mount;
mod open_files;
pub mod workers;
