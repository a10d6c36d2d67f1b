//! Results of many cases, by feature.

use std::collections::BTreeMap;

/// The outcomes of the cases so far.
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

    /// The number of cases counted.
    pub const fn arrays(&self) -> usize {
        self.arrays
    }

    /// Prints the counts, then panics if a case failed.
    ///
    /// # Panics
    /// If a case failed. The message names the first failures.
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
