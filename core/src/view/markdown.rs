//! Escapes names and values of an array in Markdown pages. Any text may occur in them: none of it becomes markup, and
//! no control character reaches a terminal. Does no I/O.

/// A name or a value in a table. Plain text is unchanged. Other text is quoted with backquotes, and invisible
/// characters are escaped.
pub(super) fn quoted(text: &str) -> String {
    let visible = visible(text);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ',' | ':' | '+' | ' ' | '…');
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'));
    if visible.chars().all(plain) && edge(visible.chars().next()) && edge(visible.chars().last()) {
        visible
    } else {
        // A bar separates columns even inside backquotes.
        code(text).replace('|', "\\|")
    }
}

/// A name in backquotes.
pub(super) fn code(text: &str) -> String {
    let visible = visible(text);
    // The fence must be longer than any run of backquotes in the text.
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

/// Escapes control characters, zero-width characters and those that change the text direction, in Rust's syntax.
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
    fn names_are_escaped() {
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
