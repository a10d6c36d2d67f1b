//! The part of HTTP/1.1 that static files need.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::time::Duration;

use super::connections::Connection;

const HEADERS_MAX: usize = 64;
const HEAD_BYTES_MAX: u64 = 16 << 10;
const IDLE: Duration = Duration::from_secs(60);
/// Bytes of a file that are sent at a time.
const PIECE_BYTES: usize = 64 << 10;

/// A request without its body, which is ignored.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path with its escapes, and the query.
    pub(super) target: String,
    /// The requested host; old clients do not name one.
    pub(super) host: Option<String>,
    headers: Vec<(String, String)>,
    http_1_0: bool,
}

impl Request {
    #[cfg(test)]
    pub(super) fn new(method: &str, target: &str, headers: &[(&str, &str)]) -> Self {
        let headers = headers
            .iter()
            .map(|(n, v)| (n.to_ascii_lowercase(), (*v).to_owned()))
            .collect();
        Self {
            method: method.into(),
            target: target.into(),
            host: Some("127.0.0.1:8000".into()),
            headers,
            http_1_0: false,
        }
    }

    /// The same request for another host.
    #[cfg(test)]
    pub(super) fn of(self, host: &str) -> Self {
        let host = Some(host.to_owned());
        Self { host, ..self }
    }

    /// The header of this name, in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    fn has(&self, name: &str) -> bool {
        self.header(name).is_some()
    }

    /// Every value of the header of this name, in lower case.
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// An error in the headers: the length and the host of a request must be unambiguous.
    fn fault(&self) -> Option<&'static str> {
        let lengths: Vec<&str> = self.values("content-length").collect();
        let digits = |n: &&str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
        if lengths.len() > 1 || !lengths.iter().all(digits) || (!lengths.is_empty() && self.has("transfer-encoding")) {
            return Some("the length of the request is ambiguous");
        }
        let hosts = self.values("host").count();
        (hosts > 1 || (hosts == 0 && !self.http_1_0)).then_some("a request must name one host")
    }

    /// Whether the connection ends after the answer. It does after a request with a body: the body is not read, so the
    /// next request cannot be found.
    fn closes(&self) -> bool {
        if self.values("content-length").any(|n| n.bytes().any(|b| b != b'0')) || self.has("transfer-encoding") {
            return true;
        }
        match self.header("connection").map(str::to_ascii_lowercase) {
            Some(c) if c.contains("close") => true,
            Some(c) if c.contains("keep-alive") => false,
            _ => self.http_1_0,
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Body,
}

/// The body of an answer.
#[derive(Debug)]
pub(super) enum Body {
    Bytes(Vec<u8>),
    /// This many bytes from the current position in the file.
    File(File, u64),
}

impl Body {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(b) => b.len() as u64,
            Self::File(_, n) => *n,
        }
    }
}

impl Response {
    /// A short text as an answer.
    pub(super) fn text(status: u16, text: &str) -> Self {
        let headers = vec![("Content-Type", "text/plain; charset=utf-8".to_owned())];
        Self {
            status,
            headers,
            body: Body::Bytes(format!("{text}\n").into_bytes()),
        }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Answers the requests of a connection until it ends.
pub(super) fn converse(connection: &Connection, answer: impl Fn(&Request) -> Response) -> io::Result<()> {
    let stream = connection.stream();
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(IDLE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = BufWriter::with_capacity(PIECE_BYTES, connection);
    loop {
        let head = connection.idle(|| read(&mut reader))?;
        let close = connection.busy(|| {
            let (response, head_only, close) = match head {
                Head::End => return Ok(true),
                Head::Request(request) => (answer(&request), request.method == "HEAD", request.closes()),
                Head::Bad(status, why) => (Response::text(status, why), false, true),
            };
            write(&mut writer, response, head_only, close)?;
            writer.flush().map(|()| close)
        });
        if close? {
            return Ok(());
        }
    }
}

enum Head {
    Request(Request),
    Bad(u16, &'static str),
    End,
}

fn read(reader: &mut impl BufRead) -> io::Result<Head> {
    let mut head = Vec::new();
    let mut limited = reader.take(HEAD_BYTES_MAX);
    while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
        let before = head.len();
        if limited.read_until(b'\n', &mut head)? == 0 {
            let full = limited.limit() == 0;
            return Ok(if full {
                Head::Bad(431, "the header is too long")
            } else {
                Head::End
            });
        }
        if before == 0 && head.iter().all(|b| matches!(b, b'\r' | b'\n')) {
            head.clear();
        }
    }
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(&head) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Ok(Head::Bad(431, "too many header lines")),
        _ => return Ok(Head::Bad(400, "this is not HTTP/1.1")),
    }
    let text = |v: &[u8]| String::from_utf8_lossy(v).trim().to_owned();
    let mut request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        host: None,
        headers: parsed
            .headers
            .iter()
            .map(|h| (h.name.to_ascii_lowercase(), text(h.value)))
            .collect(),
        http_1_0: parsed.version == Some(0),
    };
    if let Some(fault) = request.fault() {
        return Ok(Head::Bad(400, fault));
    }
    request.host = request.header("host").map(str::to_owned);
    // Clients send proxies the whole address. Its host takes precedence over the header.
    if let Some(address) = request.target.strip_prefix("http://") {
        let (host, path) = address.split_at(address.find('/').unwrap_or(address.len()));
        request.host = Some(host.to_owned());
        request.target = if path.is_empty() { "/" } else { path }.to_owned();
    }
    Ok(Head::Request(request))
}

fn write(out: &mut impl Write, response: Response, head_only: bool, close: bool) -> io::Result<()> {
    write!(out, "HTTP/1.1 {} {}\r\n", response.status, reason(response.status))?;
    for (name, value) in &response.headers {
        write!(out, "{name}: {value}\r\n")?;
    }
    if response.status != 304 {
        write!(out, "Content-Length: {}\r\n", response.body.len())?;
    }
    write!(
        out,
        "Connection: {}\r\n\r\n",
        if close { "close" } else { "keep-alive" }
    )?;
    if head_only {
        return Ok(());
    }
    match response.body {
        Body::Bytes(bytes) => out.write_all(&bytes),
        Body::File(file, n) => send(out, file, n),
    }
}

fn send(out: &mut impl Write, mut file: File, mut left: u64) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    while left > 0 {
        let most = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let bytes = match file.read(piece.get_mut(..most).unwrap_or_default()) {
            // The file has shrunk. The client must not read the next answer as the rest of the file.
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        out.write_all(piece.get(..bytes).unwrap_or_default())?;
        left -= bytes as u64;
    }
    Ok(())
}

const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        416 => "Range Not Satisfiable",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    }
}
