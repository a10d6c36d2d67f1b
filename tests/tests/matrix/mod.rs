//! The arrays of the matrix. libtiledb generates them once, and both directions share them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses only some of these items"
)]

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use hyperslab_tests::case::Case;
use hyperslab_tests::report::Report;
use hyperslab_tests::{here, python, scratch};
use rayon::prelude::*;

/// The least number of arrays, and the most that libtiledb may refuse.
const ARRAYS_MIN: usize = 3_400;
const REFUSED_MAX: usize = 60;

/// The output of `interop/generate.py`.
pub struct Matrix {
    /// The folder of the arrays.
    pub folder: PathBuf,
    /// The cases: the arrays and the queries on them.
    pub cases: Vec<Case>,
}

/// Loads the matrix, and generates it again if the scripts have changed.
pub fn generated() -> &'static Matrix {
    static MATRIX: OnceLock<Matrix> = OnceLock::new();
    MATRIX.get_or_init(|| {
        let folder = scratch("libtiledb");
        let stamp = scratch("libtiledb.stamp");
        let scripts = ["capi.py", "cases.py", "matrix.py", "aggregates.py", "generate.py"]
            .map(|n| here().join("interop").join(n));
        let wanted: String = scripts.iter().map(|p| std::fs::read_to_string(p).unwrap()).collect();
        if std::fs::read_to_string(&stamp).ok().as_deref() != Some(&wanted) {
            std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
            let status = Command::new(python()).arg(&scripts[4]).arg(&folder).status().unwrap();
            assert!(status.success(), "generate.py failed: {status}");
            std::fs::write(&stamp, wanted).unwrap();
        }
        let mut cases = Vec::new();
        let mut refused = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "jsonl") {
                let text = std::fs::read_to_string(&path).unwrap();
                if path.file_stem().is_some_and(|s| s == "refused") {
                    refused = text.lines().count();
                } else {
                    cases.extend(text.lines().map(|l| serde_json::from_str::<Case>(l).unwrap()));
                }
            }
        }
        assert!(cases.len() >= ARRAYS_MIN, "only {} arrays", cases.len());
        assert!(
            refused <= REFUSED_MAX,
            "libtiledb refused {refused} arrays: see {}/refused.jsonl",
            folder.display()
        );
        Matrix { folder, cases }
    })
}

impl Matrix {
    /// Runs `work` on every case, and fails with counts by feature if any case fails.
    pub fn check(&self, title: &str, work: impl Fn(&Case) -> anyhow::Result<u64> + Sync) {
        let one = |case: &Case| {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(case)));
            done.unwrap_or_else(|_| Err(anyhow::anyhow!("panicked")))
                .map_err(|e| format!("{e:#}"))
        };
        let outcomes: Mutex<Report> = Mutex::default();
        self.cases.par_iter().for_each(|case| {
            let outcome = one(case);
            outcomes.lock().unwrap().add(&case.name, &case.tags, outcome);
        });
        outcomes.into_inner().unwrap().finish(title);
    }
}

impl Matrix {
    /// Runs `work` on every case that both sides write. Returns the refused cases by name.
    pub fn written(
        &self,
        work: impl Fn(&Case) -> anyhow::Result<()> + Sync,
    ) -> std::collections::HashMap<String, String> {
        let one = |case: &Case| {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(case)));
            let why = done.unwrap_or_else(|_| Err(anyhow::anyhow!("panicked"))).err()?;
            Some((case.name.clone(), format!("{why:#}")))
        };
        self.cases
            .par_iter()
            .filter(|c| c.only.as_deref() != Some("read"))
            .filter_map(one)
            .collect()
    }
}
