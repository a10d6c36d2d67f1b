//! Mounts TileDB arrays as folders of files.
//!
//! [`filesystem`] implements the file system without a kernel. [`adapter`] passes a kernel's requests to it. [`mount`]
//! mounts and unmounts it, and [`background`] runs it in the background. [`args`] are the program's arguments, and
//! [`serve`] is its life from the mount to the unmount; [`unmount`] ends it from outside. [`writing`]
//! takes new cells as files.

pub mod adapter;
pub mod args;
pub mod background;
mod changing;
mod commands;
mod control;
mod documents;
pub mod errno;
pub mod filesystem;
mod holders;
mod kernel;
pub mod logging;
pub mod manual;
pub mod metrics;
pub mod mount;
mod mount_helper;
mod mount_options;
mod mount_table;
mod new_folders;
mod open_files;
mod put;
mod put_file;
mod put_names;
mod put_readme;
mod put_state;
mod reasons;
pub mod serve;
pub mod source;
mod staged;
mod unclaimed;
pub mod unmount;
pub mod workers;
pub mod write_args;
pub mod writing;
mod xattrs;
