//! A read-only store in a folder on a web server. Uses range requests and any listing the server offers.

mod exchange;
mod headers;

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, RANGE};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};

use self::exchange::Exchange;
pub use self::exchange::Patience;
use self::headers::{ContentRange, LISTED, SERVE, as_stored, content_type, refusal, refused_list};
use super::{IN_FLIGHT, runtime, spawn};
use crate::cache::{Cache, CacheKey, Reuse};
use crate::error::{Error, Result};
use crate::limits::{LISTING_BYTES_MAX, MANIFEST_BYTES_MAX, WHOLE_FILE_BYTES_MAX};
use crate::vfs::coalesce::{Coalesced, GAP_BYTES, MERGED_BYTES_MAX, coalesce};
use crate::vfs::listing::{FolderIndex, parse_index};
use crate::vfs::manifest::MANIFEST;
use crate::vfs::path::percent_encode;
use crate::vfs::{
    BoxFuture, Capabilities, Content, Deletion, Entry, Extent, FileWriter, Neighbours, Vfs, WriteMode, check_path,
    redact, too_short,
};

/// The most bytes accepted from a server that sends a whole file instead of a part.
const WHOLE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of whole files to cache from a server that ignores ranges. A cache entry takes at most a quarter of this.
const BODIES_BYTES: u64 = 4 * WHOLE_BYTES_MAX;
/// Timeout between two chunks of a body.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The files below a URL, read-only. If the server has no listings, it needs a manifest; see
/// [`ManifestVfs`](crate::vfs::ManifestVfs), in which [`open_url`](crate::vfs::open_url) wraps this store.
///
/// ```no_run
/// use std::sync::Arc;
/// use hyperslab::{Array, Context, OpenOptions, blocking::block_on, vfs::{HttpVfs, ManifestVfs}};
/// # fn main() -> hyperslab::Result<()> {
/// let server = HttpVfs::new("https://example.org/arrays")?;
/// let context = Context::new(Arc::new(ManifestVfs::checked(Arc::new(server))));
/// let array = block_on(Array::open(&context, "points", &OpenOptions::default()))?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct HttpVfs {
    client: Client,
    base: Url,
    patience: Patience,
    /// Whole files that the server sent instead of parts. Other parts are read from them.
    bodies: Arc<Cache>,
    ignores_ranges: Arc<AtomicBool>,
}

impl HttpVfs {
    /// Opens the folder at `url`.
    ///
    /// # Errors
    /// `InvalidArgument` if `url` is not a URL.
    pub fn new(url: &str) -> Result<Self> {
        let base = Url::parse(url).map_err(|e| Error::invalid(format!("{}: {e}", redact(url))))?;
        if base.cannot_be_a_base() {
            return Err(Error::invalid(format!("{}: not a folder's URL", redact(url))));
        }
        runtime()?;
        let client = Client::builder()
            .connect_timeout(Duration::from_secs(20))
            .read_timeout(READ_TIMEOUT)
            // The URL may contain a signature, which other hosts must not receive as a referer.
            .referer(false);
        Ok(Self {
            client: client.build().map_err(|e| Error::io(redact(url), e))?,
            base,
            patience: Patience::default(),
            bodies: Arc::new(Cache::new(BODIES_BYTES)),
            ignores_ranges: Arc::default(),
        })
    }

    /// Sets other time limits.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    fn ask<'a>(&self, path: &'a str, request: RequestBuilder) -> Exchange<'a> {
        Exchange {
            path,
            request,
            patience: self.patience,
            absent_if_refused: false,
        }
    }

    fn get(&self, path: &str, folder: bool) -> Result<RequestBuilder> {
        check_path(path)?;
        let mut url = self.base.clone();
        let mut whole = url.path().strip_suffix('/').unwrap_or(url.path()).to_owned();
        if !path.is_empty() {
            whole.push('/');
            // A URL parser would drop tabs and line ends instead of encoding them.
            let _ = write!(whole, "{}", percent_encode(path));
        }
        if folder {
            whole.push('/');
        }
        url.set_path(&whole);
        Ok(self.client.get(url).header(ACCEPT_ENCODING, "identity"))
    }

    async fn ranges(self, path: String, plan: Coalesced) -> Result<Vec<Bytes>> {
        let one = |range: Range<u64>| self.range(&path, range);
        // If the server ignores ranges, the first response serves the other requests.
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
        let wanted = range.end - range.start;
        let header = format!("bytes={}-{}", range.start, range.end - 1);
        let most = |response: &Response| {
            let told = ContentRange::of(response.headers());
            Ok(Some(match response.status() {
                StatusCode::RANGE_NOT_SATISFIABLE => return Err(too_short(path, &range, told.size.unwrap_or(0))),
                StatusCode::OK if response.content_length().is_none_or(|n| n > WHOLE_BYTES_MAX) => {
                    let why = format!("the server ignores ranges and would send the whole file; {SERVE}");
                    return Err(Error::io(path, why));
                }
                StatusCode::OK => WHOLE_BYTES_MAX,
                _ => {
                    told.check(path, &range)?;
                    wanted
                }
            }))
        };
        let request = self.get(path, false)?.header(RANGE, header);
        let (head, body) = self.ask(path, request).receive(most).await?;
        match head.status {
            StatusCode::OK => {
                self.keep(path, &body);
                part_of(path, &body, &range)
            }
            _ if body.len() as u64 == wanted => Ok(body),
            _ => {
                let why = format!(
                    "the server sent {} of {wanted} bytes requested at offset {}; {SERVE}",
                    body.len(),
                    range.start
                );
                Err(Error::io(path, why))
            }
        }
    }

    /// Requests the last bytes without knowing the size. The response says where the file ends.
    async fn tail(self, path: String, bytes: u64) -> Result<(u64, Bytes)> {
        if let Some(body) = self.bodies.get::<Bytes>(&body_key(&path)) {
            return tail_of(&path, &body, bytes);
        }
        let header = format!("bytes=-{}", bytes.max(1));
        let few = |response: &Response| {
            Ok(match response.status() {
                StatusCode::OK => response.content_length().filter(|n| *n <= WHOLE_BYTES_MAX),
                StatusCode::PARTIAL_CONTENT => Some(bytes.max(1)),
                _ => None,
            })
        };
        let request = self.get(&path, false)?.header(RANGE, header);
        let (head, body) = self.ask(&path, request).receive(few).await?;
        let told = ContentRange::of(&head.headers);
        let came = body.len() as u64;
        let ends_the_file = || match (told.bytes, told.size) {
            (Some(sent), Some(size)) => sent.end == size && sent.end - sent.start.min(sent.end) == came,
            (_, size) => size.unwrap_or(came) == came && came < bytes,
        };
        match head.status {
            StatusCode::OK if !body.is_empty() => {
                self.keep(&path, &body);
                tail_of(&path, &body, bytes)
            }
            StatusCode::PARTIAL_CONTENT if ends_the_file() => {
                let (found, tail) = tail_of(&path, &body, bytes)?;
                Ok((told.size.unwrap_or(found), tail))
            }
            // An empty file has no last byte, and some servers do not support suffix ranges. Use two requests instead.
            _ => {
                let size = self.clone().file_size(path.clone()).await?;
                Ok((size, self.range(&path, size.saturating_sub(bytes)..size).await?))
            }
        }
    }

    /// Caches a file that was sent whole instead of in part.
    fn keep(&self, path: &str, body: &Bytes) {
        self.ignores_ranges.store(true, Relaxed);
        self.bodies
            .insert(body_key(path), Arc::new(body.clone()), body.len() as u64, Reuse::Likely);
    }

    async fn whole(self, path: String) -> Result<Bytes> {
        // A manifest is optional, and some hosts answer 403 for every missing file.
        let is_manifest = path == MANIFEST;
        let most = if is_manifest {
            MANIFEST_BYTES_MAX
        } else {
            WHOLE_FILE_BYTES_MAX
        };
        let ask = Exchange {
            absent_if_refused: is_manifest,
            ..self.ask(&path, self.get(&path, false)?)
        };
        let wanted = |response: &Response| match response.status() {
            status if status.is_success() => Ok(Some(most)),
            status => Err(Error::io(path.as_str(), refusal(status))),
        };
        Ok(ask.receive(wanted).await?.1)
    }

    /// Requests the first byte to learn the size. Unlike HEAD, this works with signed URLs and returns the
    /// uncompressed size.
    async fn file_size(self, path: String) -> Result<u64> {
        if let Some(body) = self.bodies.get::<Bytes>(&body_key(&path)) {
            return Ok(body.len() as u64);
        }
        let request = self.get(&path, false)?.header(RANGE, "bytes=0-0");
        let response = self.ask(&path, request).send().await?;
        let size = match response.status() {
            StatusCode::OK => response.content_length(),
            _ => ContentRange::of(response.headers()).size,
        };
        size.ok_or_else(|| Error::io(path, "the server does not report the file's size"))
    }

    async fn children(self, dir: String) -> Result<Vec<Entry>> {
        let request = self
            .get(&dir, true)?
            .header(ACCEPT, "application/json, text/html;q=0.5");
        let ask = self.ask(&dir, request);
        let response = ask.answer().await?;
        match response.status() {
            status if status.is_success() => {}
            // Folders without files do not exist. But if the root does not exist, the host has no listings.
            StatusCode::NOT_FOUND | StatusCode::GONE if !dir.is_empty() => return Ok(Vec::new()),
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Err(unlisted(&self.base, &dir, "there is no such folder"));
            }
            // Not `NotFound`: a caller that takes missing files for empty cells must not do so here.
            status if is_final(status) => {
                let base = redact(self.base.as_str());
                return Err(Error::Unsupported(format!("{base}: {}", refused_list(status))));
            }
            status => return Err(Error::io(redact(self.base.as_str()), refused_list(status))),
        }
        let response = as_stored(&dir, response)?;
        let kind = content_type(response.headers()).to_owned();
        let body = ask.body(response, LISTING_BYTES_MAX).await?;
        let body = body.map_err(|e| Error::io(dir.as_str(), e))?;
        match parse_index(&kind, &String::from_utf8_lossy(&body)) {
            FolderIndex::Entries(entries) => Ok(entries),
            FolderIndex::Unknown => Err(unlisted(&self.base, &dir, "the response is not a list of files")),
        }
    }
}

/// Whether a server that answers a listing like this will do so again.
fn is_final(status: StatusCode) -> bool {
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::REQUEST_TIMEOUT;
    status.is_client_error() && !is_busy
}

/// The cache key of a whole file.
fn body_key(path: &str) -> CacheKey {
    CacheKey::new(path, 0, "file")
}

/// Slices a whole file. A small part is copied, so that it does not keep the file in memory.
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

/// The error for a host that cannot list.
fn unlisted(base: &Url, dir: &str, why: &str) -> Error {
    Error::not_found(
        redact(base.as_str()),
        format!("no listing of {dir:?} there: {why}; {LISTED}"),
    )
}

impl Neighbours for HttpVfs {
    fn beside(&self, name: &str) -> Option<Arc<dyn Vfs>> {
        check_path(name).ok()?;
        let mut base = self.base.clone();
        let (folder, own) = base.path().trim_end_matches('/').rsplit_once('/')?;
        if own.is_empty() {
            return None;
        }
        let path = format!("{folder}/{}", percent_encode(name));
        base.set_path(&path);
        Some(Arc::new(Self {
            base,
            // Its keys are paths below the base.
            bodies: Arc::new(Cache::new(BODIES_BYTES)),
            ..self.clone()
        }))
    }
}

impl Vfs for HttpVfs {
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            neighbours: Some(self),
            ..Capabilities::default()
        }
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        let (store, path) = (self.clone(), path.to_owned());
        match extent {
            Extent::Whole => spawn(async { Ok(Content::parts(vec![store.whole(path).await?])) }),
            Extent::Tail(bytes) => spawn(async move { store.tail(path, bytes).await.map(Content::tail) }),
            Extent::Size => spawn(async { store.file_size(path).await.map(Content::size) }),
            Extent::Ranges(ranges) => match coalesce(ranges, GAP_BYTES, MERGED_BYTES_MAX) {
                Ok(plan) => spawn(async { store.ranges(path, plan).await.map(Content::parts) }),
                Err(e) => Box::pin(std::future::ready(Err(e))),
            },
        }
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        spawn(self.clone().children(dir.to_owned()))
    }

    fn write<'a>(&'a self, _path: &'a str, _parts: Vec<Bytes>, _mode: WriteMode) -> BoxFuture<'a, ()> {
        self.read_only()
    }

    fn create<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        self.read_only()
    }

    fn create_dir<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        self.read_only()
    }

    fn delete<'a>(&'a self, _path: &'a str, _what: Deletion) -> BoxFuture<'a, ()> {
        self.read_only()
    }

    fn sync<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        self.read_only()
    }
}

impl HttpVfs {
    fn read_only<T: Send + 'static>(&self) -> BoxFuture<'static, T> {
        let why = format!(
            "{}: writing over HTTP; write to a disk or an object store",
            redact(self.base.as_str())
        );
        Box::pin(std::future::ready(Err(Error::Unsupported(why))))
    }
}

#[cfg(all(test, feature = "test-util"))]
mod hostile;
#[cfg(all(test, feature = "test-util"))]
mod tests;
