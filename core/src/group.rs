//! Groups: folders that list arrays and other groups, with metadata of their own.

pub use crate::array::{Group, Member, ObjectType, object_type};
pub use crate::format::group::{GroupMember, MemberKind};
pub use crate::maintain::group::{
    GroupChange, change_group, create_group, group_metadata_time, group_time, write_group_metadata,
};
