//! XML as a tree, with limits on its depth and size.

use std::borrow::Cow;

use anyhow::{Context as _, Result, ensure};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// The deepest nesting that is read.
const DEPTH_MAX: usize = 64;
/// The most elements that are read.
const ELEMENTS_MAX: usize = 1 << 20;

/// An element. Namespace prefixes are left out of its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) children: Vec<Self>,
}

impl Element {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The value of an attribute as a number.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.attribute(name)?.trim().parse().ok()
    }

    /// The children with this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> + 'a {
        self.children.iter().filter(move |c| c.name == name)
    }

    /// The first child with this name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|c| c.name == name)
    }

    fn new(start: &BytesStart<'_>) -> Result<Self> {
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.context("an attribute is malformed")?;
            let value = String::from_utf8_lossy(&attribute.value);
            attributes.push((local(attribute.key.local_name().as_ref()), unescape(&value)));
        }
        Ok(Self {
            name: local(start.local_name().as_ref()),
            attributes,
            ..Self::default()
        })
    }
}

fn local(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Parses a document to its root element.
///
/// # Errors
/// The text is not well-formed XML, or too large or too deep.
pub(crate) fn parse(text: &str) -> Result<Element> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = vec![Element::default()];
    for _ in 0..ELEMENTS_MAX {
        let event = reader.read_event();
        match event.with_context(|| format!("malformed XML at byte {}", reader.error_position()))? {
            Event::Start(start) => {
                ensure!(open.len() < DEPTH_MAX, "more than {DEPTH_MAX} nested elements");
                open.push(Element::new(&start)?);
            }
            Event::Empty(start) => {
                let element = Element::new(&start)?;
                last(&mut open)?.children.push(element);
            }
            Event::End(_) => {
                let done = open.pop().context("an element ends twice")?;
                last(&mut open)?.children.push(done);
            }
            Event::Text(text) => {
                let text = String::from_utf8_lossy(&text);
                last(&mut open)?.text.push_str(&text);
            }
            Event::CData(text) => {
                let text = String::from_utf8_lossy(&text);
                last(&mut open)?.text.push_str(&text);
            }
            Event::GeneralRef(name) => {
                let entity = format!("&{};", String::from_utf8_lossy(&name));
                last(&mut open)?.text.push_str(&unescape(&entity));
            }
            Event::Eof => {
                let [document] = <[Element; 1]>::try_from(open).ok().context("an element does not end")?;
                return document.children.into_iter().next().context("there is no element");
            }
            _ => {}
        }
    }
    anyhow::bail!("more than {ELEMENTS_MAX} elements")
}

fn last(open: &mut [Element]) -> Result<&mut Element> {
    open.last_mut().context("an element ends twice")
}

/// Replaces entities by their characters. Text that is not well-formed stays as it is.
pub(crate) fn unescape(text: &str) -> String {
    quick_xml::escape::unescape(text).map_or_else(|_| text.to_owned(), Cow::into_owned)
}

/// Escapes text for an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_attributes_and_text_are_read() {
        let root =
            parse("<?xml version='1.0'?><a:r xmlns:a='x'><i n='1 &lt; 2'>p &amp; &#x3bc;q</i><j/></a:r>").unwrap();
        let item = root.child("i").unwrap();
        assert_eq!((root.name.as_str(), item.text.as_str()), ("r", "p & μq"));
        assert_eq!(item.attribute("n"), Some("1 < 2"));
        assert_eq!(root.all("j").count(), 1);
    }

    #[test]
    fn broken_and_deep_documents_are_errors() {
        for text in ["", "<a>", "<a></b>", "</a>", "text"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let deep = "<a>".repeat(100) + &"</a>".repeat(100);
        assert!(parse(&deep).unwrap_err().to_string().contains("nested"));
    }
}
