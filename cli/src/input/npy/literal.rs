//! Parses the Python literals that numpy writes: dictionaries, tuples, lists, strings, integers, booleans.

use anyhow::{Result, bail, ensure};

const DEPTH_MAX: u32 = 16;

/// A Python literal; tuples are lists.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Integer(i64),
    Bool(bool),
    None,
    List(Vec<Literal>),
    Dictionary(Vec<(Literal, Literal)>),
}

impl Literal {
    /// The value of this key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Dictionary(entries) = self else { return None };
        entries
            .iter()
            .find(|(k, _)| matches!(k, Self::Text(k) if k == key))
            .map(|(_, v)| v)
    }

    /// The items of a tuple of integers that are not negative, or a single such integer.
    pub(super) fn integers(&self) -> Option<Vec<u64>> {
        let whole = |l: &Self| {
            if let Self::Integer(n) = l {
                u64::try_from(*n).ok()
            } else {
                None
            }
        };
        match self {
            Self::List(items) => items.iter().map(whole).collect(),
            one => Some(vec![whole(one)?]),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Literal> {
    let mut parser = Parser { rest: text.trim() };
    let value = parser.value(0)?;
    parser.space();
    ensure!(parser.rest.is_empty(), "'{}' is left over", parser.rest);
    Ok(value)
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: u32) -> Result<Literal> {
        ensure!(depth < DEPTH_MAX, "it is nested too deeply");
        self.space();
        for (open, close) in [("(", ")"), ("[", "]")] {
            if self.take(open) {
                return self.list(close, depth);
            }
        }
        if self.take("{") {
            return self.dictionary(depth);
        }
        for (word, value) in [
            ("True", Literal::Bool(true)),
            ("False", Literal::Bool(false)),
            ("None", Literal::None),
        ] {
            if self.take(word) {
                return Ok(value);
            }
        }
        match self.rest.chars().next() {
            Some('\'' | '"' | 'u' | 'b') => self.text(),
            Some('0'..='9' | '-') => self.integer(),
            _ => bail!(
                "a value is missing at '{}'",
                self.rest.chars().take(20).collect::<String>()
            ),
        }
    }

    fn list(&mut self, close: &str, depth: u32) -> Result<Literal> {
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(self.value(depth + 1)?);
            if !self.take(",") && !self.rest.trim_start().starts_with(close) {
                bail!(
                    "a comma is missing at '{}'",
                    self.rest.chars().take(20).collect::<String>()
                );
            }
        }
        Ok(Literal::List(items))
    }

    fn dictionary(&mut self, depth: u32) -> Result<Literal> {
        let mut entries = Vec::new();
        while !self.take("}") {
            let key = self.value(depth + 1)?;
            ensure!(self.take(":"), "a colon is missing");
            entries.push((key, self.value(depth + 1)?));
            ensure!(
                self.take(",") || self.rest.trim_start().starts_with('}'),
                "a comma is missing"
            );
        }
        Ok(Literal::Dictionary(entries))
    }

    fn integer(&mut self) -> Result<Literal> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_digit() && c != '-')
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        // Python 2 marks long integers with an L.
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        Ok(Literal::Integer(digits.parse()?))
    }

    fn text(&mut self) -> Result<Literal> {
        let mut chars = self.rest.trim_start_matches(['u', 'b']).chars();
        let Some(quote @ ('\'' | '"')) = chars.next() else {
            bail!("a string is missing its quotes")
        };
        let mut text = String::new();
        loop {
            match chars.next() {
                Some(c) if c == quote => break,
                Some('\\') => match chars.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(c) => text.push(c),
                    None => bail!("a string does not end"),
                },
                Some(c) => text.push(c),
                None => bail!("a string does not end"),
            }
        }
        self.rest = chars.as_str();
        Ok(Literal::Text(text))
    }
}
