use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::{Shell, npy};

/// Every file and folder below `folder`, sorted.
fn all(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            found.push(path.to_string_lossy().into_owned());
            folders.push(path);
        }
    }
    found.sort();
    found
}

/// Starts the program, sends `signal` once it has an unfinished file in array `a`, and waits for its end.
fn interrupted(shell: &Shell, line: &str, signal: &str) {
    let before = all(&shell.path("a"));
    let mut child = shell
        .command(line)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let unfinished = |name: &String| name.contains("/.hyperslab-");
    while !all(&shell.path("a")).iter().any(unfinished) {
        assert!(
            child.try_wait().unwrap().is_none(),
            "{line} ended before it had an unfinished file"
        );
        assert!(started.elapsed() < Duration::from_secs(120), "{line} writes no file");
    }
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill").args([signal, &id]).status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{line}: {output:?}");
    assert_eq!(all(&shell.path("a")), before, "{line} after {signal}");
}

#[test]
fn a_signal_removes_an_uncommitted_write() {
    let shell = Shell::new();
    let mut state = 88_172_645_463_325_252_u64;
    let noise = (0..5_000_000).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    shell.file("in.npy", npy("'<u8'", "(5000, 1000)", &noise.collect::<Vec<u8>>()));
    shell.ok("import in.npy a --filters gzip:9 --timestamp 1");
    interrupted(&shell, "write a in.npy", "-TERM");
    shell.ok("write a in.npy --timestamp 2");
    for signal in ["-INT", "-TERM"] {
        interrupted(&shell, "consolidate a", signal);
    }
    assert!(shell.ok("verify a").contains("2 fragments"));
    shell.ok("consolidate a");
    assert!(shell.ok("verify a").contains("3 fragments"));
}

#[test]
fn creating_the_same_array_twice_fails_the_second_time() {
    let shell = Shell::new();
    shell.file("large.npy", npy("'<u8'", "(5000, 1000)", &[7; 40_000_000]));
    shell.file("small.npy", npy("'|u1'", "(1, 1)", &[5]));
    let mut slow = shell.command("import large.npy a");
    let slow = slow.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !shell.names().iter().any(|name| name.starts_with(".hyperslab-")) {
        assert!(
            started.elapsed() < Duration::from_secs(120),
            "there is no unfinished file"
        );
    }
    let id = slow.id().to_string();
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill").args([name, &id]).status();
        assert!(sent.unwrap().success());
    };
    signal("-STOP");
    shell.ok("import small.npy a");
    signal("-CONT");
    let output = slow.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    for words in [
        "cannot create a",
        "another process created it in the meantime",
        "choose another name",
    ] {
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(shell.names(), ["a", "large.npy", "small.npy"]);
    assert_eq!(shell.ok("export a - --format csv"), "d0,d1,data\n0,0,5\n");
}
