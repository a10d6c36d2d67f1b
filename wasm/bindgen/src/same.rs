//! Lets two builds of the engine share their bindings.

use std::collections::HashMap;

use anyhow::ensure;

/// The start of names that the bindings give to functions that JavaScript calls through pointers. A number follows,
/// which differs between builds.
const NUMBERED: &str = "__wasm_bindgen_func_elem_";

/// The exports of the build with the bindings `from` that have other names in the bindings `to`: old names and new
/// names.
///
/// # Errors
/// If the bindings differ in more than such names.
pub(crate) fn renamed(from: &str, to: &str) -> anyhow::Result<HashMap<String, String>> {
    let (old, new) = (Names::of(from), Names::of(to));
    ensure!(
        old.rest == new.rest,
        "the bindings of the two builds differ in more than the numbers of functions; build both from the same sources"
    );
    let renamed: HashMap<String, String> = old.numbered.into_iter().zip(new.numbered).collect();
    Ok(renamed)
}

/// A text, split into numbered names and the rest.
struct Names<'a> {
    numbered: Vec<String>,
    rest: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn of(text: &'a str) -> Self {
        let mut parts = text.split(NUMBERED);
        let mut rest: Vec<&str> = parts.next().into_iter().collect();
        let mut numbered = Vec::new();
        for part in parts {
            let end = part
                .find(|c: char| !c.is_ascii_digit() && c != '_')
                .unwrap_or(part.len());
            let (number, after) = part.split_at(end);
            numbered.push(format!("{NUMBERED}{number}"));
            rest.push(after);
        }
        Self { numbered, rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_are_matched_in_order() {
        let js = |a, b| format!("wasm.{NUMBERED}{a}(x); wasm.{NUMBERED}{b}(y); f();");
        let found = renamed(&js(7, "9_1"), &js(8, "10_2")).unwrap();
        let name = |number: &str| format!("{NUMBERED}{number}");
        assert_eq!(
            found,
            HashMap::from([(name("7"), name("8")), (name("9_1"), name("10_2"))])
        );
        assert!(renamed(&js(7, "9"), "wasm.f()").is_err());
    }
}
