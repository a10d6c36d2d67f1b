//! Reads sorted parts of a file into their buffers, with few system calls and copies.

use std::io::IoSliceMut;
use std::ops::Range;

use super::HAS_FILES;
use super::chunk_reader::{CHUNK, OutputPiece, kept, sized};
use crate::cpu::Cpu;
use crate::error::Result;
use crate::format::tile::UnfilteredChunks;
use crate::vfs::ReadAt;

/// Reading through a gap of this many bytes costs less than another system call.
const GAP_BYTES: u64 = 4096;
/// Parts that are close together are read in one call, up to this size, which fits into a core's cache.
const GATHER_BYTES: u64 = 256 << 10;
/// Parts with at least this average length are read directly into their buffers.
const LONG_BYTES: usize = 1 << 10;
/// The largest share of work for one job, in bytes and in pieces.
pub(super) const SHARE_BYTES: usize = 1 << 20;
const SHARE_PIECES: usize = 2048;

/// Copies pieces of an unfiltered tile that starts at `start`, spread over the cores.
///
/// # Errors
/// The file cannot be read.
pub(super) fn read_unfiltered(
    file: &dyn ReadAt,
    start: u64,
    layout: UnfilteredChunks,
    pieces: &mut [OutputPiece<'_>],
    cpu: Cpu,
) -> Result<()> {
    let (mut shares, mut share, mut bytes) = (Vec::new(), Vec::new(), 0);
    for piece in pieces {
        let (mut at, mut rest) = (piece.at, &mut *piece.out);
        while !rest.is_empty() {
            let here = layout.chunk_bytes - at % layout.chunk_bytes;
            let n = rest.len().min(usize::try_from(here).unwrap_or(usize::MAX));
            let (part, later) = rest.split_at_mut(n);
            if bytes + n > SHARE_BYTES || share.len() >= SHARE_PIECES {
                shares.push(std::mem::take(&mut share));
                bytes = 0;
            }
            bytes += n;
            share.push((start + layout.place(at), part));
            at += n as u64;
            rest = later;
        }
    }
    shares.push(share);
    cpu.try_map_owned(shares, |share| read_parts(file, share))?;
    Ok(())
}

/// Reads sorted parts of a file into their buffers. Parts that are close together are read in one call.
fn read_parts(file: &dyn ReadAt, mut parts: Vec<(u64, &mut [u8])>) -> Result<()> {
    let mut rest = &mut parts[..];
    while let Some((start, first)) = rest.first() {
        let (start, mut last) = (*start, start + first.len() as u64);
        let (mut n, mut wanted, mut apart) = (1, first.len(), true);
        while let Some((at, next)) = rest.get(n)
            && *at <= last + GAP_BYTES
            && at + next.len() as u64 - start <= GATHER_BYTES
        {
            // The part overlaps an earlier one.
            apart &= *at >= last;
            last = last.max(at + next.len() as u64);
            wanted += next.len();
            n += 1;
        }
        let (now, later) = rest.split_at_mut(n);
        if let [(at, out)] = now {
            file.read_at(out, *at)?;
        } else if HAS_FILES && apart && wanted >= n * LONG_BYTES && file.reads_parts_at_once() {
            scatter(file, now)?;
        } else {
            gather(file, now, start..last)?;
        }
        rest = later;
    }
    Ok(())
}

/// Reads long, disjoint parts directly into their buffers, and the gaps between them into a scratch buffer.
fn scatter(file: &dyn ReadAt, parts: &mut [(u64, &mut [u8])]) -> Result<()> {
    let (Some(&(start, _)), Some((last, _))) = (parts.first(), parts.split_last()) else {
        return Ok(());
    };
    let wanted: u64 = parts.iter().map(|p| p.1.len() as u64).sum();
    let holes = (last.0 + last.1.len() as u64 - start).saturating_sub(wanted);
    let mut scratch = sized(CHUNK.take(), holes)?;
    let (mut slices, mut hole, mut at) = (Vec::with_capacity(2 * parts.len()), &mut scratch[..], start);
    for (from, out) in parts {
        let (skipped, rest) = std::mem::take(&mut hole).split_at_mut((*from - at) as usize);
        hole = rest;
        if !skipped.is_empty() {
            slices.push(IoSliceMut::new(skipped));
        }
        at = *from + out.len() as u64;
        slices.push(IoSliceMut::new(out));
    }
    let done = file.read_parts_at(&mut slices, start);
    CHUNK.set(kept(scratch));
    done
}

/// Reads all bytes from the first part to the last into a scratch buffer, unless they are in memory, then copies the
/// parts.
fn gather(file: &dyn ReadAt, parts: &mut [(u64, &mut [u8])], all: Range<u64>) -> Result<()> {
    let copy = |gathered: &[u8]| {
        for (at, out) in parts {
            let from = (*at - all.start) as usize;
            out.copy_from_slice(&gathered[from..from + out.len()]);
        }
    };
    if let Some(held) = file.held(all.clone()) {
        copy(&held);
        return Ok(());
    }
    let mut gathered = sized(CHUNK.take(), all.end - all.start)?;
    file.read_at(&mut gathered, all.start)?;
    copy(&gathered);
    CHUNK.set(kept(gathered));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::block_on;
    use crate::vfs::{LocalVfs, Vfs, VfsExt};
    use proptest::prelude::*;

    /// Compares the parts read by `read_parts` with slices of the file.
    fn check(places: &[(u64, usize)]) {
        let content: Vec<u8> = (0..600_000_u32)
            .map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8)
            .collect();
        let dir = tempfile::tempdir().unwrap();
        let vfs = LocalVfs::new(dir.path());
        block_on(vfs.put("f", vec![content.clone().into()])).unwrap();
        let file = vfs.capabilities().local_reads.unwrap().open("f").unwrap();
        let mut out: Vec<Vec<u8>> = places.iter().map(|p| vec![0; p.1]).collect();
        let parts = places.iter().zip(&mut out).map(|(p, out)| (p.0, &mut out[..]));
        read_parts(&*file, parts.collect()).unwrap();
        for (&(at, bytes), found) in places.iter().zip(&out) {
            assert_eq!(
                found[..],
                content[at as usize..at as usize + bytes],
                "{bytes} bytes at {at}"
            );
        }
    }

    #[test]
    fn adjacent_and_distant_long_parts_are_read() {
        check(&[(8, 4000), (4008, 4000), (8020, 70_000), (100_000, 2000), (104_096, 1)]);
        check(&(0..700).map(|i| (i * 800, 800)).collect::<Vec<_>>());
        check(&(0..290).map(|i| (i * 2000, 1500)).collect::<Vec<_>>());
    }

    #[test]
    fn parts_may_overlap() {
        check(&[(5, 3000), (5, 3000), (1000, 3000), (9000, 3000)]);
    }

    #[test]
    fn parts_past_the_end_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = LocalVfs::new(dir.path());
        block_on(vfs.put("f", vec![vec![1; 5000].into()])).unwrap();
        let file = vfs.capabilities().local_reads.unwrap().open("f").unwrap();
        let (mut a, mut b) = (vec![0; 2000], vec![0; 2001]);
        assert!(read_parts(&*file, vec![(0, &mut a), (3000, &mut b)]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn parts_of_any_length_are_read(parts in prop::collection::vec((0_u64..6000, 0_usize..5000), 1..60)) {
            let (mut places, mut end) = (Vec::new(), 0);
            for (gap, bytes) in parts {
                places.push((end + gap, bytes));
                end += gap + bytes as u64;
            }
            places.retain(|p| p.0 + (p.1 as u64) < 600_000);
            check(&places);
        }
    }
}
