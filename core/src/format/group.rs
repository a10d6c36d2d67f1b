//! Group details: the members of a group, as listed by a file in `__group`.
//!
//! ```text
//! version u32 | count u64 | per member:
//!   member version u32 | kind u8 | relative u8 | uri str64 | named u8 | name str64 if named
//!   | deleted u8 (version 2)
//! ```

use super::cursor::{Decoded, Reader, Writer};
use crate::error::Malformed;

/// The version of group details that we write, except for groups whose details have version 1.
pub const VERSION: u32 = 2;

/// The members listed in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupDetails {
    /// In version 1, only the newest file counts. In version 2, all visible files are merged, newer ones overriding
    /// older ones.
    pub version: u32,
    /// The members, including entries that remove a member.
    pub members: Vec<GroupMember>,
}

/// An array or group that belongs to a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// The type of the member.
    pub kind: MemberKind,
    /// Whether `uri` is relative to the group.
    pub relative: bool,
    /// Location of the member.
    pub uri: String,
    /// Name of the member in the group, if it has one.
    pub name: Option<String>,
    /// Whether this entry removes the member from the group.
    pub deleted: bool,
}

/// The type of a group member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum MemberKind {
    Group,
    Array,
    /// Nothing existed at the URI when the member was added, which libtiledb allows.
    Unknown,
}

impl GroupMember {
    /// Identifies the member within its group: its name, or its URI if it has no name.
    pub fn key(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.uri)
    }
}

impl GroupDetails {
    /// Decodes the payload of a file in `__group`.
    ///
    /// # Errors
    /// The payload is damaged or has a newer version.
    pub fn decode(payload: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(payload);
        let version = known_version(&mut r, "group version")?;
        let n = r.u64("group member count")?;
        let n = r.count(n, MEMBER_BYTES_MIN, "group members")?;
        let members = (0..n).map(|_| GroupMember::decode(&mut r)).collect::<Decoded<_>>()?;
        r.finish("group details")?;
        Ok(Self { version, members })
    }

    /// Encodes the payload. Version 1 cannot express removals, so removed members are left out.
    pub fn encode(&self) -> Vec<u8> {
        let listed = |m: &&GroupMember| self.version >= VERSION || !m.deleted;
        let members: Vec<&GroupMember> = self.members.iter().filter(listed).collect();
        let mut w = Writer::new();
        w.u32(self.version).u64(members.len() as u64);
        for member in members {
            member.encode(self.version, &mut w);
        }
        w.into_bytes()
    }
}

/// Size of a version 1 member with an empty URI and no name.
const MEMBER_BYTES_MIN: usize = 15;

fn known_version(r: &mut Reader<'_>, what: &str) -> Decoded<u32> {
    let at = r.offset();
    match r.u32(what)? {
        version @ 1..=VERSION => Ok(version),
        0 => Err(Malformed::new(what, at, "there is no version 0")),
        newer => Err(Malformed::newer(what, newer, VERSION).shifted(at)),
    }
}

impl GroupMember {
    fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        let version = known_version(r, "group member version")?;
        let at = r.offset();
        let kind = match r.u8("group member type")? {
            0 => MemberKind::Unknown,
            1 => MemberKind::Group,
            2 => MemberKind::Array,
            other => {
                return Err(Malformed::new(
                    "group member type",
                    at,
                    format!("{other} is neither group nor array"),
                ));
            }
        };
        let relative = r.bool("group member relative flag")?;
        let uri = r.string64("group member URI")?.to_owned();
        let name = if r.bool("group member name flag")? {
            Some(r.string64("group member name")?.to_owned())
        } else {
            None
        };
        let deleted = version >= VERSION && r.bool("group member deleted flag")?;
        Ok(Self {
            kind,
            relative,
            uri,
            name,
            deleted,
        })
    }

    fn encode(&self, version: u32, w: &mut Writer) {
        w.u32(version).u8(match self.kind {
            MemberKind::Group => 1,
            MemberKind::Array => 2,
            MemberKind::Unknown => 0,
        });
        w.bool(self.relative)
            .bytes64(self.uri.as_bytes())
            .bool(self.name.is_some());
        if let Some(name) = &self.name {
            w.bytes64(name.as_bytes());
        }
        if version >= VERSION {
            w.bool(self.deleted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: Option<&str>, deleted: bool) -> GroupMember {
        GroupMember {
            kind: MemberKind::Array,
            relative: true,
            uri: "a".into(),
            name: name.map(Into::into),
            deleted,
        }
    }

    #[test]
    fn members_round_trip() {
        let details = GroupDetails {
            version: 2,
            members: vec![member(Some("n"), false), member(None, true)],
        };
        assert_eq!(GroupDetails::decode(&details.encode()).unwrap(), details);
        let old = GroupDetails { version: 1, ..details };
        let back = GroupDetails::decode(&old.encode()).unwrap();
        assert_eq!((back.version, back.members), (1, vec![member(Some("n"), false)]));
    }

    #[test]
    fn the_name_is_absent_when_unset() {
        let bytes = GroupDetails {
            version: 2,
            members: vec![member(None, false)],
        }
        .encode();
        let expect = [
            &2_u32.to_le_bytes()[..],
            &1_u64.to_le_bytes(),
            &2_u32.to_le_bytes(),
            &[2, 1],
            &1_u64.to_le_bytes(),
            b"a",
            &[0, 0],
        ]
        .concat();
        assert_eq!(bytes, expect);
    }

    #[test]
    fn members_of_unknown_type_round_trip() {
        let unknown = GroupMember {
            kind: MemberKind::Unknown,
            ..member(None, false)
        };
        let details = GroupDetails {
            version: VERSION,
            members: vec![unknown],
        };
        let bytes = details.encode();
        assert_eq!(bytes[16], 0);
        assert_eq!(GroupDetails::decode(&bytes).unwrap(), details);
    }

    #[test]
    fn version_1_has_no_deleted_flag() {
        let bytes = [
            &1_u32.to_le_bytes()[..],
            &1_u64.to_le_bytes(),
            &1_u32.to_le_bytes(),
            &[1, 0],
            &1_u64.to_le_bytes(),
            b"g",
            &[0],
        ]
        .concat();
        let details = GroupDetails::decode(&bytes).unwrap();
        assert_eq!(
            (details.version, details.members[0].kind, details.members[0].deleted),
            (1, MemberKind::Group, false)
        );
    }

    #[test]
    fn a_count_beyond_the_bytes_is_an_error() {
        let bytes = [&2_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat();
        assert!(
            GroupDetails::decode(&bytes)
                .unwrap_err()
                .to_string()
                .starts_with("group members at byte 12")
        );
    }
}
