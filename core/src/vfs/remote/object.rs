//! S3, Google Cloud Storage and Azure Blob Storage, through the `object_store` crate.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutPayload, WriteMultipart};

use super::pages::Pages;
use super::service::{self, Credentials};
use super::{IN_FLIGHT, runtime};
use crate::error::{Error, Result};
use crate::vfs::coalesce::{Coalesced, GAP_BYTES, MERGED_BYTES_MAX, coalesce};
use crate::vfs::{
    BoxFuture, Capabilities, Content, Deletion, Entry, EntryKind, Extent, FileWriter, Locations, Vfs, WriteMode,
    check_path, join, redact, too_short,
};

/// Bytes per part of a large file. S3 accepts at most 10 000 parts, of at least 5 MiB each.
const PART_BYTES: usize = 16 << 20;

/// A service with paged listings.
pub trait PagedStore: ObjectStore + PaginatedListStore {}

impl<S: ObjectStore + PaginatedListStore> PagedStore for S {}

/// A store of the objects below a prefix.
///
/// ```no_run
/// use std::sync::Arc;
/// use hyperslab::{Array, Context, OpenOptions, blocking::block_on, vfs::ObjectVfs};
/// # fn main() -> hyperslab::Result<()> {
/// // Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL.
/// let context = Context::new(Arc::new(ObjectVfs::from_url("s3://bucket/arrays")?));
/// let array = block_on(Array::open(&context, "points", &OpenOptions::default()))?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ObjectVfs {
    store: Arc<dyn PagedStore>,
    prefix: String,
    /// The credentials it was opened with.
    url: Option<String>,
    credentials: Option<Credentials>,
}

impl ObjectVfs {
    /// Opens `s3://bucket/prefix`, `gs://…`, `az://…` or one of the long forms that `object_store` supports.
    /// Credentials, region and endpoint come from the environment variables of each service (`AWS_ACCESS_KEY_ID`,
    /// `AWS_ENDPOINT_URL`, `GOOGLE_SERVICE_ACCOUNT`, …).
    ///
    /// # Errors
    /// `Unsupported` for an unknown scheme; `InvalidArgument` if settings are missing.
    pub fn from_url(url: &str) -> Result<Self> {
        runtime()?;
        let (store, prefix, credentials) = service::open(url)?;
        Ok(Self {
            url: Some(url.trim_end_matches('/').to_owned()),
            credentials: Some(credentials),
            ..Self::new(store, &prefix)
        })
    }

    /// The objects of `store` below `prefix`.
    pub fn new(store: Arc<dyn PagedStore>, prefix: &str) -> Self {
        Self {
            store,
            prefix: prefix.trim_matches('/').to_owned(),
            url: None,
            credentials: None,
        }
    }

    /// Runs `work` on the runtime of network stores. If credentials are missing, the error says which variables to set.
    fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> BoxFuture<'static, T> {
        let credentials = self.credentials;
        super::spawn(async move {
            let advised = work.await.map_err(|e| match credentials {
                Some(credentials) => credentials.advise(e),
                None => e,
            });
            advised.map_err(without_secrets)
        })
    }

    fn key(&self, path: &str) -> Result<Path> {
        check_path(path)?;
        Path::parse(join(&self.prefix, path)).map_err(|e| Error::invalid(e.to_string()))
    }

    async fn ranges(self, path: String, plan: Coalesced) -> Result<Vec<Bytes>> {
        let key = &self.key(&path)?;
        let (store, path) = (&self.store, path.as_str());
        let one = |range: Range<u64>| async move {
            if range.is_empty() {
                return Ok(Bytes::new());
            }
            let bytes = store.get_range(key, range.clone()).await.map_err(failed(path))?;
            let whole = bytes.len() as u64 == range.end - range.start;
            if whole {
                Ok(bytes)
            } else {
                Err(too_short(path, &range, range.start + bytes.len() as u64))
            }
        };
        let fetched: Vec<Bytes> = stream::iter(plan.fetches.clone())
            .map(one)
            .buffered(IN_FLIGHT)
            .try_collect()
            .await?;
        plan.split(path, &fetched)
    }

    /// Requests the first bytes, which also returns the size. A small file takes one request, a larger one a second
    /// request for its end. Not all servers support suffix ranges: Azure does not, and some fail if the file is shorter
    /// than the requested range.
    async fn tail(self, path: String, bytes: u64) -> Result<(u64, Bytes)> {
        let key = self.key(&path)?;
        let options = GetOptions {
            range: Some(GetRange::Bounded(0..bytes.max(1))),
            ..GetOptions::default()
        };
        let answer = match self.store.get_opts(&key, options).await {
            Ok(answer) => answer,
            Err(e @ object_store::Error::NotFound { .. }) => return Err(failed(&path)(e)),
            // An empty file has no first byte.
            Err(e) => {
                return match self.store.head(&key).await {
                    Ok(object) if object.size == 0 => Ok((0, Bytes::new())),
                    _ => Err(failed(&path)(e)),
                };
            }
        };
        let size = answer.meta.size;
        let start = size.saturating_sub(bytes);
        if start == 0 {
            let body = answer.bytes().await.map_err(failed(&path))?;
            let end = bytes.min(size);
            return Ok((size, crate::vfs::slice(&path, &body, &(0..end))?));
        }
        drop(answer);
        let plan = coalesce(&[start..size], GAP_BYTES, MERGED_BYTES_MAX.max(bytes))?;
        let read = self.ranges(path, plan).await?;
        Ok((size, read.into_iter().next().unwrap_or_default()))
    }

    async fn whole(self, path: String) -> Result<Bytes> {
        let object = self.store.get(&self.key(&path)?).await.map_err(failed(&path))?;
        object.bytes().await.map_err(failed(&path))
    }

    async fn file_size(self, path: String) -> Result<u64> {
        Ok(self.store.head(&self.key(&path)?).await.map_err(failed(&path))?.size)
    }

    async fn children(self, dir: String) -> Result<Vec<Entry>> {
        let key = self.key(&dir)?;
        let last = |path: &Path| path.filename().map(str::to_owned);
        let mut entries = Vec::new();
        let mut pages = Pages::of(&*self.store, &dir, &key, true);
        while let Some(page) = pages.next().await? {
            let objects = page.objects.iter();
            // Skip empty objects with the name of the folder, which web consoles create.
            let files = objects.filter(|object| object.location != key).filter_map(|object| {
                Some(Entry {
                    name: last(&object.location)?,
                    kind: EntryKind::File(Some(object.size)),
                })
            });
            entries.extend(files);
            entries.extend(page.common_prefixes.iter().filter_map(|path| {
                Some(Entry {
                    name: last(path)?,
                    kind: EntryKind::Dir,
                })
            }));
        }
        entries.sort();
        entries.dedup();
        Ok(entries)
    }

    async fn put_as(self, path: String, parts: Vec<Bytes>, mode: PutMode) -> Result<()> {
        let payload = PutPayload::from_iter(parts);
        let done = self.store.put_opts(&self.key(&path)?, payload, mode.into()).await;
        done.map(drop).map_err(failed(&path))
    }

    async fn delete_object(self, path: String) -> Result<()> {
        match self.store.delete(&self.key(&path)?).await {
            Err(object_store::Error::NotFound { .. }) | Ok(()) => Ok(()),
            Err(e) => Err(failed(&path)(e)),
        }
    }

    async fn delete_below(self, dir: String) -> Result<()> {
        let key = self.key(&dir)?;
        let mut pages = Pages::of(&*self.store, &dir, &key, false);
        while let Some(page) = pages.next().await? {
            let keys = stream::iter(page.objects).map(|object| Ok(object.location)).boxed();
            let deleted: Vec<_> = self.store.delete_stream(keys).collect().await;
            deleted.into_iter().try_for_each(|deleted| match deleted {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(e) => Err(failed(&dir)(e)),
            })?;
        }
        Ok(())
    }
}

/// The same error, with signatures in URLs redacted.
fn without_secrets(error: Error) -> Error {
    match error {
        Error::Io { path, source } => match redact(&source.to_string()) {
            Cow::Borrowed(_) => Error::Io { path, source },
            Cow::Owned(told) => Error::io(path, told),
        },
        error => error,
    }
}

/// Converts an error of the library at `path` to the crate's error.
pub(super) fn failed(path: &str) -> impl Fn(object_store::Error) -> Error {
    move |e| match e {
        object_store::Error::NotFound { .. } => Error::not_found(path, ""),
        object_store::Error::AlreadyExists { .. } => Error::AlreadyExists { path: path.to_owned() },
        e => Error::io(path, e),
    }
}

impl Locations for ObjectVfs {
    fn uri(&self, path: &str) -> Option<String> {
        self.url.as_ref().map(|url| join(url, path))
    }
}

impl Vfs for ObjectVfs {
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            locations: Some(self),
            ..Capabilities::default()
        }
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        let (store, path) = (self.clone(), path.to_owned());
        match extent {
            Extent::Whole => self.spawn(async { Ok(Content::parts(vec![store.whole(path).await?])) }),
            Extent::Tail(bytes) => self.spawn(async move { store.tail(path, bytes).await.map(Content::tail) }),
            Extent::Size => self.spawn(async { store.file_size(path).await.map(Content::size) }),
            Extent::Ranges(ranges) => match coalesce(ranges, GAP_BYTES, MERGED_BYTES_MAX) {
                Ok(plan) => self.spawn(async { store.ranges(path, plan).await.map(Content::parts) }),
                Err(e) => Box::pin(std::future::ready(Err(e))),
            },
        }
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        self.spawn(self.clone().children(dir.to_owned()))
    }

    fn write<'a>(&'a self, path: &'a str, parts: Vec<Bytes>, mode: WriteMode) -> BoxFuture<'a, ()> {
        let is_large = parts.iter().map(Bytes::len).sum::<usize>() > 4 * PART_BYTES;
        let mode = match mode {
            WriteMode::Create if is_large => {
                return Box::pin(async move {
                    let mut writer = self.create(path).await?;
                    for part in parts {
                        writer.append(part).await?;
                    }
                    writer.finish().await
                });
            }
            WriteMode::Create => PutMode::Create,
            WriteMode::Replace => PutMode::Overwrite,
        };
        self.spawn(self.clone().put_as(path.to_owned(), parts, mode))
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        Box::pin(async move {
            check_path(path)?;
            let writer: Box<dyn FileWriter> = Box::new(ObjectWriter {
                store: self.clone(),
                path: path.to_owned(),
                start: BytesMut::new(),
                upload: None,
            });
            Ok(writer)
        })
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(check_path(dir)))
    }

    fn delete<'a>(&'a self, path: &'a str, what: Deletion) -> BoxFuture<'a, ()> {
        match what {
            Deletion::File => self.spawn(self.clone().delete_object(path.to_owned())),
            Deletion::Folder => self.spawn(self.clone().delete_below(path.to_owned())),
        }
    }

    fn sync<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A small file takes one request. A larger one is a multipart upload that starts with the first full part.
struct ObjectWriter {
    store: ObjectVfs,
    path: String,
    start: BytesMut,
    upload: Option<WriteMultipart>,
}

impl FileWriter for ObjectWriter {
    fn append(&mut self, part: Bytes) -> BoxFuture<'_, ()> {
        let Ok(runtime) = runtime() else {
            return self.store.spawn(async { Err(Error::Cancelled) });
        };
        Box::pin(async move {
            if self.upload.is_none() {
                self.start.extend_from_slice(&part);
                if self.start.len() < PART_BYTES {
                    return Ok(());
                }
                let (store, path) = (self.store.clone(), self.path.clone());
                let begin = async move {
                    store
                        .store
                        .put_multipart(&store.key(&path)?)
                        .await
                        .map_err(failed(&path))
                };
                let mut upload = WriteMultipart::new_with_chunk_size(self.store.spawn(begin).await?, PART_BYTES);
                let _guard = runtime.enter();
                upload.put(std::mem::take(&mut self.start).freeze());
                self.upload = Some(upload);
                return Ok(());
            }
            let Some(mut upload) = self.upload.take() else {
                return Err(Error::Cancelled);
            };
            let path = self.path.clone();
            let work = async move {
                upload.wait_for_capacity(IN_FLIGHT / 2).await.map_err(failed(&path))?;
                upload.put(part);
                Ok(upload)
            };
            self.upload = Some(self.store.spawn(work).await?);
            Ok(())
        })
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        let (store, path) = (self.store.clone(), std::mem::take(&mut self.path));
        let Some(upload) = self.upload.take() else {
            let whole = vec![std::mem::take(&mut self.start).freeze()];
            return self.store.spawn(store.put_as(path, whole, PutMode::Create));
        };
        self.store.spawn(async move {
            // Completing an upload would replace an existing object, so check first. Names in arrays are unique.
            if store.store.head(&store.key(&path)?).await.is_ok() {
                upload.abort().await.map_err(failed(&path))?;
                return Err(Error::AlreadyExists { path });
            }
            upload.finish().await.map(drop).map_err(failed(&path))
        })
    }

    fn abort(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        let (path, upload) = (std::mem::take(&mut self.path), self.upload.take());
        self.store.spawn(async move {
            match upload {
                Some(upload) => upload.abort().await.map_err(failed(&path)),
                None => Ok(()),
            }
        })
    }
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        if let (Some(upload), Ok(runtime)) = (self.upload.take(), runtime()) {
            // If this request fails, the store removes the unfinished parts eventually.
            runtime.spawn(async move { upload.abort().await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_schemes_are_named() {
        let error = ObjectVfs::from_url("ftp://host/x").unwrap_err();
        assert!(error.to_string().contains("ftp"), "{error}");
    }
}
