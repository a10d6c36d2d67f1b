//! XML as a tree of elements, with limits on its depth and size. Prefixes are left out of names and need no declaration:
//! GDAL writes `tiledb:` without one.

use std::borrow::Cow;
use std::str::FromStr;

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// The most elements that are read.
const ELEMENTS_MAX: usize = 1 << 18;
/// The deepest nesting.
const DEPTH_MAX: usize = 64;

/// An element with its attributes, its text and its children.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Element {
    /// Its name, without a prefix.
    pub name: String,
    /// Its text, with entities replaced.
    pub text: String,
    attributes: Vec<(String, String)>,
    /// The elements directly within it.
    pub children: Vec<Self>,
}

impl Element {
    /// The root element of a document. No entity but those of XML itself is known, and no other file is read.
    ///
    /// # Errors
    /// Says what is wrong with the document.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader::from_str(text);
        let mut open = vec![Self::default()];
        for _ in 0..4 * ELEMENTS_MAX {
            let event = reader.read_event().map_err(|e| e.to_string())?;
            match event {
                Event::Start(start) if open.len() <= DEPTH_MAX => open.push(Self::new(&start)),
                Event::Start(_) => return Err(format!("elements are nested deeper than {DEPTH_MAX}")),
                Event::Empty(start) => close(&mut open, Self::new(&start)),
                Event::End(_) => {
                    if let Some(done) = (open.len() > 1).then(|| open.pop()).flatten() {
                        close(&mut open, done);
                    }
                }
                Event::Text(t) => push(&mut open, &t.decode().map_err(|e| e.to_string())?),
                Event::CData(t) => push(&mut open, &t.decode().map_err(|e| e.to_string())?),
                Event::GeneralRef(r) => push(&mut open, &entity(&r).unwrap_or_default()),
                Event::Eof => {
                    let root = open.into_iter().next().and_then(|all| all.children.into_iter().next());
                    return root.ok_or_else(|| "there is no element".to_owned());
                }
                _ => {}
            }
        }
        Err(format!("more than {ELEMENTS_MAX} elements"))
    }

    fn new(start: &BytesStart<'_>) -> Self {
        let attribute = |a: quick_xml::events::attributes::Attribute<'_>| {
            let value = std::str::from_utf8(&a.value).ok()?;
            Some((local(a.key.local_name().as_ref()), unescape(value)))
        };
        Self {
            name: local(start.local_name().as_ref()),
            attributes: start
                .attributes()
                .with_checks(false)
                .flatten()
                .take(64)
                .filter_map(attribute)
                .collect(),
            ..Self::default()
        }
    }

    /// The value of the attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The value of an attribute as a number.
    pub fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.attribute(name)?.trim().parse().ok()
    }

    /// The children with this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> + 'a {
        self.children.iter().filter(move |c| c.name == name)
    }

    /// The first child with this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|c| c.name == name)
    }

    /// The text of the first child with this name, trimmed, unless it is empty.
    pub fn child_text(&self, name: &str) -> Option<&str> {
        self.child(name).map(|c| c.text.trim()).filter(|t| !t.is_empty())
    }
}

fn local(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Replaces entities by their characters. Text that is not well-formed stays as it is.
pub fn unescape(text: &str) -> String {
    quick_xml::escape::unescape(text).map_or_else(|_| text.to_owned(), Cow::into_owned)
}

/// Escapes text for an element or a quoted attribute.
pub fn escape(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}

fn close(open: &mut [Element], done: Element) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(done);
    }
}

fn push(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// A character reference or one of the five entities of XML.
fn entity(reference: &BytesRef<'_>) -> Option<String> {
    if let Ok(Some(c)) = reference.resolve_char_ref() {
        return Some(c.to_string());
    }
    let name = reference.decode().ok()?;
    quick_xml::escape::resolve_predefined_entity(&name).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_undeclared_prefixes_entities_and_attributes() {
        let root = Element::parse("<A><t:B k=\"x&amp;y\">1 &lt; &#50;</t:B><C/><C>2</C></A>").unwrap();
        assert_eq!((root.name.as_str(), root.all("C").count()), ("A", 2));
        assert_eq!(root.child_text("B"), Some("1 < 2"));
        assert_eq!(root.child("B").and_then(|b| b.attribute("k")), Some("x&y"));
    }

    #[test]
    fn broken_and_hostile_documents_are_errors() {
        for text in ["", "plain", "<A>", "</A>", "<A><B></A>", "<A"] {
            assert!(Element::parse(text).is_err(), "{text}");
        }
        let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
        assert!(Element::parse(&deep).unwrap_err().contains("deeper"));
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\">]><a>&b;</a>";
        assert_eq!(Element::parse(bomb).map(|a| a.text), Ok(String::new()));
        let many = format!("<a>{}</a>", "<b/>".repeat(5 * ELEMENTS_MAX));
        assert!(Element::parse(&many).unwrap_err().contains("more than"));
    }
}
