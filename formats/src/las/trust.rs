//! Checks lengths in a file before the library allocates memory for them.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use anyhow::{Context as _, Result, ensure};

/// The most bytes between the parts of a file, which the library keeps in memory.
const GAP_BYTES_MAX: u64 = 64 << 20;
/// The most bytes of an extended record.
const RECORD_BYTES_MAX: u64 = 256 << 20;

/// The number of the record about the compression.
const LASZIP: u64 = 22204;
/// The bytes of a record before its data.
const RECORD_HEAD_BYTES: u64 = 54;

/// Checks the lengths in the header.
pub(super) fn check(file: &mut (impl Read + Seek)) -> Result<()> {
    let bytes = file.seek(SeekFrom::End(0))?;
    let mut header = Vec::new();
    file.rewind()?;
    file.by_ref().take(375).read_to_end(&mut header)?;
    ensure!(
        header.starts_with(b"LASF"),
        "it is no LAS or LAZ file: it does not start with LASF"
    );
    let short = "the file is cut off within its header";
    let u8_at = |at: usize| header.get(at).copied().context(short);
    let u16_at = |at: usize| Ok::<_, anyhow::Error>(u16::from_le_bytes([u8_at(at)?, u8_at(at + 1)?]));
    let u32_at = |at: usize| {
        let part = header.get(at..).and_then(|b| b.first_chunk::<4>());
        part.map(|b| u64::from(u32::from_le_bytes(*b))).context(short)
    };
    let u64_at = |at: usize| {
        let part = header.get(at..).and_then(|b| b.first_chunk::<8>());
        part.map(|b| u64::from_le_bytes(*b)).context(short)
    };
    let (points_at, records) = (u32_at(96)?, u32_at(100)?);
    let (format, width) = (u8_at(104)?, u64::from(u16_at(105)?));
    ensure!(
        points_at <= bytes,
        "the file is cut off: its points start at byte {points_at}, but it has {bytes} bytes"
    );
    ensure!(
        points_at <= GAP_BYTES_MAX.max(records.saturating_mul(1 << 16)),
        "the points start at byte {points_at}, which is too far after the header; the file is damaged"
    );
    let compressed = format & 0x80 != 0;
    let old_points = u32_at(107)?;
    let (extended, points) = match u8_at(25)? {
        4.. => (u32_at(243)?, old_points.max(u64_at(247)?)),
        _ => (0, old_points),
    };
    if !compressed {
        let end = points.checked_mul(width).and_then(|n| n.checked_add(points_at));
        ensure!(
            end.is_some_and(|end| end <= bytes),
            "the file is cut off: it has {bytes} bytes, which are too few for {points} points of {width} bytes"
        );
    }
    if extended > 0 {
        check_extended(file, u64_at(235)?, bytes)?;
    }
    if compressed && points > 0 {
        let start = u64::from(u16_at(94)?);
        check_items(file, start..points_at, records, width)?;
        check_chunks(file, points_at, bytes)?;
        if format & 0x3f >= 6 {
            check_layers(file, points_at, width, format & 0x3f, bytes)?;
        }
    }
    Ok(())
}

/// Checks the length of the extended record at this place.
fn check_extended(file: &mut (impl Read + Seek), at: u64, bytes: u64) -> Result<()> {
    let length = number::<8>(file, at.saturating_add(20))?;
    ensure!(
        length <= RECORD_BYTES_MAX && at.saturating_add(60).saturating_add(length) <= bytes,
        "the extended record at byte {at} has {length} bytes, and the file {bytes}; the file is damaged"
    );
    Ok(())
}

/// Checks that the items of a compressed point are as long as the point, because each byte of an item has models. They
/// are in the record `laszip encoded`, one of `count` records in this part of the file.
fn check_items(file: &mut (impl Read + Seek), part: Range<u64>, count: u64, width: u64) -> Result<()> {
    let mut at = part.start;
    for _ in 0..count {
        if at.saturating_add(RECORD_HEAD_BYTES) > part.end {
            break;
        }
        let (kind, length) = (number::<2>(file, at + 18)?, number::<2>(file, at + 20)?);
        let data = at + RECORD_HEAD_BYTES;
        if kind == LASZIP {
            let items = number::<2>(file, data + 32)?;
            let sizes = (0..items).map(|n| number::<2>(file, data + 34 + 6 * n + 2));
            let total = sizes.sum::<Result<u64>>()?;
            ensure!(
                total == width,
                "the record at byte {at} has points of {total} bytes, and the header {width}; the file is damaged"
            );
        }
        at = data + length;
    }
    Ok(())
}

/// Checks the number of chunks of compressed points.
fn check_chunks(file: &mut (impl Read + Seek), points_at: u64, bytes: u64) -> Result<()> {
    let mut table = number::<8>(file, points_at)?;
    if table <= points_at || table >= 1 << 63 {
        table = number::<8>(file, bytes.saturating_sub(8))?;
    }
    let chunks = number::<4>(file, table.saturating_add(4))?;
    // A chunk starts with a whole point.
    ensure!(
        chunks <= bytes / 20 + 1,
        "the table at byte {table} has {chunks} chunks of points, and the file {bytes} bytes; the file is damaged"
    );
    Ok(())
}

/// Checks the lengths of the layers of each chunk, as of point format 6.
fn check_layers(file: &mut (impl Read + Seek), points_at: u64, width: u64, format: u8, bytes: u64) -> Result<()> {
    let (colors, waveform) = match format {
        7 => (1, 0),
        8 => (2, 0),
        9 => (0, 1),
        10 => (2, 1),
        _ => (0, 0),
    };
    let own = match format {
        7 => 36,
        8 => 38,
        9 => 59,
        10 => 67,
        _ => 30,
    };
    let layers = 9 + colors + waveform + width.saturating_sub(own);
    let table = number::<8>(file, points_at)?;
    let end = if table > points_at && table < bytes {
        table
    } else {
        bytes
    };
    let mut at = points_at + 8;
    while at + width + 4 + 4 * layers <= end {
        let mut sizes = Vec::new();
        file.seek(SeekFrom::Start(at + width + 4))?;
        file.by_ref().take(4 * layers).read_to_end(&mut sizes)?;
        let sizes = sizes.as_chunks::<4>().0.iter();
        let total: u64 = sizes.map(|b| u64::from(u32::from_le_bytes(*b))).sum();
        let next = at + width + 4 + 4 * layers + total;
        ensure!(
            next <= bytes,
            "the chunk of points at byte {at} has {total} bytes, and the file {bytes}; the file is damaged"
        );
        at = next;
    }
    Ok(())
}

/// The unsigned number of this many bytes at this place.
fn number<const N: usize>(file: &mut (impl Read + Seek), at: u64) -> Result<u64> {
    let mut bytes = [0; 8];
    file.seek(SeekFrom::Start(at))?;
    let (part, _) = bytes.split_at_mut(N);
    file.read_exact(part)
        .with_context(|| format!("the file is cut off, or refers to byte {at}, which it does not have"))?;
    Ok(u64::from_le_bytes(bytes))
}
