//! A listing in a file, for hosts that cannot list: `__manifest.json` in the folder it describes.
//!
//! ```json
//! {"version": 1, "files": {"__schema/__1_1_0a": {"size": 216}}, "inline": {"__schema/__1_1_0a": "base64…"}}
//! ```
//!
//! It names every file below the folder with its size, and carries the small ones that opening an
//! array reads, so that a reader needs one request to open; of a small array it carries the cells
//! too. Readers of the format ignore it: its
//! name has a dot. Who changes the array writes it again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_util::lock::Mutex;
use serde::{Deserialize, Serialize};

use super::mem::children;
use super::{BoxFuture, Entry, EntryKind, FileWriter, Vfs, join, slice, split};
use crate::error::{Error, Malformed, Result};
use crate::sort::sort_by;

/// The manifest's name in the folder it describes.
pub const MANIFEST: &str = "__manifest.json";
/// The only version there is.
const VERSION: u32 = 1;
/// Files up to this size, in bytes, may be carried in the manifest.
const INLINE_FILE_BYTES_MAX: u64 = 64 << 10;
/// The carried files together are at most this many bytes.
const INLINE_BYTES_MAX: u64 = 512 << 10;
/// How often a manifest is written again because files came or went meanwhile.
const REWRITES: u32 = 16;

/// Every file below a folder, and the content of the small ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    files: BTreeMap<String, File>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    inline: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    size: u64,
}

impl Manifest {
    /// The manifest of these files, of which the small ones are read.
    async fn build(vfs: &dyn Vfs, root: &str, files: BTreeMap<String, File>) -> Result<Self> {
        let sizes = files.iter().map(|(path, file)| (path, file.size));
        let (mut wanted, data): (Vec<_>, Vec<_>) = sizes
            .filter(|(_, size)| *size > 0)
            .partition(|(path, size)| *size <= INLINE_FILE_BYTES_MAX && rank(path).is_some());
        // Some of the cells are of no use: many files make a tile, and the rest costs as many requests.
        if files.values().map(|file| file.size).sum::<u64>() <= INLINE_BYTES_MAX {
            wanted.extend(data);
        }
        // What every reader needs first, then the newest: their names start with their time.
        let order = |path: &str| rank(path).unwrap_or(u8::MAX);
        sort_by(&mut wanted, |(a, _), (b, _)| order(a).cmp(&order(b)).then(b.cmp(a)));
        let mut inline = BTreeMap::new();
        let mut budget = INLINE_BYTES_MAX;
        for (path, size) in wanted {
            if size <= budget {
                budget -= size;
                inline.insert(path.clone(), BASE64.encode(vfs.read_all(&join(root, path)).await?));
            }
        }
        Ok(Self {
            version: VERSION,
            files,
            inline,
        })
    }

    /// The manifest in `json`, which was read from `path`.
    ///
    /// # Errors
    /// `Corrupt` if it is not one; `UnsupportedVersion` if it is a newer one.
    pub fn decode(json: &[u8], path: &str) -> Result<Self> {
        let corrupt = |e: serde_json::Error| {
            let malformed = Malformed::new("manifest", 0, format!("{e}; write it again with `hyperslab index`"));
            Error::Corrupt {
                path: path.to_owned(),
                malformed,
            }
        };
        let manifest: Self = serde_json::from_slice(json).map_err(corrupt)?;
        if manifest.version == VERSION {
            return Ok(manifest);
        }
        Err(Error::UnsupportedVersion {
            path: path.to_owned(),
            found: manifest.version,
            supported: VERSION,
        })
    }

    /// The manifest as JSON.
    ///
    /// # Errors
    /// None in practice: a map of strings is always JSON.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| Error::io(MANIFEST, e))
    }

    fn inlined(&self, path: &str) -> Option<Bytes> {
        let bytes = BASE64.decode(self.inline.get(path)?).ok()?;
        // A text that does not fit its size is read from the file instead.
        (self.files.get(path)?.size == bytes.len() as u64).then(|| bytes.into())
    }
}

/// Writes the manifest of the folder `root` of `vfs`, in place of an older one.
///
/// # Errors
/// Those of the store; `NotFound` if there is nothing to describe.
pub async fn write(vfs: &dyn Vfs, root: &str) -> Result<Manifest> {
    let path = join(root, MANIFEST);
    let mut files = list(vfs, root).await?;
    for _ in 0..REWRITES {
        let manifest = match Manifest::build(vfs, root, files).await {
            // A file that was listed is gone.
            Err(Error::NotFound { .. }) => {
                files = list(vfs, root).await?;
                continue;
            }
            built => built?,
        };
        if manifest.files.is_empty() {
            return Err(Error::not_found(root, "no files there to index"));
        }
        vfs.put_over(&path, vec![manifest.encode()?.into()]).await?;
        // Whoever changed something since the listing may have put a newer manifest, which this one has replaced.
        files = list(vfs, root).await?;
        if files == manifest.files {
            return Ok(manifest);
        }
    }
    let why = "files come and go there faster than they can be listed; write the manifest again with `hyperslab index`";
    Err(Error::io(path, why))
}

/// Every file below the folder `root`, and how large it is.
async fn list(vfs: &dyn Vfs, root: &str) -> Result<BTreeMap<String, File>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in vfs.list(&join(root, &folder)).await? {
            let path = join(&folder, &entry.name);
            let size = match entry.kind {
                _ if path == MANIFEST || entry.name.starts_with('.') => continue,
                EntryKind::Dir => {
                    folders.push(path);
                    continue;
                }
                EntryKind::File(Some(size)) => size,
                EntryKind::File(None) => vfs.size(&join(root, &path)).await?,
            };
            files.insert(path, File { size });
        }
    }
    Ok(files)
}

/// Writes the manifests that describe the folder `root` again: its own, and those of the folders above it. For
/// whoever changed what is there.
///
/// # Errors
/// Those of the store.
pub async fn refresh(vfs: &dyn Vfs, root: &str) -> Result<()> {
    let mut folder = root;
    loop {
        match vfs.size(&join(folder, MANIFEST)).await {
            Err(Error::NotFound { .. }) => {}
            Err(e) => return Err(e),
            Ok(_) => drop(write(vfs, folder).await?),
        }
        if folder.is_empty() {
            return Ok(());
        }
        folder = split(folder).0;
    }
}

/// How early a reader needs the file; `None` for data, which comes last.
fn rank(path: &str) -> Option<u8> {
    let folder = path.split('/').rev().find(|part| {
        matches!(
            *part,
            "__schema" | "__commits" | "__fragment_meta" | "__meta" | "__group"
        )
    });
    match folder {
        Some(_) => Some(0),
        None if path.ends_with("__fragment_metadata.tdb") => Some(1),
        None => None,
    }
}

/// A store that answers from the manifest in its root, where there is one, and asks `inner` for the rest.
pub struct ManifestVfs {
    inner: Arc<dyn Vfs>,
    state: Mutex<State>,
}

#[derive(Clone)]
enum State {
    Unread,
    Absent,
    Present(Arc<Manifest>),
    /// Something was written through this store since: what the manifest says may not be so.
    Outdated,
}

impl ManifestVfs {
    /// `inner` with its manifest, which the first question reads.
    pub fn new(inner: Arc<dyn Vfs>) -> Self {
        Self {
            inner,
            state: Mutex::new(State::Unread),
        }
    }

    /// The manifest, read once until it is renewed; those who ask meanwhile wait for the same answer.
    async fn manifest(&self) -> Result<Option<Arc<Manifest>>> {
        let mut state = self.state.lock().await;
        if let State::Unread = *state {
            *state = match self.inner.read_all(MANIFEST).await {
                Ok(json) => State::Present(Arc::new(Manifest::decode(&json, MANIFEST)?)),
                Err(Error::NotFound { .. }) => State::Absent,
                Err(e) => return Err(e),
            };
        }
        Ok(match &*state {
            State::Present(manifest) => Some(Arc::clone(manifest)),
            _ => None,
        })
    }

    async fn outdate(&self) {
        *self.state.lock().await = State::Outdated;
    }
}

impl Vfs for ManifestVfs {
    fn inner(&self) -> Option<&dyn Vfs> {
        Some(&*self.inner)
    }

    fn read<'a>(&'a self, path: &'a str, ranges: &'a [Range<u64>]) -> BoxFuture<'a, Vec<Bytes>> {
        Box::pin(async move {
            match self.manifest().await?.and_then(|m| m.inlined(path)) {
                Some(whole) => ranges.iter().map(|range| slice(path, &whole, range)).collect(),
                None => self.inner.read(path, ranges).await,
            }
        })
    }

    fn read_all<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Bytes> {
        Box::pin(async move {
            match self.manifest().await?.and_then(|m| m.inlined(path)) {
                Some(whole) => Ok(whole),
                None => self.inner.read_all(path).await,
            }
        })
    }

    fn size<'a>(&'a self, path: &'a str) -> BoxFuture<'a, u64> {
        Box::pin(async move {
            match self.manifest().await?.and_then(|m| m.files.get(path).copied()) {
                Some(file) => Ok(file.size),
                None => self.inner.size(path).await,
            }
        })
    }

    fn read_tail<'a>(&'a self, path: &'a str, bytes: u64) -> BoxFuture<'a, (u64, Bytes)> {
        Box::pin(async move {
            let manifest = self.manifest().await?;
            let Some(file) = manifest.as_ref().and_then(|m| m.files.get(path)) else {
                return self.inner.read_tail(path, bytes).await;
            };
            let range = file.size.saturating_sub(bytes)..file.size;
            let read = self.read(path, std::slice::from_ref(&range)).await?;
            Ok((file.size, read.into_iter().next().unwrap_or_default()))
        })
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        Box::pin(async move {
            match self.manifest().await? {
                Some(manifest) => Ok(children(&manifest.files, dir, |file| file.size)),
                None => self.inner.list(dir).await,
            }
        })
    }

    fn put<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.outdate().await;
            self.inner.put(path, parts).await
        })
    }

    fn put_over<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.outdate().await;
            self.inner.put_over(path, parts).await
        })
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        Box::pin(async move {
            self.outdate().await;
            self.inner.create(path).await
        })
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.inner.create_dir(dir)
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.outdate().await;
            self.inner.remove(path).await
        })
    }

    fn remove_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.outdate().await;
            self.inner.remove_dir(dir).await
        })
    }

    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.inner.sync(dir)
    }

    fn renew(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut state = self.state.lock().await;
            // What is outdated stays out of use: nobody may have written it again.
            if let State::Present(_) | State::Absent = *state {
                *state = State::Unread;
            }
            self.inner.renew().await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::block_on;
    use crate::vfs::MemVfs;

    fn store() -> MemVfs {
        let mem = MemVfs::new();
        for (path, bytes) in [
            ("__schema/__1_1_0a", "schema"),
            ("__commits/x.wrt", ""),
            ("__fragments/x/a0.tdb", "data"),
        ] {
            mem.replace(path, bytes);
        }
        mem
    }

    #[cfg(feature = "test-util")]
    #[test]
    fn without_a_manifest_it_is_the_store() {
        let vfs = ManifestVfs::new(Arc::new(MemVfs::new()));
        block_on(crate::vfs::conformance::check(&vfs)).unwrap();
    }

    #[test]
    fn lists_everything_and_carries_what_opening_reads() {
        let mem = store();
        let manifest = block_on(write(&mem, "")).unwrap();
        assert_eq!(
            String::from_utf8(manifest.encode().unwrap()).unwrap(),
            r#"{"version":1,"files":{"__commits/x.wrt":{"size":0},"__fragments/x/a0.tdb":{"size":4},"__schema/__1_1_0a":{"size":6}},"inline":{"__fragments/x/a0.tdb":"ZGF0YQ==","__schema/__1_1_0a":"c2NoZW1h"}}"#
        );
    }

    #[test]
    fn answers_without_the_store() {
        let mem = store();
        block_on(write(&mem, "")).unwrap();
        let vfs = ManifestVfs::new(Arc::new(mem.clone()));
        assert_eq!(block_on(vfs.list("__fragments/x")).unwrap().len(), 1);
        for (path, _) in mem.files().iter().filter(|(path, _)| path != MANIFEST) {
            block_on(mem.remove(path)).unwrap();
        }
        assert_eq!(block_on(vfs.read_all("__schema/__1_1_0a")).unwrap(), "schema");
        assert_eq!(block_on(vfs.read("__schema/__1_1_0a", &[2..4])).unwrap(), ["he"]);
        assert_eq!(block_on(vfs.size("__fragments/x/a0.tdb")).unwrap(), 4);
        assert_eq!(block_on(vfs.list("")).unwrap().len(), 3);
        assert_eq!(block_on(vfs.read_all("__fragments/x/a0.tdb")).unwrap(), "data");
    }

    #[test]
    fn the_cells_of_a_large_array_stay_where_they_are() {
        let mem = store();
        mem.replace("__fragments/x/a1.tdb", vec![0; 600 << 10]);
        let manifest = block_on(write(&mem, "")).unwrap();
        assert_eq!(manifest.inline.keys().collect::<Vec<_>>(), ["__schema/__1_1_0a"]);
    }

    #[test]
    fn a_write_outdates_it_and_refresh_renews_it() {
        let mem = store();
        block_on(write(&mem, "")).unwrap();
        let vfs = ManifestVfs::new(Arc::new(mem.clone()));
        block_on(vfs.put("new", vec![Bytes::from("x")])).unwrap();
        assert!(block_on(vfs.list("")).unwrap().iter().any(|e| e.name == "new"));
        block_on(refresh(&mem, "__fragments/x")).unwrap();
        assert!(!mem.files().iter().any(|(path, _)| path.ends_with("x/__manifest.json")));
        let again = ManifestVfs::new(Arc::new(mem));
        assert!(block_on(again.list("")).unwrap().iter().any(|e| e.name == "new"));
    }

    #[test]
    fn what_others_wrote_is_seen_once_it_is_renewed() {
        let (mem, names) = (store(), |vfs: &ManifestVfs| block_on(vfs.list("")).unwrap().len());
        block_on(write(&mem, "")).unwrap();
        let vfs = ManifestVfs::new(Arc::new(mem.clone()));
        let before = names(&vfs);
        mem.replace("new", b"x".to_vec());
        block_on(refresh(&mem, "")).unwrap();
        assert_eq!(names(&vfs), before);
        block_on(vfs.renew()).unwrap();
        assert_eq!(names(&vfs), before + 1);
    }

    #[test]
    fn one_that_comes_later_is_seen_too() {
        let mem = store();
        let vfs = ManifestVfs::new(Arc::new(mem.clone()));
        assert_eq!(block_on(vfs.list("")).unwrap().len(), 3);
        block_on(write(&mem, "")).unwrap();
        mem.replace("unlisted", b"x".to_vec());
        block_on(vfs.renew()).unwrap();
        assert_eq!(block_on(vfs.list("")).unwrap().len(), 3);
    }

    /// Somebody else writes a file and the manifest before each call in turn.
    #[cfg(feature = "test-util")]
    #[test]
    fn of_two_writers_neither_is_left_out() {
        for call in 0.. {
            let mem = store();
            let vfs = super::super::faulty::FaultyVfs::new(Arc::new(mem.clone()), Default::default());
            let other = mem.clone();
            vfs.before(call, move || {
                other.replace("new", b"x".to_vec());
                block_on(write(&other, "")).unwrap();
            });
            block_on(write(&vfs, "")).unwrap();
            if !mem.files().iter().any(|(path, _)| path == "new") {
                assert!(call > 5);
                return;
            }
            let read = ManifestVfs::new(Arc::new(mem));
            let names = block_on(read.list("")).unwrap();
            assert!(names.iter().any(|e| e.name == "new"), "before call {call}");
        }
    }

    #[test]
    fn damage_is_an_error_that_says_what_to_do() {
        let e = Manifest::decode(b"{\"version\":1", "a/__manifest.json").unwrap_err();
        assert!(e.to_string().starts_with("a/__manifest.json: corrupt manifest"), "{e}");
        assert!(e.to_string().contains("hyperslab index"), "{e}");
        let newer = Manifest::decode(br#"{"version":2,"files":{}}"#, "m").unwrap_err();
        assert_eq!(newer.code(), "UnsupportedVersion");
    }
}
