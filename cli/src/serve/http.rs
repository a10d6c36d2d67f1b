//! Speaks HTTP/1.1 with clients. hyper reads the requests and writes the answers.

use std::convert::Infallible;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};

use super::connections::{Answering, Connection};

const HEADERS_MAX: usize = 64;
const HEAD_BYTES_MAX: usize = 16 << 10;
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
    headers: HeaderMap,
}

impl Request {
    #[cfg(test)]
    pub(super) fn new(method: &str, target: &str, headers: &[(&str, &str)]) -> Self {
        let headers = headers
            .iter()
            .map(|(n, v)| (n.parse::<HeaderName>().unwrap(), v.parse().unwrap()))
            .collect();
        Self {
            method: method.into(),
            target: target.into(),
            host: Some("127.0.0.1:8000".into()),
            headers,
        }
    }

    /// The same request for another host.
    #[cfg(test)]
    pub(super) fn of(self, host: &str) -> Self {
        let host = Some(host.to_owned());
        Self { host, ..self }
    }

    /// Reads a request. Its end and its host must be unambiguous.
    fn read(parts: Parts) -> Result<Self, &'static str> {
        // hyper refuses lengths that contradict each other.
        if parts.headers.contains_key(header::TRANSFER_ENCODING) {
            return Err("requests with a body of unknown length are not accepted");
        }
        let hosts = parts.headers.get_all(header::HOST).iter().count();
        if hosts > 1 || (hosts == 0 && parts.version == Version::HTTP_11) {
            return Err("a request must name one host");
        }
        // Clients send proxies the whole address. Its host takes precedence over the header.
        let host = parts.uri.authority().map(|host| host.as_str());
        let header = || parts.headers.get(header::HOST)?.to_str().ok();
        Ok(Self {
            method: parts.method.as_str().to_owned(),
            target: parts
                .uri
                .path_and_query()
                .map_or("/", |target| target.as_str())
                .to_owned(),
            host: host.or_else(header).map(str::to_owned),
            headers: parts.headers,
        })
    }

    /// The header of this name, in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether the request has a body. It is not read, so the connection ends after the answer.
    fn has_body(&self) -> bool {
        self.header("content-length").is_some_and(|n| n != "0")
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
    /// The next bytes of a file, this many.
    File(Box<dyn ReadNext>, u64),
}

/// A file that is sent in pieces.
pub(super) trait ReadNext: Debug + Send {
    /// The next bytes, at most `most`; none only at the end.
    fn read_next(&mut self, most: usize) -> io::Result<Bytes>;
}

impl ReadNext for File {
    fn read_next(&mut self, most: usize) -> io::Result<Bytes> {
        let mut piece = Vec::new();
        self.take(most as u64).read_to_end(&mut piece)?;
        Ok(piece.into())
    }
}

impl Body {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(b) => b.len() as u64,
            Self::File(_, n) => *n,
        }
    }

    /// Takes the next bytes to send.
    fn next(&mut self) -> io::Result<Bytes> {
        match self {
            Self::Bytes(bytes) => Ok(std::mem::take(bytes).into()),
            Self::File(file, left) => {
                let piece = file.read_next(PIECE_BYTES.min(usize::try_from(*left).unwrap_or(PIECE_BYTES)))?;
                // The file has shrunk. The client must not read the next answer as the rest of the file.
                if piece.is_empty() {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                *left -= piece.len() as u64;
                Ok(piece)
            }
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

    fn for_hyper(mut self, answering: Answering, close: bool) -> hyper::Response<Answer> {
        if close {
            self = self.with("Connection", "close");
        }
        // Answers to HEAD have a length, but no body.
        if self.status != 304 {
            let length = self.body.len().to_string();
            self = self.with("Content-Length", length);
        }
        let body = self.body;
        let mut response = hyper::Response::new(Answer { body, answering });
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in self.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::try_from(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

/// A body that is being sent. The connection is busy until it is dropped.
struct Answer {
    body: Body,
    #[expect(dead_code, reason = "its drop ends the answer")]
    answering: Answering,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        let next = tokio::task::block_in_place(|| self.body.next());
        Poll::Ready(Some(next.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.len() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.body.len())
    }
}

/// Answers the requests of a connection until it ends.
pub(super) async fn converse(connection: Connection, answer: impl Fn(&Request) -> Response + Send + 'static) {
    let client = connection.client();
    let reply = move |request: hyper::Request<Incoming>| {
        let answering = client.answering();
        let (response, close) = match Request::read(request.into_parts().0) {
            Ok(request) => {
                let response = tokio::task::block_in_place(|| answer(&request));
                (response, request.has_body())
            }
            Err(why) => (Response::text(400, why), true),
        };
        std::future::ready(Ok::<_, Infallible>(response.for_hyper(answering, close)))
    };
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .half_close(true)
        .title_case_headers(true);
    // On an error, the client is gone or does not speak HTTP, so there is no answer to send.
    let _ = server
        .serve_connection(TokioIo::new(connection), service_fn(reply))
        .await;
}
