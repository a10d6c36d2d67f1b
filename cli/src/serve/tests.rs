use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use super::accept;
use super::access::Access;
use super::files::{Root, Wanted, decode, wanted};
use super::folder::Folder;
use super::http::{Body, Request, Response};

fn folder() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("root/a b/__schema")).unwrap();
    fs::write(dir.path().join("root/a b/data.tdb"), b"0123456789").unwrap();
    fs::write(dir.path().join("secret"), b"secret").unwrap();
    let root = root(&dir, "0.0.0.0");
    (dir, root)
}

fn root(dir: &tempfile::TempDir, listens: &str) -> Root {
    let access = Access::new(listens.parse().unwrap(), &[]);
    Root::new(Box::new(Folder::new(dir.path().join("root"))), access, false)
}

fn body(response: Response) -> String {
    match response.body {
        Body::Bytes(b) => String::from_utf8(b).unwrap(),
        Body::File(mut file, n) => {
            let bytes = file.read_next(usize::try_from(n).unwrap()).unwrap();
            String::from_utf8(bytes.to_vec()).unwrap()
        }
    }
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response
        .headers
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, v)| v.as_str())
}

#[test]
fn files_are_served_whole_or_in_part() {
    let (_dir, root) = folder();
    let get = |headers: &[(&str, &str)]| root.answer(&Request::new("GET", "/a%20b/data.tdb", headers));
    let whole = get(&[]);
    assert_eq!((whole.status, header(&whole, "Accept-Ranges")), (200, Some("bytes")));
    assert_eq!(header(&whole, "Access-Control-Allow-Origin"), Some("*"));
    let etag = header(&whole, "ETag").unwrap().to_owned();
    assert_eq!(body(whole), "0123456789");
    let part = get(&[("Range", "bytes=2-4")]);
    assert_eq!(
        (part.status, header(&part, "Content-Range")),
        (206, Some("bytes 2-4/10"))
    );
    assert_eq!(body(part), "234");
    assert_eq!(body(get(&[("Range", "bytes=-3")])), "789");
    assert_eq!(body(get(&[("Range", "bytes=7-99")])), "789");
    let beyond = get(&[("Range", "bytes=10-")]);
    assert_eq!(
        (beyond.status, header(&beyond, "Content-Range")),
        (416, Some("bytes */10"))
    );
    assert_eq!(get(&[("If-None-Match", &etag)]).status, 304);
    assert_eq!(get(&[("Range", "bytes=0-1"), ("If-Range", "\"old\"")]).status, 200);
}

#[test]
fn ranges_that_are_not_understood_give_the_whole_file() {
    for text in ["bytes=a-b", "lines=1-2", "bytes=5-2", "bytes=0-1,3-4"] {
        assert_eq!(wanted(text, 10), Wanted::All, "{text}");
    }
    assert_eq!(wanted("bytes=0-", 0), Wanted::None);
    assert_eq!(wanted("bytes=-20", 10), Wanted::Part(0..10));
}

#[test]
fn files_outside_the_folder_are_not_served() {
    let (dir, root) = folder();
    #[cfg(unix)]
    std::os::unix::fs::symlink(dir.path().join("secret"), dir.path().join("root/link")).unwrap();
    let secret = dir.path().join("secret");
    for target in [
        "/../secret",
        "/%2e%2e/secret",
        "/a%20b/../../secret",
        "/..%2fsecret",
        "/link",
        secret.to_str().unwrap(),
        "//secret",
        "/%00",
    ] {
        let response = root.answer(&Request::new("GET", target, &[]));
        assert_eq!(response.status, 404, "{target}");
    }
    assert_eq!(root.answer(&Request::new("GET", "/%zz", &[])).status, 400);
    assert_eq!(decode("/%41%2F"), Some("/A/".into()));
}

#[test]
fn folders_are_listed_for_programs_and_people() {
    let (_dir, root) = folder();
    let json = root.answer(&Request::new("GET", "/a%20b/", &[("Accept", "application/json")]));
    assert_eq!(header(&json, "Content-Type"), Some("application/json"));
    let list: serde_json::Value = serde_json::from_str(&body(json)).unwrap();
    assert_eq!(
        list,
        serde_json::json!([{"name": "__schema", "type": "directory"}, {"name": "data.tdb", "type": "file", "size": 10}])
    );
    let html = body(root.answer(&Request::new("GET", "/", &[])));
    assert!(html.contains("href=\"./a%20b/\""), "{html}");
    let moved = root.answer(&Request::new("GET", "/a%20b", &[]));
    assert_eq!((moved.status, header(&moved, "Location")), (301, Some("/a%20b/")));
}

#[test]
fn a_folder_is_not_redirected_to_another_host() {
    let (dir, root) = folder();
    fs::create_dir_all(dir.path().join("root/evil.example/x")).unwrap();
    for (target, location) in [
        ("//evil.example", "/evil.example/"),
        ("//evil.example/x", "/evil.example/x/"),
        ("/%2fevil.example", "/evil.example/"),
        ("/./a%20b?q", "/a%20b/"),
    ] {
        let moved = root.answer(&Request::new("GET", target, &[]));
        assert_eq!(
            (moved.status, header(&moved, "Location")),
            (301, Some(location)),
            "{target}"
        );
    }
    assert_eq!(root.answer(&Request::new("GET", "/\\evil.example", &[])).status, 404);
}

#[test]
fn dotfiles_are_served_only_on_request() {
    let (dir, root) = folder();
    fs::create_dir_all(dir.path().join("root/.git")).unwrap();
    fs::write(dir.path().join("root/.git/config"), b"password").unwrap();
    let listed = |root: &Root| body(root.answer(&Request::new("GET", "/", &[]))).contains(".git");
    let status = |root: &Root| root.answer(&Request::new("GET", "/.git/config", &[])).status;
    assert_eq!((listed(&root), status(&root)), (false, 404));
    let all = Root::new(
        Box::new(Folder::new(dir.path().join("root"))),
        Access::new([0, 0, 0, 0].into(), &[]),
        true,
    );
    assert_eq!((listed(&all), status(&all)), (true, 200));
}

#[test]
fn a_loopback_server_answers_this_machine_and_its_pages() {
    let (dir, _) = folder();
    let own = root(&dir, "127.0.0.1");
    let get = |origin: &str| own.answer(&Request::new("GET", "/a%20b/data.tdb", &[("Origin", origin)]));
    let page = get("http://localhost:3000");
    assert_eq!(
        header(&page, "Access-Control-Allow-Origin"),
        Some("http://localhost:3000")
    );
    assert_eq!(
        (page.status, header(&page, "X-Content-Type-Options")),
        (200, Some("nosniff"))
    );
    let other = get("https://evil.example");
    assert_eq!(header(&other, "Access-Control-Allow-Origin"), None);
    assert_eq!(header(&other, "Cross-Origin-Resource-Policy"), Some("same-site"));
    // A host name of the page that resolves to this server.
    let rebound = Request::new("GET", "/a%20b/data.tdb", &[]).of("evil.example:8000");
    assert_eq!(own.answer(&rebound).status, 421);
    assert_eq!(root(&dir, "0.0.0.0").answer(&rebound).status, 200);
}

#[test]
fn only_reading_is_allowed() {
    let (_dir, root) = folder();
    assert_eq!(root.answer(&Request::new("DELETE", "/a%20b/data.tdb", &[])).status, 405);
    let preflight = root.answer(&Request::new("OPTIONS", "/a%20b/data.tdb", &[]));
    assert_eq!(
        (preflight.status, header(&preflight, "Access-Control-Allow-Headers")),
        (204, Some("*"))
    );
}

/// The server's answer to these bytes.
fn exchange(root: Root, said: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || accept(listener, &Arc::new(root)));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(said.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn one_connection_serves_many_requests() {
    let get = |method: &str, close: &str| {
        format!("{method} /a%20b/data.tdb HTTP/1.1\r\nHost: x\r\nRange: bytes=0-2\r\n{close}\r\n")
    };
    let (_dir, root) = folder();
    let text = exchange(
        root,
        &format!("{}{}", get("HEAD", ""), get("GET", "Connection: close\r\n")),
    );
    assert_eq!(text.matches("206 Partial Content").count(), 2, "{text}");
    assert_eq!(text.matches("Content-Length: 3").count(), 2);
    assert!(text.ends_with("\r\n\r\n012"));
}

#[test]
fn requests_with_an_ambiguous_length_or_host_are_refused() {
    let hidden = "GET /a%20b/data.tdb HTTP/1.1\r\nHost: x\r\n\r\n";
    let length = hidden.len();
    for (lines, status) in [
        (
            format!("Host: x\r\nContent-Length: 0\r\nContent-Length: {length}\r\n"),
            400,
        ),
        (format!("Host: x\r\nContent-Length: 0, {length}\r\n"), 400),
        (
            "Host: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n".to_owned(),
            400,
        ),
        (format!("Host: x\r\nContent-Length: {length}\r\n"), 200),
        ("Host: x\r\nHost: y\r\n".to_owned(), 400),
        ("Connection: close\r\n".to_owned(), 400),
        ("nonsense\r\n".to_owned(), 400),
    ] {
        let (_dir, root) = folder();
        let text = exchange(root, &format!("GET / HTTP/1.1\r\n{lines}\r\n{hidden}"));
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{lines}: {text}");
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{lines}: {text}");
    }
}

#[test]
fn an_absolute_request_target_names_the_host() {
    let (dir, _) = folder();
    for (target, status) in [
        ("http://localhost", 200),
        ("http://localhost/a%20b/", 200),
        ("http://evil.example/", 421),
    ] {
        let said = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let text = exchange(root(&dir, "127.0.0.1"), &said);
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {text}");
    }
}
