//! Unpacks text that is compressed with gzip or zstd, while it is read.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

/// The first bytes of the kinds of compression that are unpacked.
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Whether a file with these first bytes is unpacked.
pub(super) fn is_packed(head: &[u8]) -> bool {
    head.starts_with(GZIP) || head.starts_with(ZSTD)
}

/// The text of `input`, which may be compressed.
pub(super) fn unpacked<'a>(mut input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut head = Vec::new();
    input.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let (gzip, zstd) = (head.starts_with(GZIP), head.starts_with(ZSTD));
    let whole = io::Cursor::new(head).chain(input);
    Ok(match (gzip, zstd) {
        (true, _) => Box::new(Checked {
            inner: MultiGzDecoder::new(io::BufReader::new(whole)),
            kind: "gzip",
        }),
        (_, true) => Box::new(Checked {
            inner: zstd::Decoder::new(whole)?,
            kind: "zstd",
        }),
        _ => Box::new(whole),
    })
}

/// Says in errors what is damaged.
struct Checked<R> {
    inner: R,
    kind: &'static str,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.inner.read(to).map_err(|e| {
            let kind = self.kind;
            io::Error::new(
                e.kind(),
                format!("the file is compressed with {kind}, and damaged or cut short ({e}); fetch it again"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        unpacked(bytes)?.read_to_end(&mut text)?;
        Ok(text)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn gzip_and_zstd_are_unpacked() {
        let text = b"a,b\n1,2\n".repeat(1000);
        let (gz, zst) = (gzip(&text), zstd::encode_all(text.as_slice(), 3).unwrap());
        for packed in [&gz, &zst] {
            assert!(is_packed(packed));
            assert_eq!(read(packed).unwrap(), text);
            // Some programs write several parts.
            assert_eq!(read(&[packed.as_slice(), packed].concat()).unwrap(), text.repeat(2));
            let error = read(packed.get(..packed.len() / 2).unwrap()).unwrap_err();
            assert!(error.to_string().contains("cut short"), "{error}");
        }
        assert_eq!(read(b"a,b").unwrap(), b"a,b");
        assert_eq!(read(b"").unwrap(), b"");
    }
}
