//! The program `hyperslab` on arrays in a bucket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use hyperslab_tests::{fresh, program};
use serde_json::{Value, json};

use crate::bucket::Bucket;

/// Runs the program on `input`.
pub(crate) fn start(environment: &[(&'static str, String)], line: &[&str], input: &str) -> Child {
    let mut command = Command::new(program());
    command.args(line).envs(environment.iter().cloned());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child
}

/// The output of the program for `input`. The program must succeed.
fn run(environment: &[(&'static str, String)], line: &[&str], input: &str) -> String {
    let output = start(environment, line, input).wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{line:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs all commands on arrays below the URL `folder`, with these environment variables.
pub(crate) fn keeps_an_array(folder: &str, environment: &[(&'static str, String)]) {
    let run = |line: &[&str], input: &str| run(environment, line, input);
    let array = &format!("{folder}/points");
    let schema = json!({
        "type": "sparse",
        "dimensions": [{"name": "x", "type": "int32", "domain": [0, 99], "tile": 10}],
        "attributes": [{"name": "a", "type": "float32"}],
    });
    run(&["create", array, "--schema", "-"], &schema.to_string());
    for cells in ["x,a\n7,0.5\n3,1.5\n", "x,a\n3,-2.0\n50,4.0\n"] {
        run(&["write", array, "-", "--format", "csv"], cells);
    }
    let export = ["export", array, "-", "--format", "csv"];
    let cells = "x,a\n3,-2.0\n7,0.5\n50,4.0\n";
    assert_eq!(run(&export, ""), cells);
    let merged = run(&["consolidate", array], "");
    assert_eq!(merged.lines().count(), 1, "{merged}");
    assert!(!run(&["vacuum", array], "").is_empty());
    let info: Value = serde_json::from_str(&run(&["info", array, "--json"], "")).unwrap();
    assert_eq!(info["fragments"][0]["name"], merged.trim_end());
    assert_eq!(info["fragments"].as_array().unwrap().len(), 1);
    assert_eq!(run(&export, ""), cells);

    let (taken, copied) = (&format!("{folder}/taken"), &format!("{folder}/copied"));
    let import = ["import", "-", taken, "--format", "csv", "--sparse", "--dims", "x"];
    run(&import, cells);
    run(&["copy", taken, copied], "");
    assert_eq!(run(&["export", copied, "-", "--format", "csv"], ""), cells);
    assert_eq!(run(&["ls", folder], "").lines().count(), 3);

    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("in.csv"), cells).unwrap();
    run(
        &["copy", files.path().to_str().unwrap(), &format!("{folder}/files")],
        "",
    );
    let (file, read) = (format!("{folder}/files/in.csv"), format!("{folder}/read"));
    run(&["import", &file, &read, "--sparse", "--dims", "x"], "");
    assert_eq!(run(&["export", &read, "-", "--format", "csv"], ""), cells);
}

#[test]
fn the_program_works_on_an_array_in_a_bucket() {
    for bucket in Bucket::of_each_kind("program") {
        keeps_an_array(&format!("{}/deep", bucket.url()), &bucket.environment());
    }
}

/// The answer of a server to a request for a path.
fn get(address: &str, path: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// A page cannot sign requests, so the program reads the bucket for it.
#[test]
fn the_viewer_reads_an_array_in_a_bucket_through_the_program() {
    for bucket in Bucket::of_each_kind("viewed") {
        let (url, environment) = (format!("{}/points", bucket.url()), bucket.environment());
        let import = ["import", "-", &url, "--format", "csv", "--sparse", "--dims", "x"];
        run(&environment, &import, "x,a\n7,0.5\n");
        let page = fresh(&format!("page-{}", bucket.url().replace("://", "-")));
        std::fs::write(page.join("index.html"), "the viewer").unwrap();
        let line = ["view", &url, "--no-open", "--viewer", page.to_str().unwrap()];
        let mut child = start(&environment, &line, "");
        let mut told = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut told)
            .unwrap();
        let (_, at) = told.trim().split_once("http://").unwrap();
        let (at, fragment) = at.split_once('#').unwrap();
        let (address, path) = at.split_at(at.find('/').unwrap());
        assert_eq!(fragment, "url=data/points");
        let json = "Accept: application/json\r\n";
        let schemas = get(address, &format!("{path}data/points/__schema/"), json);
        let list: Vec<Value> = serde_json::from_str(schemas.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let name = list[0]["name"].as_str().unwrap();
        let part = get(
            address,
            &format!("{path}data/points/__schema/{name}"),
            "Range: bytes=0-3\r\n",
        );
        assert!(
            part.starts_with("HTTP/1.1 206 ") && part.contains("Content-Length: 4\r\n"),
            "{part}"
        );
        let nothing = get(address, &format!("{path}data/points/nothing"), "");
        assert!(nothing.starts_with("HTTP/1.1 404 "), "{nothing}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
