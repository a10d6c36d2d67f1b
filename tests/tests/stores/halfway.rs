//! An array that is made in a bucket is seen when it is whole, and leaves nothing if that is never.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::bucket::{Bucket, Fate};
use crate::program::start;

/// What is put when the data is there and nothing shows it yet.
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
fn a_signal_gives_up_the_parts_that_a_write_has_sent() {
    let bucket = Bucket::start("s3-parts");
    let array = "s3://arrays/grid";
    let schema = r#"{"type": "dense", "attributes": [{"name": "v", "type": "uint8"}],
        "dimensions": [{"name": "i", "type": "int64", "domain": [0, 39999999], "tile": 1000000}]}"#;
    let create = start(&bucket.environment(), &["create", array, "--schema", "-"], schema);
    assert!(create.wait_with_output().unwrap().status.success());
    let before = files(&bucket.objects());
    let mut table = b"\x93NUMPY\x01\x00".to_vec();
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (40000000,), }\n";
    table.extend((header.len() as u16).to_le_bytes());
    table.extend(header.bytes());
    table.resize(table.len() + 40_000_000, 7);
    let input = bucket.objects().with_file_name("parts.npy");
    std::fs::write(&input, table).unwrap();
    bucket.when_put("a0.tdb", Fate::Held);
    let line = ["write", array, input.to_str().unwrap()];
    let mut child = start(&bucket.environment(), &line, "");
    let started = Instant::now();
    let of_data = |r: crate::bucket::Request| r.key.ends_with("a0.tdb").then_some(r.kind);
    let mut sent: Vec<String> = Vec::new();
    while !sent.iter().any(|kind| kind == "PUT") {
        assert!(started.elapsed() < Duration::from_secs(120), "the write sends no part");
        std::thread::sleep(Duration::from_millis(5));
        sent.extend(bucket.requests().into_iter().filter_map(of_data));
    }
    interrupt(&mut child);
    assert!(sent.contains(&"POST".to_owned()), "{sent:?}");
    sent.extend(bucket.requests().into_iter().filter_map(of_data));
    assert!(sent.contains(&"DELETE".to_owned()), "{sent:?}");
    assert_eq!(files(&bucket.objects()), before);
}

#[test]
fn a_failure_removes_what_an_import_has_put() {
    // Before the fragment is whole, and after.
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
