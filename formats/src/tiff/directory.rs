//! The directories of a TIFF file: tags and their values.
//!
//! Pixels are decoded by the crate `tiff`. It reads one image at a time and interprets colors, so the structure of the
//! file and its tags are read here.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

/// The most directories of a file.
const DIRECTORIES_MAX: usize = 1 << 20;
/// The most bytes of a tag's value.
const VALUE_BYTES_MAX: u64 = 256 << 20;

/// The numbers of the tags that are read.
pub(super) mod tag {
    pub(crate) const SUBFILE_TYPE: u16 = 254;
    pub(crate) const WIDTH: u16 = 256;
    pub(crate) const HEIGHT: u16 = 257;
    pub(crate) const BITS: u16 = 258;
    pub(crate) const COMPRESSION: u16 = 259;
    pub(crate) const PHOTOMETRIC: u16 = 262;
    pub(crate) const DESCRIPTION: u16 = 270;
    pub(crate) const STRIP_OFFSETS: u16 = 273;
    pub(crate) const SAMPLES: u16 = 277;
    pub(crate) const ROWS_PER_STRIP: u16 = 278;
    pub(crate) const STRIP_BYTES: u16 = 279;
    pub(crate) const PLANAR: u16 = 284;
    pub(crate) const COLOR_MAP: u16 = 320;
    pub(crate) const TILE_WIDTH: u16 = 322;
    pub(crate) const TILE_HEIGHT: u16 = 323;
    pub(crate) const TILE_OFFSETS: u16 = 324;
    pub(crate) const TILE_BYTES: u16 = 325;
    pub(crate) const SUB_DIRECTORIES: u16 = 330;
    pub(crate) const EXTRA_SAMPLES: u16 = 338;
    pub(crate) const SAMPLE_FORMAT: u16 = 339;
    pub(crate) const PIXEL_SCALE: u16 = 33550;
    pub(crate) const TIE_POINTS: u16 = 33922;
    pub(crate) const TRANSFORMATION: u16 = 34264;
    pub(crate) const GEO_KEYS: u16 = 34735;
    pub(crate) const GEO_DOUBLES: u16 = 34736;
    pub(crate) const GEO_TEXT: u16 = 34737;
    pub(crate) const GDAL_METADATA: u16 = 42112;
    pub(crate) const GDAL_NODATA: u16 = 42113;
}

/// A file whose directories are read.
pub(super) struct TiffFile {
    file: BufReader<File>,
    pub(super) bytes: u64,
    pub(super) big_endian: bool,
    /// Whether offsets have 64 bits.
    pub(super) big: bool,
    first: u64,
}

/// A list of tags.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    /// Its offset in the file.
    pub(super) at: u64,
    entries: BTreeMap<u16, Entry>,
    next: u64,
}

/// Where the value of a tag is.
#[derive(Debug, Clone, Copy)]
struct Entry {
    kind: u16,
    count: u64,
    /// The offset of its first value.
    at: u64,
}

impl TiffFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut new = Self {
            file: BufReader::new(file),
            bytes,
            big_endian: false,
            big: false,
            first: 0,
        };
        let start = new
            .read(0, 8)
            .context("this is not a TIFF file: it is shorter than 8 bytes")?;
        new.big_endian = match start.get(..2) {
            Some(b"II") => false,
            Some(b"MM") => true,
            _ => bail!("this is not a TIFF file: it does not start with II or MM"),
        };
        match new.unsigned_at(2, 2)? {
            42 => new.first = new.unsigned_at(4, 4)?,
            43 => {
                ensure!(
                    new.unsigned_at(4, 2)? == 8,
                    "the BigTIFF has offsets of another size than 8 bytes"
                );
                new.big = true;
                new.first = new.unsigned_at(8, 8)?;
            }
            other => bail!("this is not a TIFF file: its number is {other}, not 42 or 43"),
        }
        Ok(new)
    }

    /// The directories of the main chain, in order.
    pub(super) fn directories(&mut self) -> Result<Vec<Directory>> {
        let (mut all, mut seen, mut at) = (Vec::new(), HashSet::new(), self.first);
        while at != 0 {
            ensure!(seen.insert(at), "the directory at byte {at} comes twice");
            ensure!(all.len() < DIRECTORIES_MAX, "more than {DIRECTORIES_MAX} directories");
            let directory = self.directory(at)?;
            at = directory.next;
            all.push(directory);
        }
        ensure!(!all.is_empty(), "the TIFF has no image");
        Ok(all)
    }

    /// The directory at an offset.
    pub(super) fn directory(&mut self, at: u64) -> Result<Directory> {
        let read = self.read_directory(at);
        read.with_context(|| format!("the directory at byte {at} is damaged"))
    }

    fn read_directory(&mut self, at: u64) -> Result<Directory> {
        let (count_bytes, entry_bytes, offset_bytes) = if self.big { (8, 20, 8) } else { (2, 12, 4) };
        let count = self.unsigned_at(at, count_bytes)?;
        ensure!(count <= 1 << 16, "it has {count} tags");
        let start = at + count_bytes;
        let raw = self.read(start, count * entry_bytes)?;
        let mut entries = BTreeMap::new();
        for (number, entry) in raw.chunks_exact(entry_bytes as usize).enumerate() {
            let field = |from: u64, bytes: u64| self.unsigned(&entry[from as usize..(from + bytes) as usize]);
            let (id, kind, count) = (field(0, 2) as u16, field(2, 2) as u16, field(4, offset_bytes));
            let inline = start + number as u64 * entry_bytes + 4 + offset_bytes;
            let fits = kind_bytes(kind).saturating_mul(count) <= offset_bytes;
            let at = if fits {
                inline
            } else {
                field(4 + offset_bytes, offset_bytes)
            };
            entries.entry(id).or_insert(Entry { kind, count, at });
        }
        let next = self.unsigned_at(start + count * entry_bytes, offset_bytes)?;
        Ok(Directory { at, entries, next })
    }

    /// The values of a tag as numbers; empty if there is no such tag.
    pub(super) fn numbers(&mut self, directory: &Directory, tag: u16) -> Result<Vec<f64>> {
        let Some((entry, raw)) = self.value(directory, tag)? else {
            return Ok(Vec::new());
        };
        let size = kind_bytes(entry.kind) as usize;
        Ok(raw
            .chunks_exact(size.max(1))
            .map(|v| self.number(entry.kind, v))
            .collect())
    }

    /// The values of a tag as unsigned integers; empty if there is no such tag.
    pub(super) fn integers(&mut self, directory: &Directory, tag: u16) -> Result<Vec<u64>> {
        let Some((entry, raw)) = self.value(directory, tag)? else {
            return Ok(Vec::new());
        };
        ensure!(
            matches!(entry.kind, 1 | 3 | 4 | 13 | 16 | 18),
            "tag {tag} has no unsigned integers"
        );
        let size = kind_bytes(entry.kind) as usize;
        Ok(raw.chunks_exact(size).map(|v| self.unsigned(v)).collect())
    }

    /// The first value of a tag as an unsigned integer.
    pub(super) fn integer(&mut self, directory: &Directory, tag: u16) -> Result<Option<u64>> {
        Ok(self.integers(directory, tag)?.first().copied())
    }

    /// The value of a tag as text, up to its first NUL.
    pub(super) fn text(&mut self, directory: &Directory, tag: u16) -> Result<Option<String>> {
        let value = self.value(directory, tag)?;
        Ok(value.map(|(_, raw)| {
            let end = raw.iter().position(|b| *b == 0).unwrap_or(raw.len());
            match std::str::from_utf8(&raw[..end]) {
                Ok(text) => text.to_owned(),
                // Latin-1, as older programs write.
                Err(_) => raw[..end].iter().map(|b| char::from(*b)).collect(),
            }
        }))
    }

    fn value(&mut self, directory: &Directory, tag: u16) -> Result<Option<(Entry, Vec<u8>)>> {
        let Some(entry) = directory.entries.get(&tag).copied() else {
            return Ok(None);
        };
        let bytes = kind_bytes(entry.kind).saturating_mul(entry.count);
        ensure!(bytes <= VALUE_BYTES_MAX, "tag {tag} has a value of {bytes} bytes");
        let raw = self.read(entry.at, bytes);
        let raw = raw.with_context(|| format!("the value of tag {tag} at byte {} is cut off", entry.at))?;
        Ok(Some((entry, raw)))
    }

    /// Checks that the values of all tags are within the file, because the decoder allocates memory for them first.
    pub(super) fn check_values(&self, directory: &Directory) -> Result<()> {
        for (tag, entry) in &directory.entries {
            let bytes = kind_bytes(entry.kind).max(1).saturating_mul(entry.count);
            ensure!(
                entry.at.saturating_add(bytes) <= self.bytes,
                "the value of tag {tag} at byte {} has {bytes} bytes, and the file {}; the file is damaged",
                entry.at,
                self.bytes
            );
        }
        Ok(())
    }

    /// Reads bytes at an offset.
    pub(super) fn read(&mut self, at: u64, bytes: u64) -> Result<Vec<u8>> {
        let end = at.checked_add(bytes).filter(|end| *end <= self.bytes);
        ensure!(
            end.is_some(),
            "the file ends at byte {}, before byte {}",
            self.bytes,
            at.saturating_add(bytes)
        );
        let mut raw = vec![0; usize::try_from(bytes)?];
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut raw)?;
        Ok(raw)
    }

    fn unsigned_at(&mut self, at: u64, bytes: u64) -> Result<u64> {
        let raw = self.read(at, bytes)?;
        Ok(self.unsigned(&raw))
    }

    fn unsigned(&self, raw: &[u8]) -> u64 {
        let add = |n: u64, b: &u8| n << 8 | u64::from(*b);
        if self.big_endian {
            raw.iter().fold(0, add)
        } else {
            raw.iter().rev().fold(0, add)
        }
    }

    fn number(&self, kind: u16, raw: &[u8]) -> f64 {
        let bits = self.unsigned(raw);
        match kind {
            5 | 10 => {
                let (high, low) = raw.split_at(raw.len() / 2);
                let part = |raw| match kind {
                    5 => self.unsigned(raw) as f64,
                    _ => f64::from(self.unsigned(raw) as u32 as i32),
                };
                part(high) / part(low)
            }
            6 => f64::from(bits as u8 as i8),
            8 => f64::from(bits as u16 as i16),
            9 => f64::from(bits as u32 as i32),
            11 => f64::from(f32::from_bits(bits as u32)),
            12 => f64::from_bits(bits),
            17 => bits as i64 as f64,
            _ => bits as f64,
        }
    }
}

impl Directory {
    /// Whether there is such a tag.
    pub(super) fn has(&self, tag: u16) -> bool {
        self.entries.contains_key(&tag)
    }

    /// The offset of the first value of a tag, and how many bytes it has.
    pub(super) fn place(&self, tag: u16) -> Option<(u64, u64)> {
        self.entries.get(&tag).map(|e| (e.at, kind_bytes(e.kind)))
    }
}

/// The bytes of a value of a TIFF type.
fn kind_bytes(kind: u16) -> u64 {
    match kind {
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16 | 17 | 18 => 8,
        _ => 1,
    }
}
