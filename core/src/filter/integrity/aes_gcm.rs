//! AES-256-GCM over the metadata and data of a chunk, without associated data.
//!
//! Header: `metadata parts u32 | data parts u32 | per part: plaintext size u32, ciphertext size u32, initialisation
//! vector [12], tag [16]`. The encrypted parts follow each other, metadata first.

use aes_gcm::aead::AeadInOut;
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::{Aes256Gcm, KeyInit};

use crate::error::Malformed;
use crate::filter::chunk::{ChunkHeaders, ChunkMetadata, PartCounts, filled, len32, split, split_mut};
use crate::filter::{Key, Nonces};
use crate::format::cursor::{Decoded, Reader, Writer};

const VECTOR_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
const PART_BYTES: usize = 8 + VECTOR_BYTES + TAG_BYTES;

/// Appends the encrypted metadata and `data`.
///
/// # Errors
/// There are no nonces.
#[inline(never)] // The browser loads it separately.
pub(in crate::filter) fn encode(
    key: &Key,
    nonces: &Nonces,
    headers: &mut ChunkHeaders,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let cipher = Aes256Gcm::new(&key.0.into());
    let parts = headers.take();
    let mut w = Writer::new();
    w.u32(len32(parts.len())?).u32(1);
    for part in parts.iter().map(Vec::as_slice).chain([data]) {
        let vector = nonces
            .next()
            .ok_or_else(|| Malformed::key("encryption", "no seed was given for initialisation vectors"))?;
        let start = out.len();
        out.extend_from_slice(part);
        let place = out.get_mut(start..).unwrap_or_default();
        let tag = cipher.encrypt_inout_detached(&vector.into(), &[], InOutBuf::from(place));
        let tag = tag.map_err(|_| Malformed::unsupported("encryption", "a part is too long"))?;
        let length = len32(part.len())?;
        w.u32(length).u32(length).put(&vector).put(&tag);
    }
    headers.put(w.into_bytes());
    Ok(())
}

/// The size of the data that [`decode`] will produce, according to the header at `r`.
///
/// # Errors
/// The header is damaged.
pub(in crate::filter) fn plain_bytes(r: &mut Reader<'_>) -> Decoded<u64> {
    let counts = PartCounts::read(r, PART_BYTES)?;
    let mut total = 0;
    for i in 0..u64::from(counts.metadata) + u64::from(counts.data) {
        let bytes = r.u32("plain bytes of a part")?;
        r.take(PART_BYTES - 4, "part")?;
        if i >= u64::from(counts.metadata) {
            total += u64::from(bytes);
        }
    }
    Ok(total)
}

/// Decrypts the data into `out` and returns the decrypted metadata.
///
/// # Errors
/// The key is wrong, or the chunk was modified.
#[inline(never)] // The browser loads it separately.
pub(in crate::filter) fn decode(
    key: &Key,
    meta: &mut ChunkMetadata<'_>,
    mut data: &[u8],
    mut out: &mut [u8],
) -> Decoded<ChunkMetadata<'static>> {
    let cipher = Aes256Gcm::new(&key.0.into());
    let mut headers = Vec::new();
    meta.read(|r| {
        let counts = PartCounts::read(r, PART_BYTES)?;
        for _ in 0..counts.metadata {
            let part = EncryptedPart::read(r, &mut data)?;
            // Bounded, because the plaintext is as long as the ciphertext.
            let start = headers.len();
            headers.resize(start + part.encrypted.len(), 0);
            part.decrypt(&cipher, headers.get_mut(start..).unwrap_or_default())?;
        }
        for _ in 0..counts.data {
            let part = EncryptedPart::read(r, &mut data)?;
            part.decrypt(
                &cipher,
                split_mut(&mut out, part.encrypted.len() as u64, "encrypted part")?,
            )?;
        }
        Ok(())
    })?;
    filled(data, "encryption")?;
    filled(out, "encryption")?;
    Ok(ChunkMetadata::unpacked(headers))
}

struct EncryptedPart<'a> {
    encrypted: &'a [u8],
    vector: [u8; VECTOR_BYTES],
    tag: [u8; TAG_BYTES],
}

impl<'a> EncryptedPart<'a> {
    fn read(r: &mut Reader<'_>, data: &mut &'a [u8]) -> Decoded<Self> {
        let (plain, encrypted) = (r.u32("plain bytes of a part")?, r.u32("encrypted bytes of a part")?);
        if plain != encrypted {
            return Err(r.malformed(
                "encrypted part",
                format!("{encrypted} encrypted bytes for {plain} bytes"),
            ));
        }
        let (vector, tag) = (r.array("initialisation vector")?, r.array("tag")?);
        Ok(Self {
            encrypted: split(data, u64::from(encrypted), "encrypted part")?,
            vector,
            tag,
        })
    }

    fn decrypt(&self, cipher: &Aes256Gcm, out: &mut [u8]) -> Decoded<()> {
        let both =
            InOutBuf::new(self.encrypted, out).map_err(|_| Malformed::new("encrypted part", 0, "lengths differ"))?;
        let opened = cipher.decrypt_inout_detached(&self.vector.into(), &[], both, &self.tag.into());
        opened.map_err(|_| Malformed::key("encryption", "the key is wrong, or the data is damaged"))
    }
}
