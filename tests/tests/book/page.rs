//! The blocks of code on a page.
//!
//! - A block `sh` is run. The block `text` that follows it, if any, is its output.
//! - A block `sh,fails` is run, and its last command must fail.
//! - A block `sh,no_run` is not run.
//! - A comment that begins with `<!-- setup` is run, but readers do not see it.

use std::path::{Path, PathBuf};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Run,
    Fails,
    NotRun,
}

pub(crate) struct Block {
    pub(crate) kind: Kind,
    /// The line of the fence, from 1.
    pub(crate) line: usize,
    /// The line of text above the block.
    pub(crate) before: String,
    pub(crate) commands: String,
    pub(crate) output: Option<Shown>,
}

/// The output of a block, as the page shows it.
pub(crate) struct Shown {
    /// The line after the fence, from 0.
    start: usize,
    pub(crate) text: String,
}

pub(crate) struct Page {
    path: PathBuf,
    /// The path relative to the project, for messages.
    pub(crate) name: String,
    pub(crate) blocks: Vec<Block>,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.strip_prefix(super::top()).unwrap().to_string_lossy().into_owned();
        let blocks = blocks(&name, &text);
        Self {
            path: path.to_owned(),
            name,
            blocks,
        }
    }

    /// Writes the actual outputs of the blocks into the page, where they differ from those shown. The names of
    /// fragments and temporary folders become `…`.
    pub(crate) fn bless(&self, outputs: &[Option<String>]) {
        let text = std::fs::read_to_string(&self.path).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (block, output) in self.blocks.iter().zip(outputs).rev() {
            if let (Some(shown), Some(actual)) = (&block.output, output)
                && !super::compare::matches(&shown.text, actual)
            {
                let end = shown.start + shown.text.lines().count();
                let actual = super::compare::masked(actual);
                lines.splice(shown.start..end, actual.trim_end().lines().map(str::to_owned));
            }
        }
        std::fs::write(&self.path, lines.join("\n") + "\n").unwrap();
    }
}

fn blocks(name: &str, text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let (mut at, mut before) = (0, "");
    // Whether only blank lines separate the last block of commands from here.
    let mut follows = false;
    while let Some(&line) = lines.get(at) {
        let (info, end) = match line.strip_prefix("```") {
            Some(info) => (info, "```"),
            None if line == "<!-- setup" => ("sh", "-->"),
            None => {
                if !line.trim().is_empty() {
                    (before, follows) = (line, false);
                }
                at += 1;
                continue;
            }
        };
        let length = lines[at + 1..].iter().position(|l| *l == end);
        let length = length.unwrap_or_else(|| panic!("{name}:{}: the block does not end", at + 1));
        let inside = lines[at + 1..at + 1 + length].join("\n");
        let kind = match info {
            "sh" => Some(Kind::Run),
            "sh,fails" => Some(Kind::Fails),
            "sh,no_run" => Some(Kind::NotRun),
            _ => None,
        };
        if let Some(kind) = kind {
            found.push(Block {
                kind,
                line: at + 1,
                before: before.to_owned(),
                commands: inside,
                output: None,
            });
            follows = kind != Kind::NotRun;
        } else {
            if let Some(block) = found.last_mut().filter(|_| follows && info == "text") {
                block.output = Some(Shown {
                    start: at + 1,
                    text: inside,
                });
            }
            follows = false;
        }
        before = "";
        at += length + 2;
    }
    found
}

#[test]
fn blocks_and_their_outputs_are_found() {
    let page = "<!-- setup\ntouch a\n-->\nText:\n```sh\nls\n```\n\n```text\na\n```\n```sh,no_run\nx\n```\n\
                ```text\nnot an output\n```\n```sh,fails\nfalse\n```\nMore.\n```text\nno output\n```\n";
    let found = blocks("page", page);
    let kinds: Vec<Kind> = found.iter().map(|b| b.kind).collect();
    assert_eq!(kinds, [Kind::Run, Kind::Run, Kind::NotRun, Kind::Fails]);
    let outputs: Vec<_> = found
        .iter()
        .map(|b| b.output.as_ref().map(|o| o.text.as_str()))
        .collect();
    assert_eq!(outputs, [None, Some("a"), None, None]);
    assert_eq!(found[1].before, "Text:");
}
