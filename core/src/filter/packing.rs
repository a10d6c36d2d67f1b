//! Chunks that are compressed with a single codec that other programs support too.

use crate::format::pipeline::{Filter, Pipeline};
use crate::format::tile::ChunkPlace;

/// The codec of chunks that are compressed and not otherwise filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// No compression.
    Plain,
    /// A Zstandard frame.
    Zstd,
}

impl Packing {
    /// Number of bytes that identify compressed data.
    pub(crate) const MAGIC_BYTES: usize = 4;

    /// The codec of this pipeline; `None` if it has other filters or more than one.
    pub(crate) fn of(pipeline: &Pipeline) -> Option<Self> {
        let mut filters = pipeline.filters.iter().filter(|f| **f != Filter::None);
        let packing = match filters.next() {
            None => Self::Plain,
            Some(Filter::Zstd { .. }) => Self::Zstd,
            Some(_) => return None,
        };
        filters.next().is_none().then_some(packing)
    }

    /// Whether the data of a chunk is a single compressed stream. `head` is the chunk's metadata and the first
    /// [`Packing::MAGIC_BYTES`] of its data.
    pub(crate) fn is_alone(self, chunk: &ChunkPlace, head: &[u8]) -> bool {
        if self == Self::Plain {
            return chunk.metadata_bytes == 0 && chunk.data_bytes == chunk.plain_bytes;
        }
        let header = self.metadata(chunk.plain_bytes, chunk.data_bytes);
        let Some((metadata, magic)) = head.split_at_checked(header.len()) else {
            return false;
        };
        chunk.metadata_bytes as usize == header.len() && metadata == header && self.starts(magic)
    }

    /// The metadata of a chunk with these sizes.
    pub(crate) fn metadata(self, plain_bytes: u32, packed_bytes: u32) -> Vec<u8> {
        if self == Self::Plain {
            return Vec::new();
        }
        // The header of compression filters: no metadata parts, one data part, and its sizes.
        let header = [0, 1, plain_bytes, packed_bytes];
        header.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Whether compressed data can start with these bytes.
    fn starts(self, magic: &[u8]) -> bool {
        match (self, magic) {
            (Self::Plain, _) => true,
            (Self::Zstd, magic) => magic == [0x28, 0xb5, 0x2f, 0xfd],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Nonces, TileFormat, encode_tile};
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::error::Malformed;
    use crate::format::tile::locate;

    #[test]
    fn pipelines_of_at_most_one_codec_have_a_packing() {
        let of = |filters: Vec<Filter>| Packing::of(&Pipeline::new(filters));
        assert_eq!(of(vec![]), Some(Packing::Plain));
        assert_eq!(of(vec![Filter::None, Filter::None]), Some(Packing::Plain));
        assert_eq!(of(vec![Filter::None, Filter::Zstd { level: -1 }]), Some(Packing::Zstd));
        for others in [
            vec![Filter::Lz4 { level: 1 }],
            vec![Filter::Byteshuffle, Filter::Zstd { level: 3 }],
            vec![Filter::Zstd { level: 3 }, Filter::Md5],
            vec![Filter::Zstd { level: 3 }, Filter::Zstd { level: 3 }],
            // Zarr has no codec for zlib streams.
            vec![Filter::Gzip { level: 3 }],
        ] {
            assert_eq!(of(others.clone()), None, "{others:?}");
        }
    }

    /// The only chunk of a tile with these filters, and the bytes of the tile from the chunk's metadata on.
    fn chunk(filters: Vec<Filter>) -> (ChunkPlace, Vec<u8>) {
        let format = TileFormat::new(Datatype::Int32, CellCount::ONE);
        let pipeline = Pipeline::new(filters);
        let tile = encode_tile(&[7; 400], &pipeline, &format, &Nonces::none()).unwrap();
        let read = |at: u64, out: &mut [u8]| {
            out.copy_from_slice(&tile[at as usize..][..out.len()]);
            Ok::<_, Malformed>(())
        };
        let place = locate(tile.len() as u64, read).unwrap()[0];
        (place, tile[place.start as usize..].to_vec())
    }

    #[test]
    fn chunks_are_identified_by_their_header_and_first_bytes() {
        let all = [
            (Packing::Plain, vec![]),
            (Packing::Zstd, vec![Filter::Zstd { level: -1 }]),
        ];
        for (packing, filters) in &all {
            for (other, wrong) in &all {
                let (place, bytes) = chunk(wrong.clone());
                let head = &bytes[..place.metadata_bytes as usize + Packing::MAGIC_BYTES];
                assert_eq!(packing.is_alone(&place, head), packing == other, "{packing:?}");
            }
            let (place, bytes) = chunk(filters.clone());
            if *packing == Packing::Plain {
                continue;
            }
            for i in 0..16 {
                let mut head = bytes[..20].to_vec();
                head[i] ^= 1;
                assert!(!packing.is_alone(&place, &head), "{packing:?} with another byte {i}");
                assert!(!packing.is_alone(&place, &head[..i]));
            }
        }
        // The checksum is compressed as metadata, so the data has two streams.
        let (place, bytes) = chunk(vec![Filter::Md5, Filter::Zstd { level: 3 }]);
        let head = &bytes[..place.metadata_bytes as usize + Packing::MAGIC_BYTES];
        assert!(!Packing::Zstd.is_alone(&place, head));
    }
}
