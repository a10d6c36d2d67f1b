//! Links between the documents.

use std::path::Path;

/// Documents with links, besides the pages of the book.
const DOCUMENTS: [&str; 7] = [
    "README.md",
    "CONTRIBUTING.md",
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "wasm/npm/README.md",
    "web-demo/data/README.md",
];

/// Lists the links of all documents that lead to a missing file or heading. Links to other hosts are not followed.
pub(crate) fn broken(top: &Path) -> Vec<String> {
    let mut broken = Vec::new();
    let mut names: Vec<String> = DOCUMENTS.map(str::to_owned).to_vec();
    for entry in std::fs::read_dir(top.join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    let mut count = 0;
    for name in names {
        let text = std::fs::read_to_string(top.join(&name)).unwrap();
        for link in links(&text) {
            count += 1;
            if !leads(top, &name, &text, &link) {
                broken.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(count > 50, "only {count} links were found");
    broken
}

/// The targets of the links, pictures and included files of a page.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let mut found = Vec::new();
    for (start, end) in [
        ("](", ")"),
        (" src=\"", "\""),
        (" srcset=\"", "\""),
        ("{{#include ", "}}"),
    ] {
        let targets = prose.split(start).skip(1).filter_map(|rest| rest.split(end).next());
        found.extend(targets.map(str::to_owned));
    }
    found
}

/// The page without blocks of code and code in lines.
fn prose(text: &str) -> String {
    let mut in_code = false;
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            line.split('`').step_by(2).for_each(|part| out.push_str(part));
            out.push('\n');
        }
    }
    out
}

fn leads(top: &Path, page: &str, text: &str, link: &str) -> bool {
    if link.contains("://") || link.starts_with("mailto:") {
        return true;
    }
    // The reference of the npm package, which only the website has. Building the website checks these links.
    if page.starts_with("docs/") && link.starts_with("api/") {
        return true;
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    // An included file may name its lines after a colon.
    let file = file.split(':').next().unwrap_or(file);
    if file.is_empty() {
        return has_heading(text, heading);
    }
    let path = top.join(page).with_file_name("").join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => heading.is_empty() || has_heading(&text, heading),
        Err(_) => path.exists() && heading.is_empty(),
    }
}

/// Whether a page has a heading with this anchor: its words in lower case, joined by hyphens.
fn has_heading(text: &str, anchor: &str) -> bool {
    let mut in_code = false;
    text.lines().any(|line| {
        in_code ^= line.starts_with("```");
        !in_code && line.starts_with('#') && slug(line.trim_start_matches('#').trim()) == anchor
    })
}

fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn missing_files_and_headings_are_broken_links() {
    let (top, text) = (super::top(), "# A `b`, c\n```\n# Not a heading\n```\n");
    let leads = |link: &str| leads(&top, "docs/guarantees.md", text, link);
    for good in [
        "#a-b-c",
        "architecture.md",
        "../README.md#quick-start",
        "https://x/y",
        "../core/src",
    ] {
        assert!(leads(good), "{good}");
    }
    for bad in ["#a", "#not-a-heading", "lost.md", "architecture.md#lost"] {
        assert!(!leads(bad), "{bad}");
    }
    let page = "[a](b) `[c](d)` <img src=\"e\">\n```\n[f](g)\n```\n{{#include h:3:}}";
    assert_eq!(links(page), ["b", "e", "h:3:"]);
}
