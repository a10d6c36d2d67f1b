//! Results of many cases, by feature.

use std::collections::BTreeMap;

/// What became of the cases so far.
#[derive(Debug, Default)]
pub struct Report {
    passed: BTreeMap<String, usize>,
    failed: BTreeMap<String, usize>,
    failures: Vec<String>,
    arrays: usize,
    cells: u64,
}

impl Report {
    /// Counts a case under each of its tags.
    pub fn add(&mut self, name: &str, tags: &[String], outcome: Result<u64, String>) {
        self.arrays += 1;
        let counts = if outcome.is_ok() {
            &mut self.passed
        } else {
            &mut self.failed
        };
        for tag in tags {
            *counts.entry(tag.clone()).or_default() += 1;
        }
        match outcome {
            Ok(cells) => self.cells += cells,
            Err(why) => self.failures.push(format!("{name}: {why}")),
        }
    }

    /// How many cases were counted.
    pub const fn arrays(&self) -> usize {
        self.arrays
    }

    /// The failures by family (the name up to its first dot) and kind of difference.
    fn groups(&self) -> BTreeMap<(String, &'static str), usize> {
        let mut groups = BTreeMap::new();
        for failure in &self.failures {
            let (name, why) = failure.split_once(": ").unwrap_or((failure, ""));
            let family = name.split('.').next().unwrap_or_default().to_owned();
            let kind = match why {
                w if w.starts_with("fragment metadata") => "statistics",
                w if w.starts_with("schema") => "schema",
                _ => "cells",
            };
            *groups.entry((family, kind)).or_default() += 1;
        }
        groups
    }

    /// Prints the counts and the differences that are known and open, then panics if there are more of
    /// them than `open` says: family, kind and the most there may be.
    ///
    /// # Panics
    /// More cases failed than are known to.
    pub fn finish_within(mut self, title: &str, open: &[(&str, &str, usize)]) {
        let mut within = Vec::new();
        for ((family, kind), count) in self.groups() {
            let most = open.iter().find(|o| o.0 == family && o.1 == kind).map_or(0, |o| o.2);
            println!("{title}: {family}: {count} arrays differ in {kind}, {most} are known to");
            if count <= most {
                within.push((family, kind));
            }
        }
        let all = std::mem::take(&mut self.failures);
        for failure in all {
            let alone = Self {
                failures: vec![failure.clone()],
                ..Self::default()
            };
            if alone.groups().keys().any(|group| within.contains(group)) {
                println!("open: {}", failure.chars().take(200).collect::<String>());
            } else {
                self.failures.push(failure);
            }
        }
        self.finish(title);
    }

    /// Prints the counts, then panics if a case failed.
    ///
    /// # Panics
    /// A case failed: the message names the first ones.
    pub fn finish(self, title: &str) {
        let mut tags: Vec<&String> = self.passed.keys().chain(self.failed.keys()).collect();
        tags.sort_unstable();
        tags.dedup();
        for tag in tags {
            let (ok, bad) = (self.passed.get(tag).unwrap_or(&0), self.failed.get(tag).unwrap_or(&0));
            println!(
                "{tag:40} {:6} arrays{}",
                ok + bad,
                if *bad > 0 {
                    format!(", {bad} FAILED")
                } else {
                    String::new()
                }
            );
        }
        println!(
            "{title}: {} arrays, {} cells, {} failed",
            self.arrays,
            self.cells,
            self.failures.len()
        );
        let shown: Vec<&str> = self.failures.iter().take(40).map(String::as_str).collect();
        assert!(
            self.failures.is_empty(),
            "{title}: {} arrays differ\n{}",
            self.failures.len(),
            shown.join("\n")
        );
    }
}
