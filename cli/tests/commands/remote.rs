//! Errors of stores on a network.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

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
            // The client may be gone.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

/// The error of `info` for a URL. Of the clouds' environment variables, only `settings` are set.
fn failure(url: &str, settings: &[(&str, &str)]) -> String {
    let shell = Shell::new();
    let mut info = shell.command(&format!("info {url}"));
    let ours = |name: &str| ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|p| name.starts_with(p));
    let set = std::env::vars_os().map(|(name, _)| name);
    for name in set.filter(|name| name.to_str().is_some_and(ours)) {
        info.env_remove(name);
    }
    let output = info.envs(settings.iter().copied()).output().unwrap();
    let error = crate::in_lines(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with("error: ") && error.lines().count() == 1, "{error}");
    assert!(error.contains(url), "{error}");
    error
}

#[test]
fn errors_about_missing_credentials_say_what_to_set() {
    let keys = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    let public = "AWS_SKIP_SIGNATURE=true reads public data";
    // No metadata server provides any.
    let nobody = answering("404 Not Found");
    let error = failure("s3://bucket/x", &[("AWS_METADATA_ENDPOINT", &nobody)]);
    assert!(error.contains(keys) && error.contains(public), "{error}");
    // The server refuses those that are set.
    let refusing = answering("403 Forbidden");
    let mut settings = vec![
        ("AWS_ACCESS_KEY_ID", "me"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ENDPOINT_URL", &refusing),
    ];
    let error = failure("s3://bucket/x", &settings);
    assert!(error.contains(keys) && error.contains(public), "{error}");
    // Other errors do not mention credentials.
    let failing = answering("400 Bad Request");
    settings.push(("AWS_ENDPOINT_URL", &failing));
    let error = failure("s3://bucket/x", &settings);
    assert!(!error.contains(keys), "{error}");

    let error = failure("az://container/x", &[]);
    assert!(error.contains("set AZURE_STORAGE_ACCOUNT_NAME"), "{error}");
    assert!(error.contains("AZURE_SKIP_SIGNATURE=true reads"), "{error}");
}

/// The address of a server that answers each target with `reply`: a status with headers, and a body. Also returns the
/// log of its requests.
pub(crate) fn replying(reply: impl Fn(&str) -> (String, String) + Send + 'static) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(&stream).lines();
            let lines: Vec<_> = lines.map_while(|l| l.ok().filter(|l| !l.is_empty())).collect();
            let request = lines.join("\n");
            let (head, body) = reply(request.split(' ').nth(1).unwrap_or_default());
            log.lock().unwrap().push_str(&request.to_ascii_lowercase());
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    (format!("http://{address}"), asked)
}

#[test]
fn another_host_does_not_get_the_session_token() {
    let (there, asked) = replying(|_| ("404 Not Found".to_owned(), String::new()));
    let (here, sent) = replying(move |target| (format!("307 Moved\r\nLocation: {there}{target}"), String::new()));
    let settings = [
        ("AWS_ACCESS_KEY_ID", "me"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "token"),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ENDPOINT_URL", &here),
    ];
    failure("s3://bucket/x", &settings);
    assert!(sent.lock().unwrap().contains("x-amz-security-token: token"));
    let asked = asked.lock().unwrap();
    assert!(asked.contains("get /bucket"), "{asked}");
    for secret in ["x-amz", "token", "authorization", "referer"] {
        assert!(!asked.contains(secret), "{asked}");
    }
}

#[test]
fn endless_folders_are_an_error() {
    let shell = Shell::new();
    let one = r#"[{"name":"d","type":"directory"},{"name":"e","type":"directory"}]"#;
    let (url, _) = replying(move |target| match target.ends_with('/') {
        true => ("200 OK\r\ncontent-type: application/json".to_owned(), one.to_owned()),
        false => ("404 Not Found".to_owned(), String::new()),
    });
    let (_, error) = shell.fails(&format!("copy {url}/x out"));
    assert!(error.contains("folders within folders"), "{error}");
    let output = shell.run(&format!("tree {url}/x"), b"");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("folders are nested more than 64 levels deep"), "{error}");

    let manifest = r#"{"version":1,"files":{"/x":{"size":1}}}"#;
    let (url, _) = replying(move |target| match target.ends_with("manifest.json") {
        true => ("200 OK".to_owned(), manifest.to_owned()),
        false => ("404 Not Found".to_owned(), String::new()),
    });
    for line in [format!("copy {url}/x out"), format!("tree {url}/x")] {
        let (_, error) = shell.fails(&line);
        assert!(
            error.contains("manifest") && error.contains("hyperslab index"),
            "{error}"
        );
    }
}
