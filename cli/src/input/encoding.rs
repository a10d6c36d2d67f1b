//! Reads text files as UTF-8: drops a byte order mark, and decodes UTF-16.

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use anyhow::{Result, bail};

/// Bytes at the start of a file that are inspected, and the size of a read.
const HEAD_BYTES: usize = 64 << 10;

/// The text of `input`. The first buffer holds its first 64 KiB, or all of a shorter text.
///
/// Detects UTF-16 by its byte order mark or, without one, by its line ends.
pub(super) fn decoded<'a>(mut input: impl Read + 'a) -> Result<Box<dyn BufRead + 'a>> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let (mark, big_endian) = match head.as_slice() {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            bail!("the text is UTF-32; convert the file to UTF-8, for instance with iconv")
        }
        [0xef, 0xbb, 0xbf, ..] => (3, None),
        [0xff, 0xfe, ..] => (2, Some(false)),
        [0xfe, 0xff, ..] => (2, Some(true)),
        _ => (0, unmarked(&head)),
    };
    let mut head = Cursor::new(head);
    head.set_position(mark);
    let whole = head.chain(input);
    Ok(match big_endian {
        None => Box::new(BufReader::with_capacity(HEAD_BYTES, whole)),
        Some(big_endian) => Box::new(BufReader::with_capacity(HEAD_BYTES, Utf16::new(whole, big_endian))),
    })
}

/// Whether a text without a byte order mark is UTF-16, and if so, whether it is big-endian. UTF-16 decodes to text in
/// one of the two orders, and its line ends have a zero byte.
fn unmarked(head: &[u8]) -> Option<bool> {
    if !head.contains(&0) {
        return None;
    }
    let ascii = |big_endian| Some((ascii_units(head, big_endian)?, big_endian));
    let found = [ascii(false), ascii(true)].into_iter().flatten().max();
    found.map(|(_, big_endian)| big_endian)
}

/// How many ASCII characters `head` has as UTF-16. `None` if it is not text in this order, or has no line end.
fn ascii_units(head: &[u8], big_endian: bool) -> Option<usize> {
    let mut units: Vec<u16> = head.as_chunks::<2>().0.iter().map(|p| unit(*p, big_endian)).collect();
    // The second half of the last surrogate pair may follow.
    units.pop_if(|u| (0xd800..0xdc00).contains(u));
    let (mut ascii, mut ends) = (0, false);
    for c in char::decode_utf16(units) {
        let c = c
            .ok()
            .filter(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{85}'))?;
        if matches!(c, '\u{fffe}' | '\u{ffff}') {
            return None;
        }
        ascii += usize::from(c.is_ascii());
        ends |= matches!(c, '\n' | '\r');
    }
    ends.then_some(ascii)
}

fn unit(pair: [u8; 2], big_endian: bool) -> u16 {
    if big_endian {
        u16::from_be_bytes(pair)
    } else {
        u16::from_le_bytes(pair)
    }
}

/// Converts UTF-16 to UTF-8. Invalid code units are an error, because replacement characters would change the text.
struct Utf16<R> {
    inner: R,
    big_endian: bool,
    /// Bytes that were read but not decoded yet.
    raw: Vec<u8>,
    /// Bytes before `raw` in the file, without its byte order mark.
    before: u64,
    text: Cursor<Vec<u8>>,
}

impl<R: Read> Utf16<R> {
    fn new(inner: R, big_endian: bool) -> Self {
        Self {
            inner,
            big_endian,
            raw: Vec::new(),
            before: 0,
            text: Cursor::default(),
        }
    }

    /// Decodes more; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let read = self.inner.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut self.raw)?;
        let (pairs, odd) = self.raw.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().map(|pair| unit(*pair, self.big_endian)).collect();
        // Keep the first half of a surrogate pair until the second half is read.
        let half = read > 0 && units.last().is_some_and(|u| (0xd800..0xdc00).contains(u));
        if half {
            units.pop();
        }
        if read == 0 && !odd.is_empty() {
            return Err(self.broken(2 * units.len() as u64));
        }
        let mut text = Vec::with_capacity(units.len() * 2);
        let mut done = 0;
        for c in char::decode_utf16(units.iter().copied()) {
            let c = c.map_err(|_| self.broken(2 * done))?;
            text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            done += c.len_utf16() as u64;
        }
        self.raw.drain(..2 * units.len());
        self.before += 2 * units.len() as u64;
        self.text = Cursor::new(text);
        Ok(read > 0)
    }

    fn broken(&self, at: u64) -> io::Error {
        let at = self.before + at;
        io::Error::new(
            ErrorKind::InvalidData,
            format!("the text is UTF-16, and damaged {at} bytes from the start; export it again, as UTF-8 if possible"),
        )
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.text.read(to)?;
            if read > 0 || to.is_empty() || !self.fill()? {
                return Ok(read);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Result<String> {
        let mut text = String::new();
        decoded(bytes)?.read_to_string(&mut text)?;
        Ok(text)
    }

    fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
        let bytes = |u: u16| if big_endian { u.to_be_bytes() } else { u.to_le_bytes() };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn every_encoding_gives_the_same_text() {
        // Longer than a read, with characters of two units at its end.
        let long = "name,wert\nä,1\n".to_owned() + &"𝄞".repeat(HEAD_BYTES / 2) + "x\n";
        for expect in ["a,b\n1,2\n", long.as_str()] {
            assert_eq!(text(expect.as_bytes()).unwrap(), expect);
            assert_eq!(text(&[b"\xef\xbb\xbf", expect.as_bytes()].concat()).unwrap(), expect);
            for big_endian in [false, true] {
                let marked = utf16(&format!("\u{feff}{expect}"), big_endian);
                assert!(text(&marked).unwrap() == expect, "big-endian: {big_endian}");
            }
        }
        for big_endian in [false, true] {
            for plain in [
                "a,ü\n1,2\n",
                "a\n😀\n",
                "名,値\n一,東京\n",
                "名\n値",
                "日本語一覧\r😀😀😀",
            ] {
                let read = text(&utf16(plain, big_endian)).unwrap();
                assert_eq!(read, plain, "without a mark, big-endian: {big_endian}");
            }
        }
        assert_eq!(text(b"").unwrap(), "");
        assert_eq!(text(b"a,b\n\0,2\n").unwrap(), "a,b\n\0,2\n");
    }

    #[test]
    fn damaged_text_is_an_error_that_says_where() {
        let mut bytes = utf16("\u{feff}ab", false);
        bytes.extend([0x00, 0xd8, b'c', 0]);
        assert!(text(&bytes).unwrap_err().to_string().contains("damaged 4 bytes"));
        bytes.truncate(7);
        assert!(text(&bytes).unwrap_err().to_string().contains("damaged 4 bytes"));
        assert!(text(b"\xff\xfe\0\0a\0\0\0").unwrap_err().to_string().contains("UTF-32"));
    }
}
