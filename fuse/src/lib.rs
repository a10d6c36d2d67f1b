//! Mounts TileDB arrays as folders of files.
//!
//! [`filesystem`] implements the file system without a kernel. [`adapter`] passes a kernel's requests to it. [`mount`]
//! mounts and unmounts it, and [`background`] runs it in the background.

pub mod adapter;
pub mod background;
pub mod errno;
pub mod filesystem;
pub mod mount;
mod open_files;
pub mod workers;
