//! Timestamped names: `__t1_t2_uuid`, followed by `_version` for versioned objects.
//!
//! ```text
//! __1700000000000_1700000000000_0123456789abcdef0123456789abcdef_22.wrt
//!   start_ms      end_ms        uuid                             version  suffix
//! ```

use super::cursor::Decoded;
use super::version::Version;
use crate::error::Malformed;

/// The parts of a timestamped name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampedName {
    /// The earliest time, in milliseconds since 1970.
    pub start_ms: u64,
    /// The latest time, in milliseconds since 1970; not before `start_ms`.
    pub end_ms: u64,
    /// The number at the end, if present: the format version of a fragment, commit or consolidated file, or the group
    /// version of group details.
    pub number: Option<u32>,
    /// The form of the name, which depends on its age.
    pub form: NameForm,
}

/// The forms of names, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameForm {
    /// `__uuid_t` or `__uuid_t1_t2`: fragments of versions 1 and 2.
    UuidFirst,
    /// `__t1_t2_uuid`: fragments of versions 3 and 4, and all schemas and metadata files.
    Plain,
    /// `__t1_t2_uuid_n`: fragments since version 5, commits, consolidated files, group details.
    Numbered,
}

impl TimestampedName {
    /// Parses `name`, ignoring a suffix such as `.wrt`.
    ///
    /// # Errors
    /// The name has none of the three forms, or its end is before its start.
    pub fn parse(name: &str) -> Decoded<Self> {
        let bad = |why: &str| Malformed::new("timestamped name", 0, format!("'{name}' {why}"));
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| bad(&format!("has '{text}' in place of a number")))
        };
        let body = stem(name)
            .strip_prefix("__")
            .ok_or_else(|| bad("does not start with two underscores"))?;
        let mut parts = body.split('_');
        let (start_ms, end_ms, tail, form) = match std::array::from_fn(|_| parts.next()) {
            [Some(t1), Some(t2), Some(_), Some(n), None] => {
                let n = n.parse::<u32>().map_err(|_| bad("does not end in a version number"))?;
                (number(t1)?, number(t2)?, Some(n), NameForm::Numbered)
            }
            [Some(t1), Some(t2), Some(uuid), None, None] if uuid.len() == 32 => {
                (number(t1)?, number(t2)?, None, NameForm::Plain)
            }
            // In the oldest form, the last number is both the start and the end.
            [Some(_), Some(t), None, None, None] | [Some(_), Some(_), Some(t), None, None] => {
                (number(t)?, number(t)?, None, NameForm::UuidFirst)
            }
            _ => return Err(bad("is not of the form __t1_t2_uuid")),
        };
        if start_ms > end_ms {
            return Err(bad("ends before it starts"));
        }
        Ok(Self {
            start_ms,
            end_ms,
            number: tail,
            form,
        })
    }

    /// The format version of a fragment or commit with this name. Names without a number give 4 for versions 3 and 4,
    /// and 2 for versions 1 and 2; the fragment metadata holds the exact version.
    ///
    /// # Errors
    /// The version is newer than this release can read.
    pub fn version(&self) -> Decoded<Version> {
        match self.form {
            NameForm::UuidFirst => Ok(Version::OLDEST_NAMES),
            NameForm::Plain => Ok(Version::PLAIN_NAMES),
            NameForm::Numbered => Version::new(self.number.unwrap_or(0)),
        }
    }
}

/// The start and end times of the name at the end of `path`; `None` if it is not a timestamped name.
pub fn times(path: &str) -> Option<(u64, u64)> {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let parsed = TimestampedName::parse(name).ok()?;
    Some((parsed.start_ms, parsed.end_ms))
}

/// The uuid of a name in one of the forms since version 3.
pub fn uuid(name: &str) -> Option<[u8; 16]> {
    let digits = stem(name).strip_prefix("__")?.split('_').nth(2)?;
    let is_hex = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let number = is_hex.then(|| u128::from_str_radix(digits, 16).ok())??;
    Some(number.to_be_bytes())
}

/// The name without the suffix after its last dot.
pub fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The name of a fragment, commit or consolidated file.
pub fn versioned(start_ms: u64, end_ms: u64, uuid: [u8; 16], version: Version) -> String {
    format!("{}_{version}", plain(start_ms, end_ms, uuid))
}

/// The name of a schema or metadata file.
pub fn plain(start_ms: u64, end_ms: u64, uuid: [u8; 16]) -> String {
    format!("__{start_ms}_{end_ms}_{}", hex(uuid))
}

/// The name of an enumeration's file.
pub fn enumeration(uuid: [u8; 16]) -> String {
    format!("__{}_0", hex(uuid))
}

/// The name of a group details file of this version.
pub fn group_details(start_ms: u64, end_ms: u64, uuid: [u8; 16], version: u32) -> String {
    format!("{}_{version}", plain(start_ms, end_ms, uuid))
}

/// 32 lower-case hexadecimal digits.
fn hex(uuid: [u8; 16]) -> String {
    uuid.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "0123456789abcdef0123456789abcdef";

    #[track_caller]
    fn check(name: &str, expect: Result<(u64, u64, Option<u32>, u32), &str>) {
        let got =
            TimestampedName::parse(name).and_then(|n| Ok((n.start_ms, n.end_ms, n.number, n.version()?.number())));
        match (got, expect) {
            (Ok(got), Ok(expect)) => assert_eq!(got, expect),
            (Err(e), Err(why)) => assert!(e.to_string().contains(why), "{e}"),
            (got, expect) => panic!("{name}: {got:?}, not {expect:?}"),
        }
    }

    #[test]
    fn all_forms_are_parsed() {
        check(&format!("__1_2_{UUID}_22.wrt"), Ok((1, 2, Some(22), 22)));
        check(&format!("__1_2_{UUID}"), Ok((1, 2, None, 4)));
        check(
            &format!("__{UUID}_1561492235844"),
            Ok((1_561_492_235_844, 1_561_492_235_844, None, 2)),
        );
        check(&format!("__{UUID}_5_7"), Ok((7, 7, None, 2)));
    }

    #[test]
    fn the_uuid_is_found_in_plain_and_numbered_names() {
        let expect = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef_u128.to_be_bytes();
        for name in [format!("__1_2_{UUID}_22.wrt"), format!("__1_2_{UUID}")] {
            assert_eq!(uuid(&name), Some(expect));
        }
        assert_eq!(uuid(&format!("__{UUID}_5")), None);
        assert_eq!(uuid("__1_2_+123456789abcdef0123456789abcdef_22"), None);
    }

    #[test]
    fn invalid_names_are_rejected() {
        check(&format!("__2_1_{UUID}_22"), Err("ends before it starts"));
        check(&format!("__1_2_{UUID}_23"), Err("newer than 22"));
        check("schema", Err("two underscores"));
        check("__a_b_c_d", Err("version number"));
        check("__99999999999999999999_1_x_5", Err("in place of a number"));
    }

    #[test]
    fn names_round_trip() {
        let uuid = *b"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef";
        assert_eq!(versioned(1, 2, uuid, Version::CURRENT), format!("__1_2_{UUID}_22"));
        assert_eq!(plain(1, 2, uuid), format!("__1_2_{UUID}"));
        assert_eq!(enumeration(uuid), format!("__{UUID}_0"));
        assert_eq!(group_details(1, 2, uuid, 1), format!("__1_2_{UUID}_1"));
    }
}
