//! The program `hyperslab` on an array in a bucket.

use std::io::Write as _;
use std::process::{Command, Stdio};

use hyperslab_tests::program;
use serde_json::{Value, json};

use crate::bucket::Bucket;

/// What the program prints, given `input`; it succeeds.
fn run(bucket: &Bucket, line: &[&str], input: &str) -> String {
    let mut command = Command::new(program());
    command.args(line).envs(bucket.environment());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{line:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_program_keeps_an_array_in_a_bucket() {
    let bucket = Bucket::start("s3-program");
    let array = "s3://arrays/deep/points";
    let schema = json!({
        "type": "sparse",
        "dimensions": [{"name": "x", "type": "int32", "domain": [0, 99], "tile": 10}],
        "attributes": [{"name": "a", "type": "float32"}],
    });
    run(&bucket, &["create", array, "--schema", "-"], &schema.to_string());
    for cells in ["x,a\n7,0.5\n3,1.5\n", "x,a\n3,-2.0\n50,4.0\n"] {
        run(&bucket, &["write", array, "-", "--format", "csv"], cells);
    }
    let export = ["export", array, "-", "--format", "csv"];
    let cells = "x,a\n3,-2.0\n7,0.5\n50,4.0\n";
    assert_eq!(run(&bucket, &export, ""), cells);
    let merged = run(&bucket, &["consolidate", array], "");
    assert_eq!(merged.lines().count(), 1, "{merged}");
    assert!(!run(&bucket, &["vacuum", array], "").is_empty());
    let info: Value = serde_json::from_str(&run(&bucket, &["info", array, "--json"], "")).unwrap();
    assert_eq!(info["fragments"][0]["name"], merged.trim_end());
    assert_eq!(info["fragments"].as_array().unwrap().len(), 1);
    assert_eq!(run(&bucket, &export, ""), cells);
}
