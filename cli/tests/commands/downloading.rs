//! Input files on web servers.
#![cfg(feature = "formats")]

use std::io::Write as _;
use std::path::Path;
use std::process::Output;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::remote::replying;
use crate::serving::serve;
use crate::{Shell, in_lines};

/// A shell with these files of the tests of formats, and an empty folder for copies.
fn shell(names: &[&str]) -> Shell {
    let shell = Shell::new();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/files");
    for name in names {
        shell.file(name, std::fs::read(files.join(name)).unwrap());
    }
    std::fs::create_dir(shell.path("copies")).unwrap();
    shell
}

/// Runs the program with its copies in the folder `copies`, which must be empty afterwards.
fn run(shell: &Shell, line: &str) -> Output {
    let output = shell
        .command(line)
        .env("TMPDIR", shell.path("copies"))
        .output()
        .unwrap();
    let left = std::fs::read_dir(shell.path("copies")).unwrap().count();
    assert_eq!(left, 0, "{line} leaves {left} files");
    output
}

#[track_caller]
fn ok(shell: &Shell, line: &str) {
    let output = run(shell, line);
    assert!(output.status.success(), "{line}: {}", in_lines(&output.stderr));
}

#[track_caller]
fn fails(shell: &Shell, line: &str) -> String {
    let output = run(shell, line);
    assert!(!output.status.success(), "{line} succeeds");
    in_lines(&output.stderr)
}

#[test]
fn files_of_web_servers_are_imported_as_local_ones_are() {
    let shell = shell(&["climate3.nc", "plain.h5", "cloud.laz"]);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"n,v\n1,0.5\n2,1.5\n").unwrap();
    shell.file("t.csv.gz", packed.finish().unwrap());
    // Its content tells the format.
    std::fs::copy(shell.path("plain.h5"), shell.path("download")).unwrap();
    let server = serve(&shell);
    let url = |name: &str| format!("http://{}/{name}", server.address);
    for (name, array) in [
        ("climate3.nc", "t2m"),
        ("cloud.laz", ""),
        ("download", "grid"),
        ("t.csv.gz", ""),
    ] {
        ok(&shell, &format!("import {} remote-{name}", url(name)));
        ok(&shell, &format!("import {name} local-{name}"));
        let cells = |from: &str| {
            let array = format!("{from}-{name}/{array}");
            shell.ok(&format!("export {} - --format csv", array.trim_end_matches('/')))
        };
        assert_eq!(cells("remote"), cells("local"), "{name}");
    }
    let two = format!("import {0} {0} two --along time", url("climate3.nc"));
    ok(&shell, &two);
    ok(&shell, &format!("append {} remote-climate3.nc", url("climate3.nc")));
    assert_eq!(
        shell.ok("export two/t2m - --format csv"),
        shell.ok("export remote-climate3.nc/t2m - --format csv")
    );
    shell.ok("import t.csv.gz rows --sparse --dims n");
    ok(&shell, &format!("write rows {}", url("t.csv.gz")));
    assert_eq!(shell.ok("export rows - --format csv").lines().count(), 5);
}

#[test]
fn files_that_cannot_be_downloaded_leave_nothing() {
    let shell = shell(&["climate3.nc"]);
    let whole = shell.bytes("climate3.nc");
    shell.file("cut.nc", &whole[..whole.len() / 2]);
    let server = serve(&shell);
    let url = |name: &str| format!("http://{}/{name}", server.address);
    let before = shell.names();
    for (line, words) in [
        (
            format!("import {} a", url("none.nc")),
            ["cannot download http://", "check the address"],
        ),
        (
            format!("import {} a", url("none")),
            ["there is no such file", "--format zarr"],
        ),
        (
            format!("import {} a", url("cut.nc")),
            ["cannot read http://", "/cut.nc"],
        ),
        (
            format!("import {0} {1} a --along time", url("climate3.nc"), url("cut.nc")),
            ["cannot put http://", "after http://"],
        ),
    ] {
        let error = fails(&shell, &line);
        assert!(words.iter().all(|w| error.contains(w)), "{line}: {error}");
        assert!(!error.contains("copies"), "{line}: {error}");
        assert_eq!(shell.names(), before, "{line}");
    }
}

/// Such a server sends a page or the whole file, whatever range is requested.
#[test]
fn servers_without_ranges_and_secret_addresses() {
    let shell = shell(&[]);
    let (url, _) = replying(|target| match target.starts_with("/in.csv") {
        true => ("200 OK\r\ncontent-type: text/csv".to_owned(), "n,v\n1,2\n".to_owned()),
        false => ("403 Forbidden".to_owned(), String::new()),
    });
    ok(&shell, &format!("import {url}/in.csv?key=secret a"));
    assert_eq!(shell.ok("export a - --format csv --attrs v"), "row,v\n0,2\n");
    let error = fails(&shell, &format!("import {url}/other.nc?key=secret b"));
    assert!(
        error.contains("cannot download http://") && !error.contains("secret"),
        "{error}"
    );
}
