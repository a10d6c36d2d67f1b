//! An array created in a bucket becomes visible when it is complete. If creation fails, nothing is left of it.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::bucket::{Bucket, Fate};
use crate::program::start;

/// The requests made after the data is complete but before it is visible.
const LAST_OF_DATA: &str = "__fragment_metadata.tdb";

fn import(bucket: &Bucket) -> Child {
    let line = ["import", "-", "s3://arrays/deep/taken", "--format", "csv"];
    start(&bucket.environment(), &line, "a,b\n1,x\n2,y\n")
}

/// The files in a folder and below it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn the_schema_comes_last() {
    let bucket = Bucket::start("s3-last");
    assert!(import(&bucket).wait().unwrap().success());
    let puts: Vec<_> = bucket.requests().into_iter().filter(|r| r.kind == "PUT").collect();
    let schemas = puts.iter().map(|r| r.key.contains("/__schema/"));
    let first = schemas.clone().position(|is| is).unwrap();
    assert!(first > 3 && schemas.skip(first).all(|is| is), "{puts:?}");
}

#[test]
fn a_signal_removes_what_an_import_has_put() {
    let bucket = Bucket::start("s3-signal");
    bucket.when_put(LAST_OF_DATA, Fate::Held);
    let mut child = import(&bucket);
    let started = Instant::now();
    while !bucket.requests().iter().any(|r| r.key.ends_with(LAST_OF_DATA)) {
        assert!(
            started.elapsed() < Duration::from_secs(120),
            "the import does not get there"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let there = files(&bucket.objects());
    assert!(there.iter().any(|f| f.ends_with(".tdb")), "{there:?}");
    assert!(!there.iter().any(|f| f.contains("__schema")), "{there:?}");
    interrupt(&mut child);
    assert_eq!(files(&bucket.objects()), [""; 0]);
}

fn interrupt(child: &mut Child) {
    let signal = ["-INT".to_owned(), child.id().to_string()];
    assert!(Command::new("kill").args(signal).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_failure_removes_what_an_import_has_put() {
    // Before and after the fragment is complete.
    for (name, refused) in [("s3-failure", LAST_OF_DATA), ("s3-late-failure", "/__schema/")] {
        let bucket = Bucket::start(name);
        bucket.when_put(refused, Fate::Refused);
        let output = import(&bucket).wait_with_output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.contains(refused), "{complaint}");
        assert_eq!(output.status.code(), Some(1));
        let put = bucket.requests().iter().filter(|r| r.kind == "PUT").count();
        assert!(put > 2, "{put} files were put before");
        assert_eq!(files(&bucket.objects()), [""; 0]);
    }
}
