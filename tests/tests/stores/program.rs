//! The program `hyperslab` on arrays in a bucket.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use hyperslab_tests::program;
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
