//! From a request to a file of the folder, or a listing, or a refusal.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::http::{Body, Request, Response};
use super::listing;

/// The folder that is served; links out of it are not followed.
#[derive(Debug)]
pub(super) struct Root(PathBuf);

impl Root {
    /// `root` must be canonical.
    pub(super) fn new(root: PathBuf) -> Self {
        Self(root)
    }

    /// The answer to one request.
    pub(super) fn answer(&self, request: &Request) -> Response {
        let response = match request.method.as_str() {
            "GET" | "HEAD" => self.get(request),
            "OPTIONS" => Response {
                status: 204,
                headers: Vec::new(),
                body: Body::Bytes(Vec::new()),
            },
            _ => Response::text(405, "only GET, HEAD and OPTIONS").with("Allow", "GET, HEAD, OPTIONS"),
        };
        // Anybody may read what is served: that is what it is served for.
        response
            .with("Access-Control-Allow-Origin", "*")
            .with("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
            .with("Access-Control-Allow-Headers", "*")
            .with(
                "Access-Control-Expose-Headers",
                "Content-Range, Content-Length, ETag, Accept-Ranges, Last-Modified",
            )
            .with("Cross-Origin-Resource-Policy", "cross-origin")
    }

    fn get(&self, request: &Request) -> Response {
        let path = request.target.split(['?', '#']).next().unwrap_or("");
        let Some(relative) = decode(path) else {
            return Response::text(400, "the path is not well formed");
        };
        let found = match self.find(&relative) {
            Ok(found) => found,
            Err(ErrorKind::PermissionDenied) => return Response::text(403, "not allowed"),
            Err(_) => return Response::text(404, "there is no such file"),
        };
        if !found.is_dir() {
            return file(&found, request);
        }
        if !path.ends_with('/') {
            return Response::text(301, "this is a folder").with("Location", format!("{path}/"));
        }
        let json = request.header("accept").is_some_and(|a| a.contains("application/json"));
        let index = found.join("index.html");
        if !json && index.is_file() {
            return file(&index, request);
        }
        match listing::entries(&found) {
            Ok(entries) if json => listing::json(&entries),
            Ok(entries) => listing::html(&relative, &entries),
            Err(_) => Response::text(403, "not allowed"),
        }
    }

    /// The file that a path names, if it truly lies within the folder.
    fn find(&self, relative: &str) -> Result<PathBuf, ErrorKind> {
        let mut path = self.0.clone();
        for part in relative.split('/').filter(|p| !p.is_empty() && *p != ".") {
            if part == ".." || part.contains(['\\', '\0']) {
                return Err(ErrorKind::NotFound);
            }
            path.push(part);
        }
        let real = path.canonicalize().map_err(|e| e.kind())?;
        if real.starts_with(&self.0) {
            Ok(real)
        } else {
            Err(ErrorKind::NotFound)
        }
    }
}

fn file(path: &Path, request: &Request) -> Response {
    let opened = File::open(path).and_then(|f| f.metadata().map(|m| (f, m)));
    let (mut file, metadata) = match opened {
        Ok((file, metadata)) if metadata.is_file() => (file, metadata),
        Err(e) if e.kind() == ErrorKind::NotFound => return Response::text(404, "there is no such file"),
        _ => return Response::text(403, "not allowed"),
    };
    let (etag, size) = (etag(&metadata), metadata.len());
    let answer = |status, body| {
        Response {
            status,
            headers: Vec::new(),
            body,
        }
        .with("Content-Type", listing::content_type(path))
        .with("Accept-Ranges", "bytes")
        .with("ETag", etag.clone())
        .with("Cache-Control", "no-cache")
    };
    if request
        .header("if-none-match")
        .is_some_and(|t| t == "*" || t.split(',').any(|t| t.trim().trim_start_matches("W/") == etag))
    {
        return answer(304, Body::Bytes(Vec::new()));
    }
    let unchanged = request.header("if-range").is_none_or(|t| t == etag);
    match request
        .header("range")
        .filter(|_| unchanged)
        .map_or(Wanted::All, |r| wanted(r, size))
    {
        Wanted::All => answer(200, Body::File(file, size)),
        Wanted::None => answer(416, Body::Bytes(Vec::new())).with("Content-Range", format!("bytes */{size}")),
        Wanted::Part(part) => match file.seek(SeekFrom::Start(part.start)) {
            Ok(_) => answer(206, Body::File(file, part.end - part.start))
                .with("Content-Range", format!("bytes {}-{}/{size}", part.start, part.end - 1)),
            Err(_) => Response::text(500, "the file cannot be read"),
        },
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    All,
    Part(Range<u64>),
    None,
}

/// The bytes that a Range header asks for. Several ranges, and anything that is not understood, is
/// answered with the whole file, as the standard allows.
pub(super) fn wanted(header: &str, size: u64) -> Wanted {
    let Some((first, last)) = header.trim().strip_prefix("bytes=").and_then(|r| r.split_once('-')) else {
        return Wanted::All;
    };
    let range = match (first.trim(), last.trim()) {
        ("", n) => match n.parse::<u64>() {
            Ok(n) => size.saturating_sub(n)..size,
            Err(_) => return Wanted::All,
        },
        (a, b) => match (a.parse::<u64>(), b.is_empty(), b.parse::<u64>()) {
            (Ok(a), true, _) => a..size,
            (Ok(a), false, Ok(b)) if a <= b => a..b.saturating_add(1).min(size),
            _ => return Wanted::All,
        },
    };
    if range.start >= range.end {
        Wanted::None
    } else {
        Wanted::Part(range)
    }
}

/// Changes whenever the file is written anew.
fn etag(metadata: &Metadata) -> String {
    let nanos = metadata
        .modified()
        .ok()
        .and_then(|t| t.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |d| d.as_nanos());
    format!("\"{nanos:x}-{:x}\"", metadata.len())
}

/// A path with its %XX turned into bytes; `None` if that is not UTF-8.
pub(super) fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(b) = rest.next() {
        if b == b'%' {
            let mut digit = || rest.next().and_then(|d| char::from(d).to_digit(16));
            bytes.push(u8::try_from(digit()? << 4 | digit()?).ok()?);
        } else {
            bytes.push(b);
        }
    }
    String::from_utf8(bytes).ok()
}
