//! Answers a request with a file, a listing or an error.

use std::ops::Range;

use hyperslab::internals::vfs::{has_valid_escapes, percent_decode, percent_encode};
use hyperslab::vfs;

use super::access::Access;
use super::http::{Body, Request, Response};
use super::listing;
use super::tree::{Found, OpenFile, Refusal, Tree};

/// A document with this policy is in an origin of its own, and loads and runs nothing.
const SANDBOX: &str = "sandbox; default-src 'none'";

/// The files that are served, and to whom.
#[derive(Debug)]
pub(super) struct Root {
    tree: Box<dyn Tree>,
    access: Access,
    /// Whether names that begin with a dot are served.
    dotfiles: bool,
    /// The folder whose page browsers get instead of a listing of the root. It is served even if its name begins with a
    /// dot.
    home: Option<&'static str>,
    /// The folder of the data that the page shows. It may come from anyone, and is on the page's origin.
    data: Option<String>,
}

impl Root {
    /// Serves `tree` under the rules of `access`.
    pub(super) fn new(tree: Box<dyn Tree>, access: Access, dotfiles: bool) -> Self {
        Self {
            tree,
            access,
            dotfiles,
            home: None,
            data: None,
        }
    }

    /// Serves the files of this folder as bytes only, so that browsers neither show nor run them.
    pub(super) fn with_data(self, data: String) -> Self {
        Self {
            data: Some(data),
            ..self
        }
    }

    /// Sends browsers from the root to the page of this folder, unless the root has a page.
    pub(super) fn with_home(self, home: &'static str) -> Self {
        Self {
            home: Some(home),
            ..self
        }
    }

    /// The answer to one request.
    pub(super) fn answer(&self, request: &Request) -> Response {
        // Browsers must not guess another type.
        let response = self.reply(request).with("X-Content-Type-Options", "nosniff");
        // Pages of other hosts neither learn the address nor show the page in a frame.
        let response = match self.access.is_private() {
            true => response
                .with("Referrer-Policy", "no-referrer")
                .with("X-Frame-Options", "DENY"),
            false => response,
        };
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
            None => response.with("Cross-Origin-Resource-Policy", self.access.loaders()),
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
        if !self.access.accepts(request.header("origin"), request.host.as_deref()) {
            return Response::text(
                403,
                "only pages of this server may read its files; open the address that `hyperslab view` printed",
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
        let found = self.name(&decoded).ok_or_else(Refusal::absent);
        match found.and_then(|name| self.found(&name, path.ends_with('/'), request)) {
            Ok(response) => response,
            Err(refusal) => Response::text(refusal.status, &refusal.why),
        }
    }

    /// The answer about the file or folder `name`, which was requested with a slash at the end or without.
    fn found(&self, name: &str, slash: bool, request: &Request) -> Result<Response, Refusal> {
        let found = match slash {
            true => self.tree.find_folder(name)?,
            false => self.tree.find(name)?,
        };
        let is_data = self.is_data(name);
        if let Found::File(file) = found {
            return match is_data {
                true => Ok(contents(listing::BYTES, file, request)?.with("Content-Security-Policy", SANDBOX)),
                false => contents(listing::content_type(name), file, request),
            };
        }
        if !slash {
            // Built from the names only: a path that starts with two slashes would be another host.
            let place = format!("/{}/", percent_encode(name));
            return Ok(Response::text(301, "this is a folder").with("Location", place));
        }
        let json = request.header("accept").is_some_and(|a| a.contains("application/json"));
        let index = vfs::join(name, "index.html");
        if !json
            && !is_data
            && let Ok(Found::File(file)) = self.tree.find(&index)
        {
            return contents(listing::content_type(&index), file, request);
        }
        // Only browsers ask for this type by name.
        let browses = request.header("accept").is_some_and(|a| a.contains("text/html"));
        if let Some(home) = self.home.filter(|_| name.is_empty() && browses) {
            return Ok(Response::text(302, "the viewer is in another folder")
                .with("Location", format!("/{home}/"))
                .with("Cache-Control", "no-store"));
        }
        let mut entries = self.tree.entries(name)?;
        entries.retain(|e| self.dotfiles || !e.name.starts_with('.'));
        entries.sort();
        Ok(if json {
            listing::json(&entries)
        } else {
            listing::html(&format!("/{name}"), &entries)
        })
    }

    /// Whether a name is in the folder of the data.
    fn is_data(&self, name: &str) -> bool {
        let rest = self.data.as_deref().and_then(|data| name.strip_prefix(data));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The name of the file at a path; `None` if such names are not served.
    fn name(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty() && *p != ".").collect();
        let is_home = parts.first().is_some_and(|first| Some(*first) == self.home);
        let served = |p: &&str| *p != ".." && !p.contains(['\\', '\0']) && (self.dotfiles || !p.starts_with('.'));
        let mut rest = parts.iter().skip(usize::from(is_home));
        rest.all(served).then(|| parts.join("/"))
    }
}

fn contents(kind: &str, file: OpenFile, request: &Request) -> Result<Response, Refusal> {
    let OpenFile { size, etag, source } = file;
    let answer = |status, body| {
        let response = Response {
            status,
            headers: Vec::new(),
            body,
        }
        .with("Content-Type", kind)
        .with("Accept-Ranges", "bytes")
        .with("Cache-Control", "no-cache");
        match &etag {
            Some(etag) => response.with("ETag", etag),
            None => response,
        }
    };
    let is_same = |tag: &str| etag.as_deref() == Some(tag);
    if request
        .header("if-none-match")
        .is_some_and(|t| t == "*" || t.split(',').any(|t| is_same(t.trim().trim_start_matches("W/"))))
    {
        return Ok(answer(304, Body::Bytes(Vec::new())));
    }
    let unchanged = request.header("if-range").is_none_or(is_same);
    let wanted = request
        .header("range")
        .filter(|_| unchanged)
        .map_or(Wanted::All, |r| wanted(r, size));
    let part = match wanted {
        Wanted::None => {
            let none = answer(416, Body::Bytes(Vec::new()));
            return Ok(none.with("Content-Range", format!("bytes */{size}")));
        }
        Wanted::All => 0..size,
        Wanted::Part(ref part) => part.clone(),
    };
    let body = Body::File(source.within(part.clone())?, part.end - part.start);
    Ok(match wanted {
        Wanted::All => answer(200, body),
        _ => answer(206, body).with("Content-Range", format!("bytes {}-{}/{size}", part.start, part.end - 1)),
    })
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

/// Decodes %XX in a path; `None` if an escape is invalid or the result is not UTF-8.
pub(super) fn decode(path: &str) -> Option<String> {
    has_valid_escapes(path).then(|| percent_decode(path))?
}
