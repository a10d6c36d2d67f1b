//! Groups: folders that list arrays and other groups, with metadata of their own.
//!
//! [`create_group`] creates one, [`change_group`] adds and removes members, and [`Group::open`] reads it. A member is
//! named by a URI, relative to the group or absolute. Removing it from the group does not touch it. [`object_type`] says
//! whether a path is an array or a group.

pub use crate::array::{Group, Member, ObjectType, object_type};
pub use crate::format::group::{GroupMember, MemberKind};
pub use crate::maintain::group::{
    GroupChange, change_group, create_group, group_metadata_time, group_time, write_group_metadata,
};
