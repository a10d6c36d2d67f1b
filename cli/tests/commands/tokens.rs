//! `snapshot`, and the commands that take its output.

use crate::Shell;
use crate::failing::check;

fn shell() -> Shell {
    let shell = Shell::new();
    shell.file("one.csv", "x,mag\n1,4.5\n7,2.5\n");
    shell.file("two.csv", "x,mag\n2,6.5\n");
    shell.ok("import one.csv quakes --sparse --dims x --domain x=0:9 --timestamp 1");
    shell
}

#[test]
fn a_snapshot_keeps_what_was_there_when_it_was_taken() {
    let shell = shell();
    let token = shell.run("snapshot quakes", b"").stdout;
    shell.file("quakes.snapshot", &token);
    shell.ok("write quakes two.csv --timestamp 2");
    let text = |line: &str| String::from_utf8(shell.run(line, b"").stdout).unwrap();
    let export = "export quakes - --format csv --snapshot quakes.snapshot";
    assert_eq!(text(export), "x,mag\n1,4.5\n7,2.5\n");
    assert_eq!(text("export quakes --count"), "3\n");
    let info: serde_json::Value = serde_json::from_str(&text("info quakes --snapshot quakes.snapshot --json")).unwrap();
    assert_eq!(info["fragments"].as_array().unwrap().len(), 1);
    let past = shell.run("snapshot quakes --at 1ms --index-bytes 0", b"").stdout;
    assert!(past.len() < token.len(), "{} and {} bytes", past.len(), token.len());
    shell.file("past.snapshot", &past);
    // A snapshot needs no listing, so it opens without the folder of commits.
    std::fs::remove_dir_all(shell.path("quakes/__commits")).unwrap();
    assert_eq!(text("export quakes --count"), "0\n");
    assert_eq!(text(export), "x,mag\n1,4.5\n7,2.5\n");
    assert_eq!(text("export quakes --count --snapshot past.snapshot"), "2\n");
}

#[test]
fn snapshots_are_of_one_array() {
    let shell = shell();
    let token = shell.run("snapshot quakes", b"").stdout;
    shell.file("quakes.snapshot", &token);
    shell.ok("group create all");
    shell.ok("import two.csv all/quakes --sparse --dims x --domain x=0:9 --timestamp 1");
    let same_name = "export all/quakes --count --snapshot quakes.snapshot";
    check(
        &shell,
        same_name,
        1,
        &["another array with the same name", "take a snapshot of this one"],
    );
    let zarr = "export all all.zarr --snapshot quakes.snapshot";
    check(&shell, zarr, 2, &["--snapshot", "name an array of the group"]);
    let info = "info all --snapshot quakes.snapshot";
    check(&shell, info, 1, &["belongs to another array, quakes"]);
}

#[test]
fn foreign_and_damaged_snapshots_are_refused() {
    let shell = shell();
    let mut token = shell.run("snapshot quakes", b"").stdout;
    shell.file("quakes.snapshot", &token);
    shell.ok("import two.csv other --sparse --dims x --domain x=0:9 --timestamp 1");
    let error = |line: &str| {
        let output = shell.run(line, b"");
        assert_eq!(output.status.code(), Some(1), "{line}");
        String::from_utf8(output.stderr).unwrap()
    };
    let foreign = error("export other - --format csv --snapshot quakes.snapshot");
    assert!(foreign.contains("belongs to another array, quakes"), "{foreign}");
    token.pop();
    shell.file("cut.snapshot", &token);
    let damaged = error("info quakes --snapshot cut.snapshot");
    assert!(
        damaged.contains("checksum") && damaged.contains("take the snapshot again"),
        "{damaged}"
    );
}
