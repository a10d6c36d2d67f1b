//! An array at a point in time: its snapshot, fragments and metadata; and groups of arrays.

mod axis_values;
pub(crate) mod create;
mod deletes;
pub mod directory;
pub(crate) mod fetch;
pub(crate) mod fragment;
pub(crate) mod group;
pub(crate) mod index;
pub(crate) mod latest;
pub(crate) mod meta;
pub(crate) mod open;
mod open_mode;
mod raw_metadata;
pub(crate) mod schemas;
pub(crate) mod sections;
mod sizes;
mod snapshot;
mod token;
mod vacuumed;
mod window;

pub use axis_values::AxisValues;
pub use create::{CreateOptions, refuse_inside_array};
pub use fragment::Fragment;
pub use group::{Group, Member, ObjectType, may_be_array, object_type};
pub use snapshot::Array;
pub(crate) use snapshot::Delete;
pub use token::SnapshotOptions;
pub use window::{OpenOptions, Window};
