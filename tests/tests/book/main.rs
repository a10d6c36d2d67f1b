//! Runs the commands of the book and of the README, compares their output, and checks the links of all documents.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod compare;
mod links;
mod page;
mod run;

use std::path::PathBuf;

use hyperslab_tests::here;
use page::{Kind, Page};

/// The most blocks that may be marked as not run.
const NOT_RUN_MAX: usize = 20;

fn top() -> PathBuf {
    here().join("..").canonicalize().unwrap()
}

/// The README and the pages of the book.
fn pages() -> Vec<Page> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(top().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    paths.push(top().join("README.md"));
    paths.sort();
    paths.iter().map(|path| Page::read(path)).collect()
}

/// Fails if a command of a page fails or prints something else than the page says. With `HYPERSLAB_BLESS=1`, it writes
/// the new output into the page.
#[test]
fn commands_print_what_the_pages_say() {
    let bless = std::env::var_os("HYPERSLAB_BLESS").is_some();
    let (mut wrong, mut commands) = (Vec::new(), 0);
    for page in pages() {
        commands += page.blocks.iter().filter(|b| b.kind == Kind::Run).count();
        let found = run::page(&page);
        if bless {
            page.bless(&found.outputs);
        }
        wrong.extend(found.complaints);
    }
    assert!(commands > 40, "only {commands} blocks of commands were found");
    assert!(
        wrong.is_empty(),
        "{}\n\nIf the new output is right, run the test again with HYPERSLAB_BLESS=1: it changes the pages.",
        wrong.join("\n\n")
    );
}

#[test]
fn blocks_that_are_not_run_say_why() {
    let pages = pages();
    let skipped = pages
        .iter()
        .flat_map(|p| p.blocks.iter().filter(|b| b.kind == Kind::NotRun).map(move |b| (p, b)));
    let mut count = 0;
    for (page, block) in skipped {
        count += 1;
        assert!(
            block.before.starts_with("<!-- not run: "),
            "{}:{}: write the reason above the block, as in `<!-- not run: needs credentials -->`",
            page.name,
            block.line
        );
    }
    assert!(
        count <= NOT_RUN_MAX,
        "{count} blocks are not run, more than {NOT_RUN_MAX}"
    );
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let broken = links::broken(&top());
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = std::fs::read_to_string(top().join("docs/SUMMARY.md")).unwrap();
    for page in pages() {
        if let Some(name) = page.name.strip_prefix("docs/").filter(|n| *n != "SUMMARY.md") {
            assert!(
                summary.contains(&format!("({name})")),
                "docs/SUMMARY.md does not list {name}"
            );
        }
    }
}

/// The picture shows a terminal. Its words must be on the page, whose commands are run.
#[test]
fn the_picture_of_the_mount_shows_its_page() {
    let read = |name: &str| std::fs::read_to_string(top().join("docs").join(name)).unwrap();
    let (picture, page) = (read("pictures/mount.svg"), read("mount.md"));
    let texts = picture.split("xml:space=\"preserve\">").skip(1);
    let texts: Vec<&str> = texts.filter_map(|t| t.split("</text>").next()).collect();
    assert!(texts.len() > 10, "the picture has {} lines", texts.len());
    for word in texts.iter().flat_map(|t| t.split_whitespace()) {
        let word = word.replace("&gt;", ">");
        assert!(
            ["$", ">>>"].contains(&word.as_str()) || page.contains(&word),
            "not on the page: {word}"
        );
    }
}
