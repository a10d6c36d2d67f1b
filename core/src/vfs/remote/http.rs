//! A folder on a web server: ranges, and whatever listing the server offers.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, RANGE};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};

use super::{IN_FLIGHT, runtime, spawn};
use crate::cache::{Cache, CacheKey, Reuse};
use crate::error::{Error, Result};
use crate::vfs::coalesce::{Coalesced, GAP_BYTES, MERGED_BYTES_MAX, coalesce};
use crate::vfs::listing::{FolderIndex, is_page, parse_index};
use crate::vfs::{BoxFuture, Entry, FileWriter, Vfs, check_path, too_short};

/// How much of a file a server may send that was asked for a part of it.
const WHOLE_BYTES_MAX: u64 = 64 << 20;
/// Bodies that are kept of a server that ignores ranges, in bytes; a cache takes a quarter of its own size at most.
const BODIES_BYTES: u64 = 4 * WHOLE_BYTES_MAX;
/// Tries of one request.
const TRIES: u32 = 4;

/// Files below a URL. Read only. A server without any listing needs a manifest: see
/// [`ManifestVfs`](crate::vfs::ManifestVfs), in which [`open_url`](crate::vfs::open_url) wraps this store.
#[derive(Debug, Clone)]
pub struct HttpVfs {
    client: Client,
    base: Url,
    /// Whole files that came where parts were asked for; other parts are taken out of them.
    bodies: Arc<Cache>,
    ignores_ranges: Arc<AtomicBool>,
}

impl HttpVfs {
    /// The folder at `url`.
    ///
    /// # Errors
    /// `InvalidArgument` if that is not a URL.
    pub fn new(url: &str) -> Result<Self> {
        let base = Url::parse(url).map_err(|e| Error::invalid(format!("{url}: {e}")))?;
        if base.cannot_be_a_base() {
            return Err(Error::invalid(format!("{url}: not a folder's URL")));
        }
        runtime()?;
        let client = Client::builder()
            .connect_timeout(Duration::from_secs(20))
            .read_timeout(Duration::from_secs(60));
        Ok(Self {
            client: client.build().map_err(|e| Error::io(url, e))?,
            base,
            bodies: Arc::new(Cache::new(BODIES_BYTES)),
            ignores_ranges: Arc::default(),
        })
    }

    fn get(&self, path: &str, folder: bool) -> Result<RequestBuilder> {
        check_path(path)?;
        let mut url = self.base.clone();
        let mut whole = url.path().strip_suffix('/').unwrap_or(url.path()).to_owned();
        if !path.is_empty() {
            whole.push('/');
            encode(path, &mut whole);
        }
        if folder {
            whole.push('/');
        }
        url.set_path(&whole);
        Ok(self.client.get(url).header(ACCEPT_ENCODING, "identity"))
    }

    async fn ranges(self, path: String, plan: Coalesced) -> Result<Vec<Bytes>> {
        let one = |range: Range<u64>| self.range(&path, range);
        // The first answer of a server that ignores ranges serves the others.
        let in_flight = if self.ignores_ranges.load(Relaxed) {
            1
        } else {
            IN_FLIGHT
        };
        let fetched: Vec<Bytes> = stream::iter(plan.fetches.clone())
            .map(one)
            .buffered(in_flight)
            .try_collect()
            .await?;
        plan.split(&path, &fetched)
    }

    async fn range(&self, path: &str, range: Range<u64>) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        if let Some(body) = self.bodies.get::<Bytes>(&body_key(path)) {
            return part_of(path, &body, &range);
        }
        let header = format!("bytes={}-{}", range.start, range.end - 1);
        let checked = |response: &Response| match response.status() {
            StatusCode::RANGE_NOT_SATISFIABLE => {
                Err(too_short(path, &range, size_in_range(response.headers()).unwrap_or(0)))
            }
            StatusCode::OK if response.content_length().is_none_or(|n| n > WHOLE_BYTES_MAX) => Err(Error::io(
                path,
                "the server ignores ranges and would send the whole file; serve it with ranges, for instance by `hyperslab serve`",
            )),
            StatusCode::PARTIAL_CONTENT if start_in_range(response.headers()).is_some_and(|s| s != range.start) => {
                let why = "the server answers with other bytes than were asked for; serve it with ranges, for instance by `hyperslab serve`";
                Err(Error::io(path, why))
            }
            _ => Ok(true),
        };
        let (head, body) = receive(path, self.get(path, false)?.header(RANGE, header), checked).await?;
        match head.status {
            StatusCode::PARTIAL_CONTENT if body.len() as u64 == range.end - range.start => Ok(body),
            StatusCode::OK => {
                self.keep(path, &body);
                part_of(path, &body, &range)
            }
            _ => Err(too_short(path, &range, range.start + body.len() as u64)),
        }
    }

    /// One request, which names no start: the answer says where the file ends.
    async fn tail(self, path: String, bytes: u64) -> Result<(u64, Bytes)> {
        if let Some(body) = self.bodies.get::<Bytes>(&body_key(&path)) {
            return tail_of(&path, &body, bytes);
        }
        let header = format!("bytes=-{}", bytes.max(1));
        let few = |response: &Response| {
            Ok(match response.status() {
                StatusCode::OK => response.content_length().is_some_and(|n| n <= WHOLE_BYTES_MAX),
                status => status == StatusCode::PARTIAL_CONTENT,
            })
        };
        let (head, body) = receive(&path, self.get(&path, false)?.header(RANGE, header), few).await?;
        match head.status {
            StatusCode::OK if !body.is_empty() => {
                self.keep(&path, &body);
                tail_of(&path, &body, bytes)
            }
            StatusCode::PARTIAL_CONTENT => {
                let (found, tail) = tail_of(&path, &body, bytes)?;
                Ok((size_in_range(&head.headers).unwrap_or(found), tail))
            }
            // An empty file has no last byte; a server that knows no such ranges is asked in two steps.
            _ => {
                let size = self.clone().file_size(path.clone()).await?;
                Ok((size, self.range(&path, size.saturating_sub(bytes)..size).await?))
            }
        }
    }

    /// Keeps a file that came whole where a part of it was asked for.
    fn keep(&self, path: &str, body: &Bytes) {
        self.ignores_ranges.store(true, Relaxed);
        self.bodies
            .insert(body_key(path), Arc::new(body.clone()), body.len() as u64, Reuse::Likely);
    }

    async fn whole(self, path: String) -> Result<Bytes> {
        let (_, body) = receive(&path, self.get(&path, false)?, |_| Ok(true)).await?;
        Ok(body)
    }

    /// Asks for the first byte: unlike HEAD, that works with signed URLs, and the total is that of
    /// the file rather than of some compressed form.
    async fn file_size(self, path: String) -> Result<u64> {
        if let Some(body) = self.bodies.get::<Bytes>(&body_key(&path)) {
            return Ok(body.len() as u64);
        }
        let response = send(&path, self.get(&path, false)?.header(RANGE, "bytes=0-0")).await?;
        let size = match response.status() {
            StatusCode::OK => response.content_length(),
            _ => size_in_range(response.headers()),
        };
        size.ok_or_else(|| Error::io(path, "the server does not say how large the file is"))
    }

    async fn children(self, dir: String) -> Result<Vec<Entry>> {
        let request = self
            .get(&dir, true)?
            .header(ACCEPT, "application/json, text/html;q=0.5");
        let response = answer(&dir, request).await?;
        match response.status() {
            status if status.is_success() => {}
            // Folders without files do not exist; but a root that does not exist is a host without listings.
            StatusCode::NOT_FOUND | StatusCode::GONE if !dir.is_empty() => return Ok(Vec::new()),
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Err(unlisted(&self.base, &dir, "there is no such folder"));
            }
            // Not that there is nothing: who takes missing files for cells without data must not see some here.
            status => {
                return Err(Error::io(
                    format!("{}", self.base),
                    format!("{}; {LISTED}", refusal(status)),
                ));
            }
        }
        let response = as_stored(&dir, response)?;
        let kind = content_type(response.headers()).to_owned();
        let text = response.text().await.map_err(|e| Error::io(dir.as_str(), e))?;
        match parse_index(&kind, &text) {
            FolderIndex::Entries(entries) => Ok(entries),
            FolderIndex::Unknown => Err(unlisted(&self.base, &dir, "the answer is no list of files")),
        }
    }
}

/// What the whole of a file is called among the bodies.
fn body_key(path: &str) -> CacheKey {
    CacheKey::new(path, 0, "file")
}

/// These bytes of a file. A small part is copied, so that who keeps it does not keep the file.
fn part_of(path: &str, file: &Bytes, range: &Range<u64>) -> Result<Bytes> {
    let part = crate::vfs::slice(path, file, range)?;
    let is_small = part.len() < file.len() / 2;
    Ok(if is_small { Bytes::copy_from_slice(&part) } else { part })
}

/// The size of a file, and its last bytes.
fn tail_of(path: &str, file: &Bytes, bytes: u64) -> Result<(u64, Bytes)> {
    let size = file.len() as u64;
    Ok((size, part_of(path, file, &(size.saturating_sub(bytes)..size))?))
}

/// What helps where a host cannot list.
const LISTED: &str =
    "where folders cannot be listed, run `hyperslab index` on the array and upload its `__manifest.json`";

/// Appends a path as URLs have it. What parses URLs would leave out tabs and ends of lines, rather than encode them.
fn encode(path: &str, out: &mut String) {
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// The host cannot list.
fn unlisted(base: &Url, dir: &str, why: &str) -> Error {
    Error::not_found(
        format!("{base}"),
        format!("no listing of {dir:?} there: {why}; {LISTED}"),
    )
}

fn content_type(headers: &HeaderMap) -> &str {
    headers
        .get(CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default()
}

/// The total in `Content-Range: bytes 0-0/123`.
fn size_in_range(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(CONTENT_RANGE)?
        .to_str()
        .ok()?
        .rsplit_once('/')?
        .1
        .parse()
        .ok()
}

/// The first byte in `Content-Range: bytes 7-9/123`.
fn start_in_range(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split_once('-')?.0.parse().ok()
}

/// The answer, unless its body is not the bytes of the file.
fn as_stored(path: &str, response: Response) -> Result<Response> {
    match response.headers().get(CONTENT_ENCODING) {
        Some(coding) if coding != "identity" => {
            let why = format!(
                "the server sends it compressed ({}), although that was not asked for; turn compression off for this folder",
                String::from_utf8_lossy(coding.as_bytes())
            );
            Err(Error::io(path, why))
        }
        _ => Ok(response),
    }
}

/// What a refusal means to who asked.
fn refusal(status: StatusCode) -> String {
    let advice = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            "; make the folder public, or open a bucket by its s3:, gs: or az: address with credentials"
        }
        StatusCode::TOO_MANY_REQUESTS => "; try again later",
        status if status.is_server_error() => "; try again, or look at the server's log",
        _ => "",
    };
    format!("the server answers {status}{advice}")
}

/// Why there is no answer, and what to do.
fn unanswered(error: &reqwest::Error) -> String {
    let advice = if error.is_connect() {
        "check the address, and that its server runs"
    } else if error.is_timeout() {
        "the server takes too long; try again"
    } else {
        "try again, or look at the server's log"
    };
    // The error itself says what was tried, and the last of its causes why that went wrong.
    let causes = std::iter::successors(std::error::Error::source(error), |e| e.source());
    let cause = causes.last().map_or_else(String::new, |e| format!(": {e}"));
    format!("{error}{cause}; {advice}")
}

/// The answer to a request for a file. One that is not a success is an error, except "range not satisfiable".
async fn send(path: &str, request: RequestBuilder) -> Result<Response> {
    let response = answer(path, request).await?;
    match response.status() {
        status if status.is_success() || status == StatusCode::RANGE_NOT_SATISFIABLE => as_stored(path, response),
        StatusCode::NOT_FOUND | StatusCode::GONE => Err(Error::not_found(path, "")),
        status => Err(Error::io(path, refusal(status))),
    }
}

/// The start of an answer.
struct Head {
    status: StatusCode,
    headers: HeaderMap,
}

/// The answer to a request for a file with its body, where `wanted` says so of its start; else the body is empty.
/// What breaks off is asked for again.
async fn receive(
    path: &str,
    request: RequestBuilder,
    wanted: impl Fn(&Response) -> Result<bool>,
) -> Result<(Head, Bytes)> {
    let mut tried = 0;
    loop {
        tried += 1;
        let response = send(path, again(&request)?).await?;
        let wanted = wanted(&response)?;
        let head = Head {
            status: response.status(),
            headers: response.headers().clone(),
        };
        if !wanted {
            return Ok((head, Bytes::new()));
        }
        match response.bytes().await {
            Ok(body) if is_page(content_type(&head.headers), &body) => {
                let why = "the server answers with a web page, as sites do for files that they do not have";
                return Err(Error::not_found(path, why));
            }
            Ok(body) => return Ok((head, body)),
            Err(e) if tried == TRIES => {
                let why = format!("the answer broke off {TRIES} times ({e}); try again, or look at the server's log");
                return Err(Error::io(path, why));
            }
            Err(_) => pause(tried).await,
        }
    }
}

/// One more of a request.
fn again(request: &RequestBuilder) -> Result<RequestBuilder> {
    let once = request.try_clone();
    once.ok_or_else(|| Error::invalid("a request that cannot be repeated"))
}

/// The longer, the more often was tried.
async fn pause(tried: u32) {
    tokio::time::sleep(Duration::from_millis(50 << (2 * tried))).await;
}

/// Sends, again after a while if the failure may pass.
async fn answer(path: &str, request: RequestBuilder) -> Result<Response> {
    let mut tried = 0;
    loop {
        tried += 1;
        let failure = match again(&request)?.send().await {
            Ok(response) => match response.status() {
                status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                    Error::io(path, refusal(status))
                }
                _ => return Ok(response),
            },
            Err(e) if e.is_redirect() => {
                let why = format!("{e}; the server redirects without end: open the address where the files are");
                return Err(Error::io(path, why));
            }
            Err(e) => Error::io(path, unanswered(&e)),
        };
        if tried == TRIES {
            return Err(failure);
        }
        pause(tried).await;
    }
}

impl Vfs for HttpVfs {
    fn inner(&self) -> Option<&dyn Vfs> {
        None
    }

    fn read<'a>(&'a self, path: &'a str, ranges: &'a [Range<u64>]) -> BoxFuture<'a, Vec<Bytes>> {
        match coalesce(ranges, GAP_BYTES, MERGED_BYTES_MAX) {
            Ok(plan) => spawn(self.clone().ranges(path.to_owned(), plan)),
            Err(e) => Box::pin(std::future::ready(Err(e))),
        }
    }

    fn read_all<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Bytes> {
        spawn(self.clone().whole(path.to_owned()))
    }

    fn read_tail<'a>(&'a self, path: &'a str, bytes: u64) -> BoxFuture<'a, (u64, Bytes)> {
        spawn(self.clone().tail(path.to_owned(), bytes))
    }

    fn size<'a>(&'a self, path: &'a str) -> BoxFuture<'a, u64> {
        spawn(self.clone().file_size(path.to_owned()))
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        spawn(self.clone().children(dir.to_owned()))
    }

    fn put<'a>(&'a self, _path: &'a str, _parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        self.read_only()
    }

    fn put_over<'a>(&'a self, _path: &'a str, _parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        self.read_only()
    }

    fn create<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        self.read_only()
    }

    fn create_dir<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        self.read_only()
    }

    fn remove<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, ()> {
        self.read_only()
    }

    fn remove_dir<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        self.read_only()
    }

    fn sync<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        self.read_only()
    }
}

impl HttpVfs {
    fn read_only<T: Send + 'static>(&self) -> BoxFuture<'static, T> {
        let why = format!("{}: writing over HTTP; write to a disk or an object store", self.base);
        Box::pin(std::future::ready(Err(Error::Unsupported(why))))
    }
}

#[cfg(all(test, feature = "test-util"))]
mod tests;
