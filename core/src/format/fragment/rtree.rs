//! The R-tree over the MBRs (minimum bounding rectangles) of the tiles of a sparse fragment.
//!
//! ```text
//! before version 5: dimensions u32 | fanout u32 | before version 5: datatype u8 | levels u32
//! per level, root first: count u64 | per MBR, per dimension: lo, hi
//!                        (strings: total size u64 | size of lo u64 | lo | hi)
//! ```
//!
//! In memory, the bounds are columns of keys, so testing thousands of tiles is a scan over plain slices.

use crate::datatype::Physical;
use crate::error::Malformed;
use crate::format::cursor::{Decoded, Reader, Writer};
use crate::format::schema::{Dimension, Schema};
use crate::format::version::Version;
use crate::key::{self, Keyed, total_key};
use crate::scalar::{Scalar, ScalarRange};
use crate::with_type;

/// Number of children per inner entry that we write.
pub const FANOUT: u32 = 10;

/// MBRs of tiles and of groups of tiles. The first level is the root; the last level has one MBR per tile.
#[derive(Debug, Clone, PartialEq)]
pub struct RTree {
    /// Number of children per inner entry: entry `i` covers entries `i * fanout..` of the next level.
    pub fanout: u32,
    /// Levels, root first. Empty for dense fragments.
    pub levels: Vec<Level>,
}

/// The MBRs of one level, as one column per dimension.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Level {
    /// Number of MBRs.
    pub len: usize,
    /// Bounds of the MBRs, by dimension.
    pub dimensions: Vec<Bounds>,
}

/// Closed ranges along one dimension. Lower and upper bounds are separate slices.
#[derive(Debug, Clone, PartialEq)]
pub enum Bounds {
    /// Ranges of fixed-size coordinates, as order-preserving keys: see [`key`].
    Keys {
        /// Type of the coordinates.
        physical: Physical,
        /// Lower bounds.
        lo: Vec<u64>,
        /// Upper bounds.
        hi: Vec<u64>,
    },
    /// Ranges of strings.
    Strings {
        /// Lower bounds.
        lo: Strings,
        /// Upper bounds.
        hi: Strings,
    },
}

/// A list of strings in one buffer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strings {
    ends: Vec<usize>,
    data: Vec<u8>,
}

impl Strings {
    /// String `i`; empty if out of range.
    pub fn get(&self, i: usize) -> &[u8] {
        let start = i
            .checked_sub(1)
            .map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(i).copied()).map(|(start, end)| start..end);
        range.and_then(|range| self.data.get(range)).unwrap_or(&[])
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends a string.
    pub fn push(&mut self, string: &[u8]) {
        self.data.extend_from_slice(string);
        self.ends.push(self.data.len());
    }
}

impl<'a> FromIterator<&'a [u8]> for Strings {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(strings: I) -> Self {
        let mut new = Self::default();
        strings.into_iter().for_each(|string| new.push(string));
        new
    }
}

/// An upper bound for the strings in a range `lo..=hi` from a fragment of `version`. This is `hi`, or a value above all
/// ASCII strings if `hi` cannot be trusted.
pub fn last_string<'a>(lo: &[u8], hi: &'a [u8], version: Version) -> &'a [u8] {
    if lo.is_empty() && !version.has_sound_string_boxes() {
        &[u8::MAX]
    } else {
        hi
    }
}

impl RTree {
    /// Decodes the section's payload.
    ///
    /// # Errors
    /// The payload is damaged.
    pub fn decode(payload: &[u8], schema: &Schema, version: Version) -> Decoded<Self> {
        let mut r = Reader::new(payload);
        let shared = !version.has_dimension_files();
        if shared {
            r.u32("R-tree dimension count")?;
        }
        let fanout = r.u32("R-tree fanout")?;
        if shared {
            r.u8("R-tree datatype")?;
        }
        let n = r.u32("R-tree level count")?;
        let n = r.count(u64::from(n), 8, "R-tree levels")?;
        let mut levels = Vec::with_capacity(n);
        for _ in 0..n {
            levels.push(Level::decode(&mut r, schema)?);
        }
        r.finish("R-tree")?;
        check_lengths(&levels, fanout)?;
        // Inner levels are recomputed: up to 2.3, libtiledb wrote inner bounds that do not cover all strings of their
        // tiles.
        Ok(levels.pop().map_or(
            Self {
                fanout,
                levels: Vec::new(),
            },
            |leaves| Self::over(leaves, fanout),
        ))
    }

    /// Widens MBRs that do not cover all their cells, as some releases wrote: see [`Version::has_sound_string_boxes`].
    #[must_use]
    pub fn widened(mut self, schema: &Schema, version: Version) -> Self {
        match self.levels.pop() {
            Some(mut leaves) if !version.has_sound_string_boxes() => {
                leaves.widen(schema, version);
                Self::over(leaves, self.fanout)
            }
            leaves => {
                self.levels.extend(leaves);
                self
            }
        }
    }

    /// Builds the tree over these MBRs, one per tile in tile order.
    pub fn build(leaves: Level) -> Self {
        Self::over(leaves, FANOUT)
    }

    /// Builds the tree with this fanout, which must be at least 2.
    fn over(leaves: Level, fanout: u32) -> Self {
        let mut levels = vec![leaves];
        while let Some(last) = levels.last().filter(|l| l.len > 1) {
            levels.push(last.grouped(fanout as usize));
        }
        levels.reverse();
        levels.retain(|l| l.len > 0);
        Self { fanout, levels }
    }

    /// The empty tree of a dense fragment.
    pub const fn dense() -> Self {
        Self {
            fanout: FANOUT,
            levels: Vec::new(),
        }
    }

    /// Encodes the section's payload in the layout of `version`.
    pub fn encode(&self, schema: &Schema, version: Version) -> Vec<u8> {
        let mut w = Writer::new();
        let shared = schema.dimensions.first().filter(|_| !version.has_dimension_files());
        if shared.is_some() {
            w.u32(schema.dimensions.len() as u32);
        }
        w.u32(self.fanout);
        if let Some(first) = shared {
            w.u8(first.datatype.id());
        }
        w.u32(self.levels.len() as u32);
        for level in &self.levels {
            w.u64(level.len as u64);
            for i in 0..level.len {
                level.dimensions.iter().for_each(|bounds| bounds.encode(i, &mut w));
            }
        }
        w.into_bytes()
    }

    /// The MBRs of the tiles; `None` for dense fragments.
    pub fn leaves(&self) -> Option<&Level> {
        self.levels.last()
    }
}

/// Checks that every entry covers `fanout` entries of the next level, except the last, which may cover fewer.
fn check_lengths(levels: &[Level], fanout: u32) -> Decoded<()> {
    let fits = |pair: &[Level]| matches!(pair, [a, b] if a.len == b.len.div_ceil((fanout as usize).max(1)));
    let one_root = levels.first().is_none_or(|root| root.len == 1);
    if levels.is_empty() || (fanout > 1 && one_root && levels.windows(2).all(fits)) {
        return Ok(());
    }
    let lens: Vec<_> = levels.iter().map(|l| l.len).collect();
    Err(Malformed::new(
        "R-tree levels",
        0,
        format!("levels of {lens:?} entries do not fit a fanout of {fanout}"),
    ))
}

impl Level {
    /// An empty level for the dimensions of `schema`.
    pub fn new(schema: &Schema) -> Self {
        Self {
            len: 0,
            dimensions: schema.dimensions.iter().map(Bounds::new).collect(),
        }
    }

    /// Appends an MBR, given as one range per dimension. A range whose type differs from the dimension's is stored as 0
    /// or the empty string.
    pub fn push(&mut self, mbr: &[ScalarRange]) {
        for (bounds, range) in self.dimensions.iter_mut().zip(mbr) {
            match bounds {
                Bounds::Keys { lo, hi, .. } => {
                    lo.push(total_key(&range.lo).unwrap_or(0));
                    hi.push(total_key(&range.hi).unwrap_or(0));
                }
                Bounds::Strings { lo, hi } => {
                    lo.push(range.lo.as_bytes().unwrap_or(&[]));
                    hi.push(range.hi.as_bytes().unwrap_or(&[]));
                }
            }
        }
        self.len += 1;
    }

    /// MBR `i`, as one range per dimension; `None` if out of range.
    pub fn mbr(&self, i: usize) -> Option<Vec<ScalarRange>> {
        self.dimensions.iter().map(|bounds| bounds.range(i)).collect()
    }

    /// Decodes consecutive MBRs of `stride` bytes each. All dimensions must have a fixed size.
    pub(super) fn from_fixed(bytes: &[u8], stride: usize, schema: &Schema) -> Self {
        let mut at = 0;
        let mut column = |d: &Dimension| {
            let (physical, w) = (d.datatype.physical(), d.datatype.size());
            let keys = |at: usize| {
                bytes
                    .chunks_exact(stride)
                    .map(|mbr| key_at(physical, mbr, at))
                    .collect()
            };
            let bounds = Bounds::Keys {
                physical,
                lo: keys(at),
                hi: keys(at + w),
            };
            at += 2 * w;
            bounds
        };
        Self {
            len: bytes.len() / stride,
            dimensions: schema.dimensions.iter().map(&mut column).collect(),
        }
    }

    /// Widens bounds that do not cover all cells of their tile. Releases before 2.0 compared dates as unsigned numbers:
    /// the range of a tile with both signs starts at its smallest positive date. A range that ends before it starts is
    /// replaced by the whole domain. For strings, see [`Version::has_sound_string_boxes`].
    pub(super) fn widen(&mut self, schema: &Schema, version: Version) {
        for (bounds, d) in self.dimensions.iter_mut().zip(&schema.dimensions) {
            if let Bounds::Strings { lo, hi } = bounds {
                let last = |i| last_string(lo.get(i), hi.get(i), version);
                *hi = (0..hi.len()).map(last).collect();
            }
            if version.has_dimension_files() {
                continue;
            }
            let whole = d.domain.as_ref().map(|r| (total_key(&r.lo), total_key(&r.hi)));
            let (Bounds::Keys { lo, hi, .. }, Some((Some(least), Some(greatest)))) = (bounds, whole) else {
                continue;
            };
            for (lo, hi) in lo.iter_mut().zip(hi).filter(|(lo, hi)| lo > hi) {
                (*lo, *hi) = (least, greatest);
            }
        }
    }

    fn decode(r: &mut Reader<'_>, schema: &Schema) -> Decoded<Self> {
        let n = r.u64("R-tree entry count")?;
        let bytes = |d: &Dimension| if d.cell.is_var() { 16 } else { 2 * d.datatype.size() };
        let stride: usize = schema.dimensions.iter().map(bytes).sum();
        let n = r.count(n, stride, "R-tree entries")?;
        if !schema.dimensions.iter().any(|d| d.cell.is_var()) {
            return Ok(Self::from_fixed(
                r.take(n * stride, "R-tree entries")?,
                stride.max(1),
                schema,
            ));
        }
        let mut new = Self::new(schema);
        for _ in 0..n {
            for bounds in &mut new.dimensions {
                bounds.decode_one(r)?;
            }
        }
        new.len = n;
        Ok(new)
    }

    /// The next level up, with one entry for every `fanout` entries of this one.
    fn grouped(&self, fanout: usize) -> Self {
        let dimensions = self
            .dimensions
            .iter()
            .map(|bounds| bounds.grouped(self.len, fanout))
            .collect();
        Self {
            len: self.len.div_ceil(fanout),
            dimensions,
        }
    }
}

/// The key of the value at byte `at` of an MBR.
fn key_at(physical: Physical, mbr: &[u8], at: usize) -> u64 {
    with_type!(physical, T => {
        let value = mbr.get(at..).and_then(|bytes| bytes.first_chunk());
        value.map_or(0, |bytes| T::from_le_bytes(*bytes).total_key())
    })
}

impl Bounds {
    fn new(d: &Dimension) -> Self {
        if d.cell.is_var() {
            Self::Strings {
                lo: Strings::default(),
                hi: Strings::default(),
            }
        } else {
            Self::Keys {
                physical: d.datatype.physical(),
                lo: Vec::new(),
                hi: Vec::new(),
            }
        }
    }

    /// The range of entry `i`; `None` if out of range.
    pub fn range(&self, i: usize) -> Option<ScalarRange> {
        match self {
            Self::Keys { physical, lo, hi } => {
                let value = |keys: &[u64]| Some(key::scalar(*physical, *keys.get(i)?));
                Some(ScalarRange {
                    lo: value(lo)?,
                    hi: value(hi)?,
                })
            }
            Self::Strings { lo, hi } => {
                let value = |strings: &Strings| (i < strings.len()).then(|| Scalar::Bytes(strings.get(i).to_vec()));
                Some(ScalarRange {
                    lo: value(lo)?,
                    hi: value(hi)?,
                })
            }
        }
    }

    fn decode_one(&mut self, r: &mut Reader<'_>) -> Decoded<()> {
        match self {
            Self::Keys { physical, lo, hi } => {
                let width = physical.size();
                let both = r.take(2 * width, "R-tree entry")?;
                lo.push(key_at(*physical, both, 0));
                hi.push(key_at(*physical, both, width));
            }
            Self::Strings { lo, hi } => {
                let (start, end) = r.string_range("R-tree entry")?;
                lo.push(start);
                hi.push(end);
            }
        }
        Ok(())
    }

    fn encode(&self, i: usize, w: &mut Writer) {
        match self {
            Self::Keys { .. } => {
                if let Some(range) = self.range(i) {
                    w.range(&range);
                }
            }
            Self::Strings { lo, hi } => {
                w.string_range(lo.get(i), hi.get(i));
            }
        }
    }

    fn grouped(&self, len: usize, fanout: usize) -> Self {
        match self {
            Self::Keys { physical, lo, hi } => Self::Keys {
                physical: *physical,
                lo: lo.chunks(fanout).filter_map(|c| c.iter().min().copied()).collect(),
                hi: hi.chunks(fanout).filter_map(|c| c.iter().max().copied()).collect(),
            },
            Self::Strings { lo, hi } => {
                let (mut least, mut greatest) = (Strings::default(), Strings::default());
                for start in (0..len).step_by(fanout.max(1)) {
                    let group = start..(start + fanout).min(len);
                    least.push(group.clone().map(|i| lo.get(i)).min().unwrap_or(&[]));
                    greatest.push(group.map(|i| hi.get(i)).max().unwrap_or(&[]));
                }
                Self::Strings {
                    lo: least,
                    hi: greatest,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
