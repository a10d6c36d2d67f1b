//! Checksums of the metadata and data of a chunk, both of which are left unchanged.
//!
//! Header: `metadata parts u32 | data parts u32 | per part: size u64, digest`.

use md5::Md5;
use sha2::{Digest, Sha256};

use crate::error::Malformed;
use crate::filter::chunk::{ChunkHeaders, ChunkMetadata, PartCounts, len32, split};
use crate::format::cursor::{Decoded, Reader, Writer};

/// The digest algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filter) enum Checksum {
    /// 16 bytes.
    Md5,
    /// 32 bytes.
    Sha256,
}

impl Checksum {
    const fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5 checksum",
            Self::Sha256 => "sha256 checksum",
        }
    }

    const fn digest_bytes(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha256 => 32,
        }
    }

    fn put_digest(self, bytes: &[u8], w: &mut Writer) {
        match self {
            Self::Md5 => w.put(&Md5::digest(bytes)),
            Self::Sha256 => w.put(&Sha256::digest(bytes)),
        };
    }

    /// Adds a header with the digests of a chunk.
    ///
    /// # Errors
    /// Never in practice: there are fewer parts than filters.
    pub(in crate::filter) fn note(self, headers: &mut ChunkHeaders, data: &[u8]) -> Result<(), Malformed> {
        let mut w = Writer::new();
        w.u32(len32(headers.0.len())?).u32(1);
        for part in headers.0.iter().map(Vec::as_slice).chain([data]) {
            w.u64(part.len() as u64);
            self.put_digest(part, &mut w);
        }
        headers.put(w.into_bytes());
        Ok(())
    }

    /// Checks the digests of a chunk.
    ///
    /// # Errors
    /// A digest does not match.
    pub(in crate::filter) fn verify(self, meta: &mut ChunkMetadata<'_>, data: &[u8]) -> Decoded<()> {
        let part_bytes = 8 + self.digest_bytes();
        let (counts, list) = meta.read(|r| {
            let counts = PartCounts::read(r, part_bytes)?;
            let n = (u64::from(counts.metadata) + u64::from(counts.data)) * part_bytes as u64;
            Ok((counts, r.take_u64(n, "checksums")?.to_vec()))
        })?;
        let mut list = Reader::new(&list);
        let (mut headers, mut data) = (meta.rest(), data);
        for _ in 0..counts.metadata {
            self.verify_part(&mut list, &mut headers)?;
        }
        for _ in 0..counts.data {
            self.verify_part(&mut list, &mut data)?;
        }
        Ok(())
    }

    fn verify_part(self, list: &mut Reader<'_>, rest: &mut &[u8]) -> Decoded<()> {
        let part = split(rest, list.u64("bytes under a checksum")?, self.name())?;
        let noted = list.take(self.digest_bytes(), self.name())?;
        let mut w = Writer::new();
        self.put_digest(part, &mut w);
        if w.into_bytes() == noted {
            return Ok(());
        }
        Err(Malformed::new(self.name(), 0, "does not match the data"))
    }
}
