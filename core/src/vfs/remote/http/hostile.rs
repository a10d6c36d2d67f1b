//! Tests with servers that send endless, oversized, slow or wrong responses.
#![expect(
    clippy::unwrap_used,
    reason = "a server of a test that cannot go on should say where"
)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use super::*;
use crate::blocking::block_on;
use crate::vfs::{ManifestVfs, VfsExt};

/// The most that a test server sends in one response, far more than any client may accept.
const POURED_MAX: u64 = 1 << 30;
/// Bytes that sockets and runtimes may buffer after the client stops reading.
const IN_TRANSIT: u64 = 64 << 20;

/// A server that sends `head`, then `part` repeatedly until the client disconnects. Counts the bytes sent.
fn pouring(head: &'static str, part: Vec<u8>, pause: Duration) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (part, count) = (part.clone(), Arc::clone(&count));
            std::thread::spawn(move || pour(&stream.unwrap(), head, &part, pause, &count));
        }
    });
    (format!("http://{address}/base"), sent)
}

fn pour(mut stream: &TcpStream, head: &str, part: &[u8], pause: Duration, count: &AtomicU64) {
    let mut lines = BufReader::new(stream).lines();
    lines.find(|line| !line.as_ref().is_ok_and(|line| !line.is_empty()));
    let mut poured = 0;
    let mut send = |bytes: &[u8]| {
        count.fetch_add(bytes.len() as u64, Relaxed);
        stream.write_all(bytes).is_ok()
    };
    if !send(head.as_bytes()) {
        return;
    }
    // Without a pause the bytes are limited, with a pause the number of parts.
    while poured < POURED_MAX && send(part) {
        poured += (part.len() as u64).max(if pause.is_zero() { 1 } else { POURED_MAX / 4096 });
        std::thread::sleep(pause);
    }
}

fn impatient() -> Patience {
    Patience {
        start: Duration::from_millis(300),
        bytes_per_second: 4096.0,
    }
}

#[test]
fn bodies_longer_than_requested_are_refused() {
    let megabyte = || vec![b'x'; 1 << 20];
    let endless = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    let (url, sent) = pouring(endless, megabyte(), Duration::ZERO);
    let error = block_on(HttpVfs::new(&url).unwrap().read_all("__manifest.json")).unwrap_err();
    assert!(error.to_string().contains("sends more than 33554432 bytes"), "{error}");
    assert!(sent.load(Relaxed) <= MANIFEST_BYTES_MAX + IN_TRANSIT);

    let (url, sent) = pouring(endless, megabyte(), Duration::ZERO);
    let error = block_on(HttpVfs::new(&url).unwrap().read_all("__schema/__1_1_a")).unwrap_err();
    assert!(error.to_string().contains("sends more than 268435456 bytes"), "{error}");
    assert!(sent.load(Relaxed) <= WHOLE_FILE_BYTES_MAX + IN_TRANSIT);

    let (url, sent) = pouring(endless, megabyte(), Duration::ZERO);
    let error = block_on(HttpVfs::new(&url).unwrap().list("__commits")).unwrap_err();
    assert!(error.to_string().contains("sends more than 67108864 bytes"), "{error}");
    assert!(sent.load(Relaxed) <= LISTING_BYTES_MAX + IN_TRANSIT);

    // A part of a file: first a whole file without a length, then a body longer than the part.
    let (url, sent) = pouring(endless, megabyte(), Duration::ZERO);
    let error = block_on(HttpVfs::new(&url).unwrap().read("a", &[0..100])).unwrap_err();
    assert!(error.to_string().contains("ignores ranges"), "{error}");
    assert!(sent.load(Relaxed) <= IN_TRANSIT);
    let more = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-99/1000\r\nConnection: close\r\n\r\n";
    let (url, sent) = pouring(more, megabyte(), Duration::ZERO);
    let error = block_on(HttpVfs::new(&url).unwrap().read("a", &[0..100])).unwrap_err();
    assert!(error.to_string().contains("sends more than 100 bytes"), "{error}");
    assert!(sent.load(Relaxed) <= IN_TRANSIT);
    let (url, sent) = pouring(more, megabyte(), Duration::ZERO);
    let error = block_on(HttpVfs::new(&url).unwrap().read_tail("a", 100)).unwrap_err();
    assert!(error.to_string().contains("sends more than 100 bytes"), "{error}");
    assert!(sent.load(Relaxed) <= IN_TRANSIT);
}

#[test]
fn an_answer_that_announces_too_much_is_not_received() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n";
    let (url, sent) = pouring(head, vec![b'x'; 1 << 20], Duration::ZERO);
    let error = block_on(HttpVfs::new(&url).unwrap().read_all("__meta/__1_1_a")).unwrap_err();
    assert!(error.to_string().contains("sends more than"), "{error}");
    assert!(sent.load(Relaxed) <= IN_TRANSIT);
}

#[test]
fn a_slow_body_ends_with_an_error() {
    let head = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-9999/10000\r\nContent-Length: 10000\r\n\r\n";
    let (url, sent) = pouring(head, vec![b'x'], Duration::from_millis(2));
    let vfs = HttpVfs::new(&url).unwrap().with_patience(impatient());
    let error = block_on(vfs.read("a", &[0..10_000])).unwrap_err();
    assert!(error.to_string().contains("came too slowly"), "{error}");
    assert!(sent.load(Relaxed) < 4096 + head.len() as u64);
}

#[test]
fn an_answer_that_never_begins_ends_with_an_error() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let (url, _) = pouring(early, early.into(), Duration::from_millis(2));
    let vfs = HttpVfs::new(&url).unwrap().with_patience(impatient());
    for error in [
        block_on(vfs.read("a", &[0..10])).unwrap_err(),
        block_on(vfs.list("")).unwrap_err(),
    ] {
        assert!(
            error.to_string().contains("no answer came within 0.3 seconds"),
            "{error}"
        );
    }
}

/// A server that answers every request with `reply` and records the requests.
fn replying(reply: impl Fn(&str) -> String + Send + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request: Vec<String> = lines
                .map_while(|line| line.ok().filter(|line| !line.is_empty()))
                .collect();
            let request = request.join("\n");
            let answer = reply(request.split(' ').nth(1).unwrap_or_default());
            log.lock().unwrap().push(request);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (format!("http://{address}/base"), asked)
}

fn reply(head: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn failing(answer: String) -> String {
    let (url, _) = replying(move |_| answer.clone());
    block_on(HttpVfs::new(&url).unwrap().read("a", &[0..4]))
        .unwrap_err()
        .to_string()
}

#[test]
fn a_short_response_is_not_reported_as_damage() {
    let half = failing(reply("206 Partial Content\r\nContent-Range: bytes 0-1/9", "ab"));
    assert!(
        half.contains("sends bytes 0-1 of the 0-3 that were asked for") && half.contains("hyperslab serve"),
        "{half}"
    );
    assert!(!half.contains("from a backup"), "{half}");
    let untold = failing(reply("206 Partial Content", "ab"));
    assert!(untold.contains("the server sent 2 of 4 bytes requested"), "{untold}");
    let lie = failing(reply("206 Partial Content\r\nContent-Range: bytes 0-3/9", "ab"));
    assert!(lie.contains("the server sent 2 of 4 bytes"), "{lie}");
    // If a suffix range fails, the tail takes two requests.
    let (url, _) = replying(|_| reply("206 Partial Content\r\nContent-Range: bytes 0-3/9", "abcd"));
    assert!(block_on(HttpVfs::new(&url).unwrap().read_tail("a", 4)).is_err());
}

#[test]
fn a_host_that_refuses_missing_files_can_be_read() {
    let (url, _) = replying(|target| match target {
        "/base/" => reply(
            "200 OK\r\nContent-Type: application/json",
            r#"[{"name":"a","type":"file","size":1}]"#,
        ),
        _ => reply("403 Forbidden", ""),
    });
    let vfs = ManifestVfs::checked(Arc::new(HttpVfs::new(&url).unwrap()));
    assert_eq!(block_on(vfs.list("")).unwrap().len(), 1);
    let error = block_on(vfs.read_all("b")).unwrap_err().to_string();
    assert!(
        error.contains("or it is missing") && error.contains("credentials"),
        "{error}"
    );

    let (url, _) = replying(|_| reply("403 Forbidden", ""));
    let vfs = ManifestVfs::checked(Arc::new(HttpVfs::new(&url).unwrap()));
    let error = block_on(vfs.list("")).unwrap_err().to_string();
    assert!(
        error.contains("does not list this folder") && error.contains("hyperslab index"),
        "{error}"
    );
}

/// A host that does not list is asked to list only once.
#[test]
fn where_the_host_refuses_to_list_the_manifest_counts() {
    let (url, asked) = replying(|target| match target {
        "/base/__manifest.json" => reply("200 OK", r#"{"version":1,"files":{"d/a":{"size":1}}}"#),
        _ => reply("403 Forbidden", ""),
    });
    let vfs = ManifestVfs::checked(Arc::new(HttpVfs::new(&url).unwrap()));
    for dir in ["", "d", ""] {
        assert_eq!(block_on(vfs.list(dir)).unwrap().len(), 1, "{dir}");
    }
    assert_eq!(asked.lock().unwrap().len(), 2);
}

#[test]
fn signatures_are_not_sent_to_other_hosts() {
    let (there, asked) = replying(|_| reply("206 Partial Content\r\nContent-Range: bytes 0-3/4", "abcd"));
    let moved = format!("302 Found\r\nLocation: {there}/a");
    let (here, _) = replying(move |_| reply(&moved, ""));
    let signed = here.replace("http://", "http://me:password@") + "?X-Amz-Signature=secret";
    assert_eq!(
        block_on(HttpVfs::new(&signed).unwrap().read("a", &[0..4])).unwrap()[0],
        "abcd"
    );
    let asked = asked.lock().unwrap().join("\n").to_ascii_lowercase();
    assert!(asked.starts_with("get /base/a"), "{asked}");
    for secret in ["secret", "referer", "authorization", "password"] {
        assert!(!asked.contains(secret), "{asked}");
    }
}

#[test]
fn errors_do_not_show_the_signature() {
    let vfs = |address: &str| {
        let url = address.replace("http://", "http://me:password@") + "?sig=secret";
        HttpVfs::new(&url).unwrap()
    };
    let refused = vfs(&replying(|_| reply("403 Forbidden", "")).0);
    let unlisted = vfs(&replying(|_| reply("404 Not Found", "")).0);
    let circle = vfs(&replying(|target| reply(&format!("302 Found\r\nLocation: {target}"), "")).0);
    let errors = [
        block_on(refused.list("")).map(drop),
        block_on(unlisted.list("")).map(drop),
        block_on(circle.read_all("a")).map(drop),
        block_on(vfs("http://127.0.0.1:1/x").read_all("a")).map(drop),
        block_on(refused.put("a", vec![])),
        HttpVfs::new("http://me:password@/?sig=secret").map(drop),
    ];
    for error in errors.map(|found| found.unwrap_err().to_string()) {
        assert!(!error.contains("secret") && !error.contains("password"), "{error}");
    }
}
