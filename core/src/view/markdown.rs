//! Names and values of an array in pages of Markdown. They may be anything: nothing in them is taken for markup, and
//! nothing that a terminal would obey reaches one. Pure.

/// A name or a value in a table: as it is where it is plain, else in backquotes, with escapes for characters that do not
/// show.
pub(super) fn quoted(text: &str) -> String {
    let visible = visible(text);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ',' | ':' | '+' | ' ' | '…');
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'));
    if visible.chars().all(plain) && edge(visible.chars().next()) && edge(visible.chars().last()) {
        visible
    } else {
        // A bar parts columns, in backquotes too.
        code(text).replace('|', "\\|")
    }
}

/// A name in backquotes.
pub(super) fn code(text: &str) -> String {
    let visible = visible(text);
    // More backquotes around it than there are in it at a place.
    let mut fence = "`".to_owned();
    while visible.contains(&fence) {
        fence.push('`');
    }
    let space = if visible.is_empty() || visible.starts_with('`') || visible.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{visible}{space}{fence}")
}

/// Control characters, and those that turn the direction of writing or take no room, as Rust writes them.
fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_and_never_obeyed() {
        for (name, shown) in [
            ("air_temp", "air_temp"),
            ("Zürich 2", "Zürich 2"),
            ("2020-01-01 … 2020-02-01", "2020-01-01 … 2020-02-01"),
            ("<script>", "`<script>`"),
            ("[x](http://e)", "`[x](http://e)`"),
            ("a|b", "`a\\|b`"),
            ("a`b", "``a`b``"),
            ("`", "`` ` ``"),
            ("", "`  `"),
            (" a", "` a`"),
            ("\u{1b}[31mred", "`\\u{1b}[31mred`"),
            ("a\nb", "`a\\nb`"),
            ("a\u{202e}b", "`a\\u{202e}b`"),
        ] {
            assert_eq!(quoted(name), shown, "{name:?}");
        }
        assert_eq!((code("plain"), code("a|b")), ("`plain`".to_owned(), "`a|b`".to_owned()));
    }
}
