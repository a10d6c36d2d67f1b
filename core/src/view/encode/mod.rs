//! The formats a slice can be written in: exact size first, then any range of bytes.
