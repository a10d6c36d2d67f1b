//! The window of time that an array is opened in.

use crate::filter::Key;

/// A closed window of time, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// Writes before this time are ignored.
    pub start_ms: u64,
    /// Writes after this time are ignored.
    pub end_ms: u64,
}

impl Window {
    /// All times, including the future. libtiledb's default ends at the current time. The engine has no clock; callers
    /// with a clock pass [`Window::at`].
    pub const ALL: Self = Self {
        start_ms: 0,
        end_ms: u64::MAX,
    };

    /// All times up to and including `t`, in milliseconds since 1970.
    pub const fn at(t: u64) -> Self {
        Self { start_ms: 0, end_ms: t }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::ALL
    }
}

/// Options for opening an array.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The window of time to read.
    pub window: Window,
    /// The key of an encrypted array.
    pub key: Option<Key>,
}
