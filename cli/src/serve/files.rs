//! Answers a request with a file, a listing or an error.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use hyperslab::internals::vfs::{LocalKind, LocalRoot, has_valid_escapes, percent_decode, percent_encode};
use hyperslab::vfs;

use super::access::Access;
use super::http::{Body, Request, Response};
use super::listing;

/// The folder that is served; links out of it are not followed.
#[derive(Debug)]
pub(super) struct Root {
    files: LocalRoot,
    access: Access,
    /// Whether names that begin with a dot are served.
    dotfiles: bool,
}

impl Root {
    /// Serves `folder` under the rules of `access`.
    pub(super) fn new(folder: PathBuf, access: Access, dotfiles: bool) -> Self {
        Self {
            files: LocalRoot::new(folder),
            access,
            dotfiles,
        }
    }

    /// The answer to one request.
    pub(super) fn answer(&self, request: &Request) -> Response {
        // Browsers must not guess another type.
        let response = self.reply(request).with("X-Content-Type-Options", "nosniff");
        match self.access.readers(request.header("origin")) {
            Some(origin) => response
                .with("Access-Control-Allow-Origin", origin)
                .with("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
                .with("Access-Control-Allow-Headers", "*")
                .with(
                    "Access-Control-Expose-Headers",
                    "Content-Range, Content-Length, ETag, Accept-Ranges, Last-Modified",
                )
                .with("Cross-Origin-Resource-Policy", "cross-origin"),
            None => response.with("Cross-Origin-Resource-Policy", "same-site"),
        }
        .with("Vary", "Accept, Origin")
    }

    fn reply(&self, request: &Request) -> Response {
        if !request.host.as_deref().is_none_or(|host| self.access.answers(host)) {
            return Response::text(
                421,
                "this server answers only to names of this machine, such as localhost; start it with --allow-origin for others",
            );
        }
        match request.method.as_str() {
            "GET" | "HEAD" => self.get(request),
            "OPTIONS" => Response {
                status: 204,
                headers: Vec::new(),
                body: Body::Bytes(Vec::new()),
            },
            _ => Response::text(405, "only GET, HEAD and OPTIONS are supported").with("Allow", "GET, HEAD, OPTIONS"),
        }
    }

    fn get(&self, request: &Request) -> Response {
        let path = request.target.split(['?', '#']).next().unwrap_or("");
        let Some(decoded) = decode(path) else {
            return Response::text(400, "the path is not valid");
        };
        let Some(name) = self.name(&decoded) else {
            return absent();
        };
        match self.files.kind(&name) {
            Ok((LocalKind::Folder, _)) => {}
            Ok((LocalKind::File, _)) => return self.file(&name, request),
            Err(e) if e.kind() == ErrorKind::PermissionDenied => return Response::text(403, "not allowed"),
            _ => return absent(),
        }
        if !path.ends_with('/') {
            // Built from the names only: a path that starts with two slashes would be another host.
            return Response::text(301, "this is a folder").with("Location", format!("/{}/", percent_encode(&name)));
        }
        let json = request.header("accept").is_some_and(|a| a.contains("application/json"));
        let index = vfs::join(&name, "index.html");
        if !json && matches!(self.files.kind(&index), Ok((LocalKind::File, _))) {
            return self.file(&index, request);
        }
        match listing::entries(&self.files, &name, self.dotfiles) {
            Ok(entries) if json => listing::json(&entries),
            Ok(entries) => listing::html(&format!("/{name}"), &entries),
            Err(_) => Response::text(403, "not allowed"),
        }
    }

    /// The name of the file at a path; `None` if such names are not served.
    fn name(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty() && *p != ".").collect();
        let served = |p: &&str| *p != ".." && !p.contains(['\\', '\0']) && (self.dotfiles || !p.starts_with('.'));
        parts.iter().all(served).then(|| parts.join("/"))
    }

    fn file(&self, name: &str, request: &Request) -> Response {
        let opened = self.files.open(name).and_then(|(f, _)| f.metadata().map(|m| (f, m)));
        match opened {
            Ok((file, metadata)) => contents(name, file, &metadata, request),
            Err(e) if e.kind() == ErrorKind::NotFound => absent(),
            Err(_) => Response::text(403, "not allowed"),
        }
    }
}

fn absent() -> Response {
    Response::text(404, "there is no such file")
}

fn contents(name: &str, mut file: File, metadata: &Metadata, request: &Request) -> Response {
    let (etag, size) = (etag(metadata), metadata.len());
    let answer = |status, body| {
        Response {
            status,
            headers: Vec::new(),
            body,
        }
        .with("Content-Type", listing::content_type(name))
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

/// The bytes that a Range header selects. Several ranges and invalid headers select the whole file, as the standard
/// allows.
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

/// A tag that changes whenever the file is written again.
fn etag(metadata: &Metadata) -> String {
    let nanos = metadata
        .modified()
        .ok()
        .and_then(|t| t.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |d| d.as_nanos());
    format!("\"{nanos:x}-{:x}\"", metadata.len())
}

/// Decodes %XX in a path; `None` if an escape is invalid or the result is not UTF-8.
pub(super) fn decode(path: &str) -> Option<String> {
    has_valid_escapes(path).then(|| percent_decode(path))?
}
