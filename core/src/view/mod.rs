//! What an array looks like as files: the slice grammar, the tree of names, and the formats.

pub mod encode;
pub mod selection;

pub use selection::{Axis, Selection};
