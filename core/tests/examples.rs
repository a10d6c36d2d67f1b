//! Runs each example and checks what it prints.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[path = "../examples/object_store.rs"]
mod object_store;
#[path = "../examples/quick_start.rs"]
mod quick_start;
#[path = "../examples/serve_view.rs"]
mod serve_view;
#[path = "../examples/sparse.rs"]
mod sparse;
#[path = "../examples/stream.rs"]
mod stream;
#[path = "../examples/time_travel.rs"]
mod time_travel;

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use hyperslab::Context;

/// The lines that an example prints.
fn printed(run: impl FnOnce(&mut dyn Write) -> Result<(), Box<dyn Error>>) -> Vec<String> {
    let mut out = Vec::new();
    run(&mut out).unwrap();
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn every_example_is_run_here() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let this = std::fs::read_to_string(folder.join("tests/examples.rs")).unwrap();
    let names = std::fs::read_dir(folder.join("examples")).unwrap();
    let names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        assert!(this.contains(&format!("examples/{name}")), "{name} is not run");
    }
}

#[test]
fn the_quick_start_prints_a_box_and_the_attribute() {
    let folder = tempfile::tempdir().unwrap();
    let lines = printed(|out| quick_start::run(folder.path(), out));
    let attribute = r#"{"name":"light","type":"uint8","fill":255,"filters":[{"name":"zstd","level":5}]}"#;
    assert_eq!(lines, ["[8, 9, 10]", "[14, 15, 16]", attribute]);
}

#[test]
fn the_stream_stays_in_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let lines = printed(|out| stream::run(folder.path(), out));
    let n = u128::from(4_u32 << 20);
    let sum = (n - 1) * n * (2 * n - 1) / 6;
    let expected = [
        format!("sum {sum} of {n} cells"),
        "every batch fits the budget: true".into(),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_sparse_example_finds_points() {
    let lines = printed(|out| sparse::run(out));
    let expected = [
        "3 in the box",
        "6.2 Chile",
        "4.6 Nevada",
        "4 of known depth: [Some(F32(6.2)), Some(F64(36.0))]",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn time_travel_shows_the_past_until_a_vacuum() {
    let lines = printed(|out| time_travel::run(out));
    let times = ["at 1500: 1 1 1 1 1 1", "at 2500: 1 1 2 2 2 1", "at 3500: 1 1 2 3 2 1"];
    let mut expected = vec!["times [1000, 2000, 3000]"];
    expected.extend(times);
    expected.push("3 fragments became 1");
    expected.extend(times);
    expected.extend(["at 1500: . . . . . .", times[2]]);
    assert_eq!(lines, expected);
}

#[test]
fn the_object_store_example_needs_only_a_store() {
    let lines = printed(|out| object_store::run(&Context::memory(), "prefix", out));
    assert_eq!(lines[0], "[0, 100, 200, 300, 400, 500, 600, 700, 800, 900]");
    assert!(lines.contains(&"__commits".to_owned()), "{lines:?}");
}

#[test]
fn a_view_is_served_over_http() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || serve_view::serve(&listener, 4).unwrap());
    let get = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let slice = get("/slices/temp@0:2,1:3.csv");
    let rows = "y,x,temp\n0,1,0.5\n0,2,1.0\n1,1,3.5\n1,2,4.0\n";
    assert!(
        slice.starts_with("HTTP/1.1 200 OK\r\n") && slice.ends_with(rows),
        "{slice}"
    );
    assert!(get("/").contains("\nslices\n"), "the folders are listed");
    assert!(get("/slices/nothing.csv").starts_with("HTTP/1.1 4"));
    assert!(get("/no/such/file").starts_with("HTTP/1.1 404"));
    server.join().unwrap();
}
