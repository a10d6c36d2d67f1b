use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use crate::{Shell, int16s, npy, values};

/// A server that ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn serve(shell: &Shell) -> Server {
    start(shell, "serve . --port 0")
}

pub(crate) fn start(shell: &Shell, command: &str) -> Server {
    let mut child = shell.command(command).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line
        .trim()
        .rsplit_once("http://")
        .unwrap()
        .1
        .trim_end_matches('/')
        .to_owned();
    Server { child, address }
}

pub(crate) fn get(server: &Server, path: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n"
    )
    .unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn the_server_prints_its_address_and_serves_ranges_and_listings() {
    let shell = Shell::new();
    shell.file("data.bin", b"0123456789");
    let server = serve(&shell);
    assert!(server.address.starts_with("127.0.0.1:"), "{}", server.address);
    let part = get(&server, "/data.bin", "Range: bytes=3-5\r\n");
    assert!(
        part.starts_with("HTTP/1.1 206") && part.ends_with("\r\n\r\n345"),
        "{part}"
    );
    let list = get(&server, "/", "Accept: application/json\r\n");
    let list: serde_json::Value = serde_json::from_str(list.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(
        list,
        serde_json::json!([{"name": "data.bin", "type": "file", "size": 10}])
    );
}

#[test]
fn idle_connections_make_room_for_new_ones() {
    let shell = Shell::new();
    shell.file("data.bin", b"0123456789");
    let server = serve(&shell);
    let timeout = Some(std::time::Duration::from_secs(20));
    let connect = || {
        let stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(timeout).unwrap();
        stream
    };
    let head = |stream: &mut TcpStream| {
        write!(stream, "HEAD /data.bin HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut reply = [0; 15];
        stream.read_exact(&mut reply).map(|()| reply)
    };
    // More than the server keeps open, each idle after one request.
    let mut idle = Vec::new();
    for i in 0..300 {
        let mut stream = connect();
        let reply = head(&mut stream).unwrap_or_else(|e| panic!("connection {i} is not answered: {e}"));
        assert_eq!(&reply, b"HTTP/1.1 200 OK");
        idle.push(stream);
    }
    assert!(get(&server, "/data.bin", "").ends_with("0123456789"));
    // The longest idle ones were closed; the others are still open.
    let mut rest = Vec::new();
    assert!(idle[0].read_to_end(&mut rest).is_ok(), "the oldest is closed");
    idle[299]
        .set_read_timeout(Some(std::time::Duration::from_millis(100)))
        .unwrap();
    let still_open = idle[299].read_to_end(&mut rest).unwrap_err();
    assert!(
        matches!(
            still_open.kind(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
        ),
        "{still_open}"
    );
    // Connections without any request are closed too.
    let silent: Vec<TcpStream> = (0..300).map(|_| connect()).collect();
    assert!(get(&server, "/data.bin", "").ends_with("0123456789"));
    drop(silent);
}

#[cfg(unix)]
#[test]
fn pipes_and_stalled_clients_do_not_block_the_server() {
    let shell = Shell::new();
    shell.file("data.bin", b"0123456789");
    std::fs::File::create(shell.path("large.bin"))
        .unwrap()
        .set_len(64 << 20)
        .unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(shell.path("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let server = serve(&shell);
    // Twice, more connections than the server allows.
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        stream
    };
    let waiting: Vec<TcpStream> = (0..110).map(|_| ask("/pipe")).collect();
    assert!(get(&server, "/pipe", "").starts_with("HTTP/1.1 404"));
    let slow: Vec<TcpStream> = (0..110).map(|_| ask("/large.bin")).collect();
    assert!(get(&server, "/data.bin", "").ends_with("0123456789"));
    drop((waiting, slow));
}

#[cfg(unix)]
#[test]
fn the_server_ends_on_sigterm() {
    let shell = Shell::new();
    let mut server = serve(&shell);
    let kill = std::process::Command::new("kill")
        .arg(server.child.id().to_string())
        .status()
        .unwrap();
    assert!(kill.success());
    assert!(server.child.wait().unwrap().success());
    assert!(TcpStream::connect(&server.address).is_err());
}

#[test]
fn a_foreign_address_and_a_taken_port_are_different_errors() {
    let shell = Shell::new();
    // Addresses for documentation belong to no machine.
    let words = [
        "cannot listen on 192.0.2.1:8000",
        "192.0.2.1 is not an address of this machine",
        "--host",
    ];
    crate::failing::check(&shell, "serve . --host 192.0.2.1 --port 8000", 1, &words);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let line = format!("serve . --port {}", taken.local_addr().unwrap().port());
    crate::failing::check(
        &shell,
        &line,
        1,
        &["cannot listen on 127.0.0.1", "choose another --port"],
    );
}

#[cfg(feature = "object-store")]
#[test]
fn an_array_is_read_through_the_server_by_listing_and_by_manifest() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    let server = serve(&shell);
    let export = format!("export http://{}/a - --format npy", server.address);
    assert_eq!(values(&shell.pipe(&export, b"")), int16s(12));
    assert_eq!(shell.ok("index a"), "a/__manifest.json\n");
    assert_eq!(values(&shell.pipe(&export, b"")), int16s(12));
}

#[cfg(feature = "object-store")]
#[test]
fn a_manifest_hides_nothing_if_the_host_can_list() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.file("more.npy", npy("'<i2'", "(3, 4)", &int16s(24)[24..]));
    shell.ok("import in.npy a");
    shell.ok("index a");
    let old = shell.bytes("a/__manifest.json");
    shell.ok("write a more.npy");
    // As a program without support for manifests leaves it.
    shell.file("a/__manifest.json", old);
    let server = serve(&shell);
    let read = shell.pipe(&format!("export http://{}/a - --format npy", server.address), b"");
    assert_eq!(values(&read), &int16s(24)[24..]);
}

#[cfg(feature = "object-store")]
#[test]
fn signatures_and_passwords_are_not_shown() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    std::fs::create_dir(shell.path("f")).unwrap();
    shell.ok("import in.npy f/a");
    shell.ok("group create g");
    shell.ok("group add g f/a");
    let address = serve(&shell);
    let url = |path: &str| format!("http://me:password@{}/{path}?X-Amz-Signature=secret", address.address);
    let shown = format!("http://***@{}/f/a?***", address.address);
    for command in ["info", "info --json", "verify", "tree", "ls"] {
        let output = shell.ok(&format!("{command} {}", url("f/a")));
        assert!(output.contains(&shown) || command == "ls", "{output}");
        assert!(!output.contains("secret") && !output.contains("password"), "{output}");
    }
    // The names of members go before the signature.
    assert!(shell.ok(&format!("tree {}", url("f"))).contains("3 × 4"));
    for command in ["info", "tree", "verify", "export", "copy", "meta", "index"] {
        let more = match command {
            "export" | "copy" => "out.csv",
            "meta" => "list",
            _ => "",
        };
        let (_, error) = shell.fails(&format!("{command} {} {more}", url("nothing")));
        assert!(
            !error.contains("secret") && !error.contains("password"),
            "{command}: {error}"
        );
    }
}

#[cfg(feature = "object-store")]
#[test]
fn changes_update_the_manifests_of_the_array_and_its_parents() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    std::fs::create_dir(shell.path("folder")).unwrap();
    shell.ok("import in.npy folder/a");
    for indexed in ["folder/a", "folder"] {
        shell.ok(&format!("index {indexed}"));
        // Vacuum removes files that an outdated manifest lists.
        shell.file("more.npy", npy("'<i2'", "(3, 4)", &int16s(24)[24..]));
        shell.ok("write folder/a more.npy");
        shell.ok("meta set folder/a of folder");
        let served = serve(&shell);
        let address = &served.address;
        for step in ["verify folder/a", "consolidate folder/a", "vacuum folder/a"] {
            shell.ok(step);
            let read = shell.pipe(&format!("export http://{address}/folder/a - --format npy"), b"");
            assert_eq!(values(&read), &int16s(24)[24..], "{step}");
        }
        let told = shell.ok(&format!("meta get http://{address}/folder/a of"));
        assert!(told.contains("folder"), "{told}");
        shell.ok("write folder/a in.npy");
    }
}

/// The body of an answer.
pub(crate) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn slices_of_arrays_are_served_as_files() {
    let shell = Shell::new();
    shell.file("cells.csv", b"x,v\n1,10\n2,20\n3,30\n9,90\n");
    shell.ok("import cells.csv points --sparse --dims x");
    let server = start(&shell, "serve --view . --port 0");
    let ok = |path: &str, header: &str| {
        let answer = get(&server, path, header);
        assert!(answer.starts_with("HTTP/1.1 20"), "{path}: {answer}");
        answer
    };
    let json = ok("/points/", "Accept: application/json\r\n");
    assert!(json.contains(r#"{"name":"slices","type":"directory"}"#), "{json}");
    assert!(ok("/points/", "").contains("<a href=\"./slices/\">"));
    let csv = ok("/points/slices/x=2:4.csv", "");
    assert!(csv.contains("Content-Length: 14\r\n"), "{csv}");
    assert_eq!(body(&csv), "x,v\n2,20\n3,30\n");
    let part = ok("/points/slices/x=2:4.csv", "Range: bytes=4-8\r\n");
    assert!(part.contains("206") && body(&part) == "2,20\n", "{part}");
    let tag = csv.lines().find_map(|l| l.strip_prefix("Etag: ")).unwrap();
    let same = get(
        &server,
        "/points/slices/x=2:4.csv",
        &format!("If-None-Match: {tag}\r\n"),
    );
    assert!(same.starts_with("HTTP/1.1 304"), "{same}");
    let wrong = get(&server, "/points/slices/nothing@1.csv", "");
    assert!(
        wrong.starts_with("HTTP/1.1 404") && body(&wrong).contains("'nothing'"),
        "{wrong}"
    );
    let folder = get(&server, "/points/slices", "");
    assert!(folder.contains("Location: /points/slices/\r\n"), "{folder}");
    // New cells are shown within a second.
    shell.file("more.csv", b"x,v\n7,70\n");
    shell.ok("write points more.csv");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while body(&ok("/points/slices/x=7:8.csv", "")) != "x,v\n7,70\n" {
        assert!(std::time::Instant::now() < end, "the write is not shown");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}
