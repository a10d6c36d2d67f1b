//! The schema of an array: its dimensions, attributes and filters.

pub use crate::format::attribute::{Attribute, DataOrder};
pub use crate::format::current_domain::CurrentDomain;
pub use crate::format::dimension_label::DimensionLabel;
pub use crate::format::domain::Dimension;
pub use crate::format::enumeration::Enumeration;
pub use crate::format::field::Field;
pub use crate::format::fragment::slots::FieldId;
pub use crate::format::pipeline::{DEFAULT_LEVEL, Filter, MaxChunk, Pipeline, WebpFormat};
pub use crate::format::schema::{ArrayType, EnumerationRef, Layout, Schema};
pub use crate::format::version::Version;
