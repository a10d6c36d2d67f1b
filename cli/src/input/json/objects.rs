//! Finds the objects of a JSON text without reading it whole: one after another, in a list, or in a member of an object.

use std::io::BufRead;

use anyhow::{Result, bail, ensure};

use crate::input::sheet::ROW_BYTES_MAX;

/// The objects of a text, in order.
pub(super) struct Objects<'a> {
    source: Box<dyn BufRead + 'a>,
    line: u64,
    place: Place,
    /// Whether text may follow the list, because it is a member of an object.
    within: bool,
}

/// Where the next object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the start of the text, which may be a list.
    Start,
    /// After other objects that are in no list.
    Sequence,
    /// After the bracket of a list, or after an element.
    First,
    Further,
    /// After the list.
    End,
}

impl<'a> Objects<'a> {
    /// The objects of a text, or of a list.
    pub(super) fn new(source: Box<dyn BufRead + 'a>) -> Self {
        Self {
            source,
            line: 1,
            place: Place::Start,
            within: false,
        }
    }

    /// The objects of the list in the member `name` of an object. Gives the members before it to `other`.
    pub(super) fn in_member(
        source: Box<dyn BufRead + 'a>,
        name: &str,
        mut other: impl FnMut(&str, &[u8]) -> Result<()>,
    ) -> Result<Self> {
        let mut objects = Self::new(source);
        objects.expect(b'{')?;
        let mut text = Vec::new();
        loop {
            let first = objects.skip_blanks()?;
            if first == Some(b',') {
                objects.take();
                continue;
            }
            if first != Some(b'"') {
                bail!("line {}: there is no member \"{name}\" with a list", objects.line);
            }
            objects.value(&mut text)?;
            let key: String = serde_json::from_slice(&text)?;
            objects.expect(b':')?;
            if key == name {
                objects.expect(b'[')?;
                objects.place = Place::First;
                objects.within = true;
                return Ok(objects);
            }
            objects.skip_blanks()?;
            objects.value(&mut text)?;
            other(&key, &text)?;
        }
    }

    /// Reads the text of the next object. Returns the line on which it starts; `None` at the end.
    pub(super) fn next(&mut self, text: &mut Vec<u8>) -> Result<Option<u64>> {
        if self.place == Place::End {
            return Ok(None);
        }
        let mut first = self.skip_blanks()?;
        if self.place == Place::Start && first == Some(b'[') {
            self.take();
            self.place = Place::First;
            first = self.skip_blanks()?;
        }
        if matches!(self.place, Place::First | Place::Further) {
            if first == Some(b']') {
                self.take();
                self.place = Place::End;
                ensure!(
                    self.within || self.skip_blanks()?.is_none(),
                    "line {}: there is text after the list",
                    self.line
                );
                return Ok(None);
            }
            if self.place == Place::Further {
                self.expect(b',')?;
                first = self.skip_blanks()?;
            }
            ensure!(
                first.is_some(),
                "line {}: the list is not closed; the file is cut short",
                self.line
            );
        }
        match (first, self.place) {
            (None, _) => return Ok(None),
            (Some(b'{'), Place::Start | Place::Sequence) => self.place = Place::Sequence,
            (Some(b'{'), Place::First | Place::Further) => self.place = Place::Further,
            (Some(_), _) => bail!(
                "line {}: a row is an object such as {{\"a\": 1, \"b\": \"x\"}}, and something else is there",
                self.line
            ),
        }
        let line = self.line;
        self.value(text)?;
        Ok(Some(line))
    }

    /// Skips blanks and ends of lines, and returns the byte after them.
    fn skip_blanks(&mut self) -> Result<Option<u8>> {
        loop {
            let buffer = self.source.fill_buf()?;
            let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
            let blanks = buffer.iter().take_while(|b| blank(b)).count();
            let (skipped, rest) = buffer.split_at(blanks);
            let lines = skipped.iter().filter(|b| **b == b'\n').count() as u64;
            let (next, at_end) = (rest.first().copied(), buffer.is_empty());
            self.source.consume(blanks);
            self.line += lines;
            if next.is_some() || at_end {
                return Ok(next);
            }
        }
    }

    /// Takes the byte that was looked at.
    fn take(&mut self) {
        self.source.consume(1);
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        let found = self.skip_blanks()?;
        let shown = found.map_or("the end of the file".to_owned(), |b| format!("'{}'", b.escape_ascii()));
        ensure!(
            found == Some(byte),
            "line {}: '{}' is expected, but {shown} is there",
            self.line,
            char::from(byte)
        );
        self.take();
        Ok(())
    }

    /// Reads the text of a value: up to the bracket or the quote that closes it, or up to a comma or a blank.
    fn value(&mut self, text: &mut Vec<u8>) -> Result<()> {
        let line = self.line;
        text.clear();
        let mut scan = Scan::default();
        loop {
            let buffer = self.source.fill_buf()?;
            ensure!(
                !buffer.is_empty(),
                "line {line}: the object or text that starts there is not closed; the file is cut short"
            );
            let end = buffer.iter().position(|byte| scan.ends(*byte));
            // A number ends before the byte that ends it.
            let taken = end.map_or(buffer.len(), |end| end + usize::from(!scan.bare));
            let (part, _) = buffer.split_at(taken);
            text.extend_from_slice(part);
            self.line += part.iter().filter(|b| **b == b'\n').count() as u64;
            self.source.consume(taken);
            ensure!(
                text.len() <= ROW_BYTES_MAX,
                "the row on line {line} is longer than {} MiB; perhaps a quote or bracket in it is never closed",
                ROW_BYTES_MAX >> 20
            );
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

/// The place within a value.
#[derive(Debug, Default)]
struct Scan {
    started: bool,
    /// Whether the value is a number or a word.
    bare: bool,
    depth: u64,
    quoted: bool,
    escaped: bool,
}

impl Scan {
    /// Whether the value ends at this byte: with it, or before it if the value is bare.
    fn ends(&mut self, byte: u8) -> bool {
        if !self.started {
            self.started = true;
            self.bare = !matches!(byte, b'{' | b'[' | b'"');
        }
        if self.bare {
            return matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
        }
        if self.quoted {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.quoted = false;
                    return self.depth == 0;
                }
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.quoted = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use super::*;

    /// Reads in small steps, so that objects span buffers.
    fn source(text: &str) -> Box<dyn BufRead> {
        Box::new(BufReader::with_capacity(3, Cursor::new(text.as_bytes().to_vec())))
    }

    fn all(mut objects: Objects<'_>) -> Result<Vec<(u64, String)>> {
        let (mut found, mut text) = (Vec::new(), Vec::new());
        while let Some(line) = objects.next(&mut text)? {
            found.push((line, String::from_utf8(text.clone())?));
        }
        // Batches ask again at the end.
        assert_eq!(objects.next(&mut text)?, None);
        Ok(found)
    }

    #[test]
    fn objects_are_found_in_lines_and_lists() {
        let (a, b) = (r#"{"a":"}\"{"}"#, "{\"b\":[{\n}]}");
        let expected = [(2, a.to_owned()), (3, b.to_owned())];
        for text in [
            format!("\n{a}\n{b}\n"),
            format!("[\n{a},\n{b}]"),
            format!(" \n{a}\n  {b}"),
        ] {
            assert_eq!(all(Objects::new(source(&text))).unwrap(), expected, "{text}");
        }
        assert_eq!(all(Objects::new(source(""))).unwrap(), []);
        assert_eq!(all(Objects::new(source("[ ]\n"))).unwrap(), []);
    }

    #[test]
    fn a_list_in_a_member_is_found() {
        let mut others = Vec::new();
        let text = "{\"n\": 12, \"s\":\"x\",\n\"o\":{\"list\":[]}, \"list\" : [{\"a\":1},{}], \"later\":1}";
        let objects = Objects::in_member(source(text), "list", |key, value| {
            others.push(format!("{key}={}", String::from_utf8_lossy(value)));
            Ok(())
        });
        let found = all(objects.unwrap()).unwrap();
        assert_eq!(found, [(2, "{\"a\":1}".to_owned()), (2, "{}".to_owned())]);
        assert_eq!(others, ["n=12", "s=\"x\"", "o={\"list\":[]}"]);
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| all(Objects::new(source(text))).unwrap_err().to_string();
        assert!(
            error("{\"a\":1}\n12\n").starts_with("line 2: a row is an object"),
            "{}",
            error("{\"a\":1}\n12\n")
        );
        assert!(error("[{}\n{}]").starts_with("line 2: ',' is expected, but '{'"));
        assert!(error("[{},\n").contains("cut short"));
        assert!(error("{}\n{\"a\":\"").starts_with("line 2: the object"));
        assert!(error("[{}]\n{}").starts_with("line 2: there is text after the list"));
    }
}
