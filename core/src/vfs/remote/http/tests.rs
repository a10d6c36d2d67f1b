//! Tests with a small server of our own, with and without ranges, that lists in JSON, in HTML or not at all.
#![expect(
    clippy::unwrap_used,
    reason = "a server of a test that cannot go on should say where"
)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::blocking::block_on;
use crate::vfs::{EntryKind, ManifestVfs, MemVfs, VfsExt, manifest, path};

#[derive(Clone, Copy)]
struct Manners {
    ranges: bool,
    listing: &'static str,
}

/// Serves `files` under `/base/` and returns the URL.
fn serve(files: MemVfs, manners: Manners) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let files = files.clone();
            std::thread::spawn(move || answer(stream.unwrap(), &files, manners));
        }
    });
    format!("http://{address}/base")
}

fn answer(mut stream: TcpStream, files: &MemVfs, manners: Manners) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    loop {
        let request = lines.next()?.ok()?;
        let mut range = None;
        while let Some(Ok(line)) = lines.next() {
            if line.is_empty() {
                break;
            }
            let line = line.to_ascii_lowercase();
            if let Some(text) = line.strip_prefix("range: bytes=") {
                let (a, b) = text.split_once('-')?;
                let last = b.parse::<usize>().ok()?;
                range = Some(
                    a.parse::<usize>()
                        .map_or(Wanted::Last(last), |a| Wanted::Part(a..last + 1)),
                );
            }
        }
        let target = request.split(' ').nth(1)?.strip_prefix("/base/").unwrap_or("?");
        let target = path::percent_decode(target)?;
        let (status, extra, body) = match target.strip_suffix('/').or(target.is_empty().then_some("")) {
            Some(dir) => list(files, dir, manners),
            None => match (block_on(files.read_all(&target)), range) {
                (Err(_), _) if manners.listing == "page" => page(),
                (Err(_), _) => ("404 Not Found", String::new(), Bytes::new()),
                (Ok(all), Some(wanted)) if manners.ranges => part(&all, wanted),
                (Ok(all), _) => ("200 OK", String::new(), all),
            },
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{extra}\r\n", body.len());
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(&body).ok()?;
    }
}

/// The bytes requested by a range header: from the start, or the last ones.
enum Wanted {
    Part(std::ops::Range<usize>),
    Last(usize),
}

fn part(all: &Bytes, wanted: Wanted) -> (&'static str, String, Bytes) {
    let range = match wanted {
        Wanted::Part(range) => range.start..range.end.min(all.len()),
        Wanted::Last(n) => all.len().saturating_sub(n)..all.len(),
    };
    if range.start >= all.len() {
        let header = format!("Content-Range: bytes */{}\r\n", all.len());
        return ("416 Range Not Satisfiable", header, Bytes::new());
    }
    let header = format!(
        "Content-Range: bytes {}-{}/{}\r\n",
        range.start,
        range.end - 1,
        all.len()
    );
    ("206 Partial Content", header, all.slice(range))
}

fn list(files: &MemVfs, dir: &str, manners: Manners) -> (&'static str, String, Bytes) {
    if manners.listing == "page" {
        return page();
    }
    let entries = block_on(files.list(dir)).unwrap();
    if entries.is_empty() || manners.listing.is_empty() {
        return ("404 Not Found", String::new(), Bytes::new());
    }
    let json = |e: &Entry| match e.kind {
        EntryKind::Dir => format!(r#"{{"name":{:?},"type":"directory"}}"#, e.name),
        EntryKind::File(size) => format!(r#"{{"name":{:?},"type":"file","size":{}}}"#, e.name, size.unwrap()),
    };
    let link = |e: &Entry| {
        let slash = if e.kind == EntryKind::Dir { "/" } else { "" };
        format!(
            "<a href=\"{}{slash}\">x</a>",
            e.name.replace('%', "%25").replace(' ', "%20").replace('&', "&amp;")
        )
    };
    let body = if manners.listing == "json" {
        format!("[{}]", entries.iter().map(json).collect::<Vec<_>>().join(","))
    } else {
        format!(
            "<title>Index of x</title>{}",
            entries.iter().map(link).collect::<String>()
        )
    };
    (
        "200 OK",
        format!("Content-Type: application/{}\r\n", manners.listing),
        body.into(),
    )
}

/// The response of a single-page site for any missing file.
fn page() -> (&'static str, String, Bytes) {
    let body = "<!doctype html>\n<html><head><title>Maps</title></head><body><a href=\"/\">Home</a></body></html>\n";
    ("200 OK", "Content-Type: text/html\r\n".to_owned(), body.into())
}

fn sample() -> MemVfs {
    let files = MemVfs::new();
    for (path, bytes) in crate::vfs::conformance::sample() {
        files.replace(path, bytes);
    }
    files
}

#[test]
fn reads_from_servers_of_every_kind() {
    for ranges in [true, false] {
        for listing in ["json", "html"] {
            let url = serve(sample(), Manners { ranges, listing });
            let vfs = HttpVfs::new(&url).unwrap();
            block_on(crate::vfs::conformance::check_reading(&vfs)).unwrap();
        }
    }
}

#[test]
fn a_file_that_is_sent_whole_serves_all_of_its_ranges() {
    let text: &'static str = Box::leak((0..1_000_000).map(|i| char::from(b'a' + (i % 23) as u8)).collect());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let vfs = HttpVfs::new(&answering(move |_| {
        count.fetch_add(1, Relaxed);
        ("200 OK".to_owned(), text)
    }))
    .unwrap();
    let requests = || asked.swap(0, Relaxed);
    let far_apart = [5..9, 400_000..400_010, 999_990..1_000_000];
    let check = |path: &str| {
        let read = block_on(vfs.read(path, &far_apart)).unwrap();
        for (part, range) in read.iter().zip(&far_apart) {
            assert_eq!(part[..], text.as_bytes()[range.start as usize..range.end as usize]);
        }
    };
    check("first");
    assert!((1..=far_apart.len()).contains(&requests()));
    check("first");
    assert_eq!(block_on(vfs.size("first")).unwrap(), 1_000_000);
    let (size, tail) = block_on(vfs.read_tail("first", 3)).unwrap();
    assert_eq!((size, &tail[..]), (1_000_000, &text.as_bytes()[999_997..]));
    assert_eq!(requests(), 0);
    check("second");
    assert_eq!(requests(), 1);
    assert_eq!(block_on(vfs.read_tail("third", 2_000_000)).unwrap().1.len(), 1_000_000);
    check("third");
    assert_eq!(requests(), 1);
}

#[test]
fn a_manifest_replaces_the_listing() {
    let files = sample();
    let url = serve(
        files.clone(),
        Manners {
            ranges: true,
            listing: "",
        },
    );
    let error = block_on(HttpVfs::new(&url).unwrap().list("")).unwrap_err();
    assert!(error.to_string().contains("hyperslab index"), "{error}");

    block_on(manifest::write(&files, "")).unwrap();
    let vfs = ManifestVfs::new(Arc::new(HttpVfs::new(&url).unwrap()));
    block_on(crate::vfs::conformance::check_reading(&vfs)).unwrap();
}

#[test]
fn folders_next_to_the_root_have_stores() {
    let files = MemVfs::new();
    files.replace("air/x", "air");
    files.replace("la t/y", "lat");
    let manners = Manners {
        ranges: true,
        listing: "json",
    };
    let url = serve(files, manners);
    for air in [format!("{url}/air"), format!("{url}/air/")] {
        let store = ManifestVfs::checked(Arc::new(HttpVfs::new(&air).unwrap()));
        let (beside, path) = store.neighbour("la t").unwrap().unwrap();
        assert_eq!(path, "");
        assert_eq!(block_on(beside.read_all("y")).unwrap(), "lat");
        let missing = store.neighbour("lon").unwrap().unwrap().0;
        assert_eq!(block_on(missing.read_all("y")).unwrap_err().code(), "NotFound");
        assert!(store.neighbour("../x").unwrap().is_none());
    }
    let root = HttpVfs::new("http://127.0.0.1:1/").unwrap();
    assert!(root.neighbour("air").unwrap().is_none());
}

#[test]
fn writing_is_refused() {
    let vfs = HttpVfs::new("http://127.0.0.1:1/x").unwrap();
    assert_eq!(block_on(vfs.put("a", vec![])).unwrap_err().code(), "Unsupported");
}

/// A server that answers every request for `target` with `reply`: a head, then a body.
fn answering(reply: impl Fn(&str) -> (String, &'static str) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(request)) = lines.next() else { continue };
            lines.find(|line| line.as_ref().is_ok_and(String::is_empty));
            let (head, body) = reply(request.split(' ').nth(1).unwrap());
            let length = match head.contains("Content-Length") {
                true => String::new(),
                false => format!("Content-Length: {}\r\n", body.len()),
            };
            write!(stream, "HTTP/1.1 {head}\r\n{length}Connection: close\r\n\r\n{body}").unwrap();
        }
    });
    format!("http://{address}/base")
}

fn failing(head: &'static str, body: &'static str) -> String {
    let vfs = HttpVfs::new(&answering(move |_| (head.to_owned(), body))).unwrap();
    let error = block_on(vfs.read("file", &[0..4])).unwrap_err();
    assert_eq!(error.code(), "Io", "{error}");
    assert!(error.to_string().contains("file"), "{error}");
    error.to_string()
}

#[test]
fn bytes_that_are_not_those_of_the_file_are_refused() {
    let gzip = failing(
        "206 Partial Content\r\nContent-Encoding: gzip\r\nContent-Range: bytes 0-3/9",
        "abcd",
    );
    assert!(gzip.contains("gzip") && gzip.contains("turn compression off"), "{gzip}");
    let other = failing("206 Partial Content\r\nContent-Range: bytes 5-8/9", "abcd");
    assert!(
        other.contains("other bytes") && other.contains("hyperslab serve"),
        "{other}"
    );
    let short = failing("206 Partial Content\r\nContent-Range: bytes 0-1/2", "ab");
    assert!(
        short.contains("truncated") && short.contains("from a backup"),
        "{short}"
    );
}

#[test]
fn refusals_say_what_to_do() {
    for head in ["403 Forbidden", "401 Unauthorized"] {
        let refused = failing(head, "");
        assert!(refused.contains(head) && refused.contains("credentials"), "{refused}");
    }
}

#[test]
fn a_folder_that_cannot_be_listed_is_not_absent() {
    let cases = [
        ("403 Forbidden", "", "Unsupported"),
        ("403 Forbidden", "a", "Unsupported"),
        ("405 Method Not Allowed", "a", "Unsupported"),
        ("503 Service Unavailable", "a", "Io"),
        ("429 Too Many Requests", "a", "Io"),
    ];
    for (head, dir, code) in cases {
        let vfs = HttpVfs::new(&answering(move |_| (head.to_owned(), ""))).unwrap();
        let error = block_on(vfs.list(dir)).unwrap_err();
        assert!(error.code() == code && error.to_string().contains(head), "{error}");
    }
    let refused = HttpVfs::new(&answering(|_| ("403 Forbidden".to_owned(), ""))).unwrap();
    assert!(
        block_on(refused.list(""))
            .unwrap_err()
            .to_string()
            .contains("hyperslab index")
    );
}

#[test]
fn interrupted_bodies_are_requested_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    // Every other body is shorter than its head announces.
    let vfs = HttpVfs::new(&answering(move |_| match count.fetch_add(1, Relaxed) % 2 {
        0 => (
            "206 Partial Content\r\nContent-Range: bytes 0-3/4\r\nContent-Length: 4".to_owned(),
            "ab",
        ),
        _ => ("206 Partial Content\r\nContent-Range: bytes 0-3/4".to_owned(), "abcd"),
    }))
    .unwrap();
    assert_eq!(block_on(vfs.read("file", &[0..4])).unwrap()[0][..], b"abcd"[..]);
    assert_eq!(block_on(vfs.read_all("file")).unwrap()[..], b"abcd"[..]);
    assert_eq!(block_on(vfs.read_tail("file", 4)).unwrap().1[..], b"abcd"[..]);
    assert_eq!(asked.load(Relaxed), 6);

    let never = failing(
        "206 Partial Content\r\nContent-Range: bytes 0-3/9\r\nContent-Length: 4",
        "ab",
    );
    assert!(never.contains("broke off"), "{never}");
}

#[test]
fn redirects_are_followed_but_not_for_ever() {
    let files = serve(
        sample(),
        Manners {
            ranges: true,
            listing: "json",
        },
    );
    let root = files.trim_end_matches("/base").to_owned();
    let moved = answering(move |target| (format!("307 Temporary Redirect\r\nLocation: {root}{target}"), ""));
    block_on(crate::vfs::conformance::check_reading(&HttpVfs::new(&moved).unwrap())).unwrap();

    let circle = failing("302 Found\r\nLocation: /base/file", "");
    assert!(circle.contains("redirects too often"), "{circle}");
}

#[test]
fn names_are_requested_unchanged() {
    let asked = |base: &str, path: &str, folder: bool| {
        let request = HttpVfs::new(base).unwrap().get(path, folder).unwrap();
        request.build().unwrap().url().to_string()
    };
    assert_eq!(
        asked("http://127.0.0.1:1/x/?key=1", "a b/tab\tx\n%é.tdb", false),
        "http://127.0.0.1:1/x/a%20b/tab%09x%0A%25%C3%A9.tdb?key=1"
    );
    assert_eq!(asked("http://127.0.0.1:1/x/", "", false), "http://127.0.0.1:1/x");
    assert_eq!(asked("http://127.0.0.1:1", "", true), "http://127.0.0.1:1/");
    assert_eq!(
        asked("http://127.0.0.1:1", "__schema", true),
        "http://127.0.0.1:1/__schema/"
    );
}

#[test]
fn a_web_page_is_not_a_file() {
    let manners = Manners {
        ranges: false,
        listing: "page",
    };
    let vfs = HttpVfs::new(&serve(sample(), manners)).unwrap();
    let found = [
        block_on(vfs.read_all("__manifest.json")).map(drop),
        block_on(vfs.read("nothing", &[0..4])).map(drop),
        block_on(vfs.read_tail("nothing else", 100)).map(drop),
    ];
    for found in found {
        let error = found.unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error:?}");
        assert!(error.to_string().contains("a web page"), "{error}");
    }
    let unlisted = block_on(vfs.list("")).unwrap_err().to_string();
    assert!(
        unlisted.contains("not a list of files") && unlisted.contains("hyperslab index"),
        "{unlisted}"
    );
}
