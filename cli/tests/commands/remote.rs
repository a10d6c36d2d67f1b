//! Stores behind a network, which refuse.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use crate::Shell;

/// The address of a server that answers everything with this status.
fn answering(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(&stream).lines();
            lines
                .take_while(|l| l.as_ref().is_ok_and(|l| !l.is_empty()))
                .for_each(drop);
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            // Who asked may be gone.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

/// What the failure to look at a place says, with these variables and none of those that are set here.
fn failure(url: &str, settings: &[(&str, &str)]) -> String {
    let shell = Shell::new();
    let mut info = shell.command(&format!("info {url}"));
    let ours = |name: &str| ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|p| name.starts_with(p));
    let set = std::env::vars_os().map(|(name, _)| name);
    for name in set.filter(|name| name.to_str().is_some_and(ours)) {
        info.env_remove(name);
    }
    let output = info.envs(settings.iter().copied()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.starts_with("hyperslab: ") && error.lines().count() == 1,
        "{error}"
    );
    assert!(error.contains(url), "{error}");
    error
}

#[test]
fn who_has_no_credentials_is_told_what_to_set() {
    let keys = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    let public = "AWS_SKIP_SIGNATURE=true reads what is public";
    // No machine around gives any.
    let nobody = answering("404 Not Found");
    let error = failure("s3://bucket/x", &[("AWS_METADATA_ENDPOINT", &nobody)]);
    assert!(error.contains(keys) && error.contains(public), "{error}");
    // Those that are set do not suffice.
    let refusing = answering("403 Forbidden");
    let mut settings = vec![
        ("AWS_ACCESS_KEY_ID", "me"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ENDPOINT_URL", &refusing),
    ];
    let error = failure("s3://bucket/x", &settings);
    assert!(error.contains(keys) && error.contains(public), "{error}");
    // Other failures are not for want of them.
    let failing = answering("400 Bad Request");
    settings.push(("AWS_ENDPOINT_URL", &failing));
    let error = failure("s3://bucket/x", &settings);
    assert!(!error.contains(keys), "{error}");

    let error = failure("az://container/x", &[]);
    assert!(error.contains("set AZURE_STORAGE_ACCOUNT_NAME"), "{error}");
    assert!(error.contains("AZURE_SKIP_SIGNATURE=true reads"), "{error}");
}
