//! The current domain: the part of the domain in use, which can be expanded later.
//!
//! ```text
//! version u32 (0) | empty u8 | unless empty: type u8 (0 for a box), per dimension lo, hi
//!                                                 (strings: total size u64 | size of lo u64 | lo | hi)
//! ```

use super::cursor::{Decoded, Reader, Writer};
use super::domain::Dimension;
use crate::error::Malformed;
use crate::scalar::ScalarRange;

/// A box inside the domain.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentDomain {
    /// One closed range per dimension, in the order of the dimensions.
    pub ranges: Vec<ScalarRange>,
}

impl CurrentDomain {
    pub(super) fn decode(r: &mut Reader<'_>, dimensions: &[Dimension]) -> Decoded<Option<Self>> {
        let at = r.offset();
        let version = r.u32("current domain version")?;
        if version != 0 {
            return Err(Malformed::newer("current domain version", version, 0).shifted(at));
        }
        if r.bool("current domain empty flag")? {
            return Ok(None);
        }
        let at = r.offset();
        let kind = r.u8("current domain type")?;
        if kind != 0 {
            return Err(Malformed::unsupported("current domain type", format!("{kind} is not a box")).shifted(at));
        }
        let range = |d: &Dimension| r.range(d.datatype.physical(), d.cell.is_var(), "current domain");
        let ranges = dimensions.iter().map(range).collect::<Decoded<_>>()?;
        Ok(Some(Self { ranges }))
    }

    pub(super) fn encode(this: Option<&Self>, w: &mut Writer) {
        w.u32(0).bool(this.is_none());
        if let Some(this) = this {
            w.u8(0);
            for range in &this.ranges {
                w.range(range);
            }
        }
    }
}
