//! Classic files whose names or texts are Latin-1, as older programs wrote them. The library refuses such names, and
//! loses such characters of texts, so it reads a copy in which each of these bytes is a control character.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::metadata::MetaValue;
use tempfile::NamedTempFile;

/// The most bytes of a header.
const HEADER_BYTES_MAX: u64 = 64 << 20;
/// The tags of the lists of dimensions, variables and attributes. An empty list may have the tag 0.
const TAGS: [u64; 4] = [0, 10, 11, 12];
/// The type of texts.
const CHAR: u64 = 2;
/// The bytes of a value, by its type less one.
const VALUE_BYTES: [u64; 11] = [1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8];

/// The control characters of a copy, and what they stand for. Empty if the file itself is read.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<(u8, u8)>);

impl Marks {
    /// The text with the characters of the file.
    pub(super) fn restored(&self, text: &str) -> String {
        let real = |c: char| {
            let mark = self.0.iter().find(|(mark, _)| char::from(*mark) == c);
            mark.map_or(c, |(_, byte)| char::from(*byte))
        };
        text.chars().map(real).collect()
    }

    /// The same for a value of metadata.
    pub(super) fn restored_value(&self, value: MetaValue) -> MetaValue {
        match std::str::from_utf8(&value.data) {
            Ok(text) if value.datatype.is_string() && !self.0.is_empty() => MetaValue::text(&self.restored(text)),
            _ => value,
        }
    }
}

/// A copy of the file to read in its place; `None` if all names and texts are UTF-8, or if the header is damaged, which
/// the library explains better.
///
/// # Errors
/// The file cannot be copied.
pub(super) fn readable_copy(path: &Path) -> Result<Option<(NamedTempFile, Marks)>> {
    let file = File::open(path)?;
    let Ok(header) = Header::read(BufReader::new(&file)) else {
        return Ok(None);
    };
    let Some(marks) = header.marks() else { return Ok(None) };
    let mut copy = NamedTempFile::new().context("cannot create a temporary file")?;
    let copied = std::io::copy(&mut File::open(path)?, &mut copy);
    copied.context("cannot copy the file to the temporary folder; set TMPDIR to a folder on a larger disk")?;
    for (offset, text) in &header.latin1 {
        let marked = |byte: &u8| {
            marks
                .0
                .iter()
                .find(|(_, real)| real == byte)
                .map_or(*byte, |(mark, _)| *mark)
        };
        copy.seek(SeekFrom::Start(*offset))?;
        copy.write_all(&text.iter().map(marked).collect::<Vec<_>>())?;
    }
    copy.flush()?;
    Ok(Some((copy, marks)))
}

/// The names and texts of a header.
struct Header<R> {
    input: R,
    /// Bytes that were read.
    at: u64,
    /// Bytes of a count, and of the offset of a variable.
    count_bytes: u64,
    offset_bytes: u64,
    /// The bytes that occur in names and texts.
    used: BTreeSet<u8>,
    /// The offset and the bytes of each text that is not UTF-8.
    latin1: Vec<(u64, Vec<u8>)>,
}

impl<R: Read> Header<R> {
    /// Reads a header: the lists of dimensions, attributes and variables.
    fn read(input: R) -> Result<Self> {
        let mut header = Self {
            input,
            at: 0,
            count_bytes: 4,
            offset_bytes: 8,
            used: BTreeSet::new(),
            latin1: Vec::new(),
        };
        match header.bytes(4)?.as_slice() {
            b"CDF\x01" => header.offset_bytes = 4,
            b"CDF\x02" => {}
            b"CDF\x05" => header.count_bytes = 8,
            _ => bail!("this is not a classic NetCDF file"),
        }
        header.count()?;
        for _ in 0..header.list()? {
            header.name()?;
            header.count()?;
        }
        header.attributes()?;
        for _ in 0..header.list()? {
            header.name()?;
            for _ in 0..header.count()? {
                header.count()?;
            }
            header.attributes()?;
            header.number(4)?;
            header.count()?;
            header.number(header.offset_bytes)?;
        }
        Ok(header)
    }

    fn attributes(&mut self) -> Result<()> {
        for _ in 0..self.list()? {
            self.name()?;
            let kind = self.number(4)?;
            let values = self.count()?;
            let width = usize::try_from(kind)
                .ok()
                .and_then(|n| VALUE_BYTES.get(n.checked_sub(1)?));
            let bytes = values.checked_mul(*width.context("an attribute has an unknown type")?);
            self.padded(bytes.context("an attribute is too long")?, kind == CHAR)?;
        }
        Ok(())
    }

    /// The number of elements of a list.
    fn list(&mut self) -> Result<u64> {
        let tag = self.number(4)?;
        ensure!(TAGS.contains(&tag), "the list at {} is damaged", self.at);
        self.count()
    }

    fn name(&mut self) -> Result<()> {
        let bytes = self.count()?;
        self.padded(bytes, true)
    }

    /// Bytes that fill a multiple of four.
    fn padded(&mut self, bytes: u64, is_text: bool) -> Result<()> {
        let offset = self.at;
        let text = self.bytes(bytes)?;
        self.bytes(bytes.next_multiple_of(4) - bytes)?;
        if is_text {
            self.used.extend(&text);
            if std::str::from_utf8(&text).is_err() {
                self.latin1.push((offset, text));
            }
        }
        Ok(())
    }

    fn count(&mut self) -> Result<u64> {
        self.number(self.count_bytes)
    }

    fn number(&mut self, bytes: u64) -> Result<u64> {
        let bytes = self.bytes(bytes)?;
        Ok(bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    fn bytes(&mut self, count: u64) -> Result<Vec<u8>> {
        ensure!(count <= HEADER_BYTES_MAX - self.at, "the header is too long");
        let mut bytes = Vec::new();
        self.input.by_ref().take(count).read_to_end(&mut bytes)?;
        ensure!(bytes.len() as u64 == count, "the header is cut short");
        self.at += count;
        Ok(bytes)
    }

    /// A control character that no text has for each Latin-1 byte; `None` if there are no such bytes, or too many.
    fn marks(&self) -> Option<Marks> {
        let bytes: BTreeSet<u8> = self.latin1.iter().flat_map(|(_, text)| text).copied().collect();
        let bytes: Vec<u8> = bytes.into_iter().filter(|byte| !byte.is_ascii()).collect();
        let controls = (1..b' ').filter(|c| !c.is_ascii_whitespace() && !self.used.contains(c));
        let marks: Vec<(u8, u8)> = controls.zip(bytes.iter().copied()).collect();
        (!bytes.is_empty() && marks.len() == bytes.len()).then_some(Marks(marks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(text: &[u8]) -> Vec<u8> {
        let mut out = (text.len() as u32).to_be_bytes().to_vec();
        out.extend(text);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    /// A file without variables that has a dimension and an attribute.
    fn file(name: &[u8], text: &[u8]) -> Vec<u8> {
        let numbers = |list: &[u32]| list.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<_>>();
        [
            b"CDF\x01".to_vec(),
            numbers(&[0, 10, 1]),
            padded(b"x"),
            numbers(&[3, 12, 1]),
            padded(name),
            numbers(&[2]),
            padded(text),
            numbers(&[0, 0]),
        ]
        .concat()
    }

    #[test]
    fn bytes_of_latin1_are_marked_and_restored() {
        let file = file(b"gr\xf6\xdfe", b"12 \xb0C");
        let header = Header::read(file.as_slice()).unwrap();
        let texts: Vec<&[u8]> = header.latin1.iter().map(|(_, text)| text.as_slice()).collect();
        assert_eq!(texts, [b"gr\xf6\xdfe".as_slice(), b"12 \xb0C"]);
        let marks = header.marks().unwrap();
        assert_eq!(marks.restored("gr\u{3}\u{2}e, 12 \u{1}C"), "größe, 12 °C");
        let value = marks.restored_value(MetaValue::text("12 \u{1}C"));
        assert_eq!(value, MetaValue::text("12 °C"));
    }

    #[test]
    fn utf8_and_damaged_headers_need_no_copy() {
        let whole = file("größe".as_bytes(), b"");
        assert!(Header::read(whole.as_slice()).unwrap().marks().is_none());
        for end in 0..whole.len() {
            assert!(Header::read(&whole[..end]).is_err(), "{end}");
        }
        let mut long = whole;
        long[8..12].fill(0xff);
        assert!(Header::read(long.as_slice()).is_err());
    }
}
