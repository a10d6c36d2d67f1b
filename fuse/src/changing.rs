//! Requests that change arrays as a whole: metadata in `metadata/KEY`, new arrays by `mkdir` and `schema.json`.
//!
//! ```text
//! mkdir NAME ──► new folder ──► cp schema.json NAME/ ──► array NAME
//! ```

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyperslab::blocking::block_on;
use hyperslab::internals::array::may_be_array;
use hyperslab::internals::view::file_names;
use hyperslab::{Array, OpenOptions, Window};
use hyperslab_cli::changes;

use crate::control;
use crate::documents::{self, Document, Documents, METADATA, Purpose, SCHEMA};
use crate::errno::{FsError, Refusal};
use crate::filesystem::{Attributes, FileSystem, Inode, Listed, join, lock, now_ms};
use crate::new_folders::NewFolders;
use crate::put::OpenMode;

/// Changes that are under way.
#[derive(Debug, Default)]
pub(crate) struct Changing {
    pub(crate) documents: Documents,
    pub(crate) folders: NewFolders,
}

impl FileSystem {
    /// Opens the array at a path of the mount, with all of its fragments.
    pub(crate) fn array_to_change(&self, path: &str) -> Result<Array, FsError> {
        let shown = block_on(self.view.array(path))?;
        let shown = shown.ok_or_else(|| Refusal::invalid(format!("there is no array '{path}' in this mount")))?;
        let options = OpenOptions {
            window: Window::ALL,
            key: shown.key().cloned(),
        };
        Ok(block_on(Array::open(shown.context(), shown.path(), &options))?)
    }

    /// Makes a folder for a new array. The success counts as a lookup.
    ///
    /// # Errors
    /// [`FsError::ReadOnly`] outside of folders; [`FsError::Refused`] with the reason.
    pub fn make_folder(&self, parent: u64, name: &OsStr) -> Result<Attributes, FsError> {
        let changing = self.changing.as_ref().ok_or(FsError::ReadOnly)?;
        let name = name.to_str().ok_or(FsError::Absent)?;
        if self.is_put(parent) || control::has(parent) {
            return Err(FsError::ReadOnly);
        }
        let (path, in_store) = match changing.folders.path(parent) {
            Some(folder) => {
                let in_store = changing.folders.get(&folder).ok_or(FsError::Stale)?.in_store;
                (folder, in_store)
            }
            None => {
                let path = self.inode(parent)?.path;
                let in_store = block_on(self.view.folder_in_store(&path))?;
                (path, in_store.ok_or(FsError::ReadOnly)?)
            }
        };
        if !may_be_array(name) || name.starts_with('.') {
            let why =
                format!("an array cannot have the name '{name}'; choose one that does not start with '.' or '__'");
            return Err(self.complain_of(parent, Some(name), Refusal::invalid(why).into()));
        }
        let path = join(&path, name);
        let added = changing.folders.add(&path, join(&in_store, name));
        let added = added.map_err(|e| self.complain_at(&path, true, e))?;
        self.reasons.withdraw(&path, true);
        Ok(added)
    }

    /// Removes a folder that is not an array yet.
    ///
    /// # Errors
    /// [`FsError::ReadOnly`] for folders in the store; [`FsError::Refused`] if it has folders.
    pub fn remove_folder(&self, parent: u64, name: &OsStr) -> Result<(), FsError> {
        let changing = self.changing.as_ref().ok_or(FsError::ReadOnly)?;
        let name = name.to_str().ok_or(FsError::ReadOnly)?;
        let folder = self.path_of_folder(parent).map_err(|_| FsError::ReadOnly)?;
        let path = join(&folder, name);
        if !changing.folders.list(&path).is_empty() {
            return Err(Refusal::new(fuser::Errno::ENOTEMPTY, "the folder has folders; remove them first").into());
        }
        changing.folders.remove(&path).map(drop).ok_or(FsError::ReadOnly)
    }

    /// Looks up a new folder, or a name in one; `None` for other names.
    pub(crate) fn look_up_new(&self, parent: u64, name: &str) -> Option<Result<Attributes, FsError>> {
        let changing = self.changing.as_ref()?;
        let parent = self.path_of_folder(parent).ok()?;
        let path = join(&parent, name);
        if changing.folders.get(&path).is_none() {
            return changing.folders.get(&parent).map(|_| Err(FsError::Absent));
        }
        self.refresh();
        // Another program may have stored an array at this place.
        match self.show_stored(changing, &path) {
            Ok(true) => None,
            Ok(false) => Some(changing.folders.look_up(&path).ok_or(FsError::Absent)),
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// Lists the new folders in a folder, which has the folders `stored` in the store.
    pub(crate) fn listed_new(&self, path: &str, stored: &[Listed]) -> Vec<Listed> {
        let changing = self.changing.as_ref();
        let mut new = changing.map(|c| c.folders.list(path)).unwrap_or_default();
        new.retain(|folder| stored.iter().all(|other| other.name != folder.name));
        new
    }

    /// Creates a file that changes an array; `None` if the name is not one of such a file.
    pub(crate) fn create_document(
        &self,
        parent: u64,
        name: &str,
        process: u32,
    ) -> Option<Result<(Attributes, u64), FsError>> {
        let changing = self.changing.as_ref()?;
        let purpose = match changing.folders.path(parent) {
            Some(folder) if name == SCHEMA && changing.folders.list(&folder).is_empty() => {
                Ok(Purpose::Schema { folder })
            }
            Some(_) if name == SCHEMA => {
                Err("an array cannot have folders; remove those in this folder first".to_owned())
            }
            Some(_) => Err(format!("a new folder takes {SCHEMA}, which makes it an array")),
            None => match self.metadata_of(parent, name)? {
                _ if is_temporary(name) => {
                    Err("temporary files are not metadata; write the file in place, under its own name".to_owned())
                }
                purpose => Ok(purpose),
            },
        };
        Some(match purpose {
            // A new attempt.
            Ok(purpose) => {
                self.reasons.withdraw(&purpose.path(), true);
                let document = Document::new(purpose, Vec::new(), true, process);
                changing.documents.create(document)
            }
            Err(why) => Err(self.complain_of(parent, Some(name), Refusal::not_permitted(why).into())),
        })
    }

    /// Whether a file that exists changes an array if it is replaced.
    pub fn takes_changes(&self, ino: u64) -> bool {
        self.inode(ino).is_ok_and(|inode| self.is_document(&inode.path))
    }

    /// Whether times, modes and owners can be set without an effect: `cp -p` and `touch` set them.
    pub(crate) fn ignores_attributes(&self, ino: u64) -> bool {
        self.attributes_of_changing(ino).is_some() || self.takes_changes(ino)
    }

    /// Opens a file that exists, to change an array.
    ///
    /// # Errors
    /// [`FsError::ReadOnly`] for other files; errors of reading the old contents.
    pub fn open_document(&self, ino: u64, mode: OpenMode) -> Result<u64, FsError> {
        let changing = self.changing.as_ref().ok_or(FsError::ReadOnly)?;
        let inode = self.inode(ino)?;
        let (folder, name) = inode.path.rsplit_once('/').unwrap_or(("", &inode.path));
        let purpose = self.metadata_at(folder, name).ok_or(FsError::ReadOnly)?;
        let old = if mode.truncate {
            Vec::new()
        } else {
            let shown = block_on(self.view.read(&inode.node, 0..u64::MAX))?.to_vec();
            let whole = self.is_shown_whole(&purpose, &shown);
            whole.map_err(|e| self.complain(ino, e))?;
            shown
        };
        let document = Document::new(purpose, old, mode.truncate, mode.process);
        let opened = changing.documents.open(document);
        opened.map_err(|e| self.complain(ino, e))
    }

    /// Refuses text whose file does not have its bytes, because a change of the file would change the rest of it.
    fn is_shown_whole(&self, purpose: &Purpose, shown: &[u8]) -> Result<(), FsError> {
        let Purpose::Metadata { array, name } = purpose else {
            return Ok(());
        };
        let all = block_on(self.array_to_change(array)?.metadata())?;
        let key = key_of(name, &all.keys().map(String::as_str).collect::<Vec<_>>())?;
        match all.get(&key) {
            Some(value) if value.datatype.is_string() && value.data != shown => {
                Err(Refusal::invalid("the value is not UTF-8; replace the whole file").into())
            }
            _ => Ok(()),
        }
    }

    /// Carries out what a file says.
    pub(crate) fn apply(&self, purpose: &Purpose, bytes: Vec<u8>) -> Result<(), FsError> {
        let path = purpose.path();
        let text = String::from_utf8(bytes).map_err(|_| Refusal::invalid("the file is not UTF-8").into());
        let done = text.and_then(|text| match purpose {
            Purpose::Metadata { array, name } => self.set_metadata(array, name, Some(&text)),
            Purpose::Schema { folder } => self.create_array(folder, &text),
        });
        done.map_err(|refusal| self.complain_at(&path, true, refusal))?;
        self.reasons.withdraw(&path, true);
        Ok(())
    }

    /// Removes a metadata key; `None` if the folder is not one of metadata.
    pub(crate) fn remove_document(&self, parent: u64, name: &str) -> Option<Result<(), FsError>> {
        let Purpose::Metadata { array, name } = self.metadata_of(parent, name)? else {
            return None;
        };
        let removed = self.set_metadata(&array, &name, None);
        Some(removed.map_err(|e| self.complain_of(parent, Some(&name), e)))
    }

    fn set_metadata(&self, path: &str, name: &str, text: Option<&str>) -> Result<(), FsError> {
        let array = self.array_to_change(path)?;
        let all = block_on(array.metadata())?;
        let key = key_of(name, &all.keys().map(String::as_str).collect::<Vec<_>>())?;
        let done = match text {
            Some(text) => block_on(changes::set_metadata(&array, &key, text)),
            None => block_on(changes::remove_metadata(&array, &key)),
        };
        self.show_changes();
        Ok(done.map_err(|e| Refusal::of_write(&e))?)
    }

    fn create_array(&self, path: &str, schema: &str) -> Result<(), FsError> {
        let changing = self.changing.as_ref().ok_or(FsError::ReadOnly)?;
        let folder = changing.folders.get(path).ok_or(FsError::Stale)?;
        let source = self.view.source();
        let made = changes::creation(source.options.key.clone());
        let made =
            made.and_then(|options| block_on(changes::create(&source.context, &folder.in_store, schema, &options)));
        made.map_err(|e| Refusal::of_write(&e))?;
        self.show_changes();
        // The store has the folder and those around it now. They keep their inodes.
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for folder in ends.filter_map(|end| path.get(..end)) {
            if let Err(refusal) = self.show_stored(changing, folder) {
                // The array exists. The next lookup shows it.
                log::warn!("cannot show the new array {folder:?} yet: {refusal}");
            }
        }
        Ok(())
    }

    /// Replaces a new folder by the folder in the store, if there is one.
    fn show_stored(&self, changing: &Changing, path: &str) -> Result<bool, FsError> {
        let Some(node) = block_on(self.view.lookup(path))? else {
            return Ok(false);
        };
        if let Some(folder) = changing.folders.remove(path) {
            let node = Arc::new(node);
            let mut inodes = lock(&self.inodes);
            let inode = inodes.entry(node.id).or_insert_with(|| Inode {
                path: path.to_owned(),
                node: Arc::clone(&node),
                known: 0,
            });
            inode.known += folder.known;
        }
        Ok(true)
    }

    /// Shows what was changed.
    pub(crate) fn show_changes(&self) {
        // Lookups that started before the change may still store what they found as the state of this millisecond.
        std::thread::sleep(Duration::from_millis(1));
        self.view.refresh(now_ms());
    }

    fn metadata_of(&self, parent: u64, name: &str) -> Option<Purpose> {
        self.metadata_at(&self.inode(parent).ok()?.path, name)
    }

    /// The key of a file in the folder of an array's metadata.
    fn metadata_at(&self, folder: &str, name: &str) -> Option<Purpose> {
        self.changing.as_ref()?;
        let (array, last) = folder.rsplit_once('/').unwrap_or(("", folder));
        let is_array = last == METADATA && block_on(self.view.array(array)).ok().flatten().is_some();
        is_array.then(|| Purpose::Metadata {
            array: array.to_owned(),
            name: name.to_owned(),
        })
    }

    /// The attributes of a new folder, or of a file that is being created.
    pub(crate) fn attributes_of_changing(&self, ino: u64) -> Option<Attributes> {
        let changing = self.changing.as_ref()?;
        let of_folder = || changing.folders.attributes(ino);
        changing.documents.attributes(ino).or_else(of_folder)
    }

    /// Reads a part of an open file that changes an array; `None` for other handles.
    pub fn read_document(&self, handle: u64, offset: u64, size: u32) -> Option<Result<Bytes, FsError>> {
        Some(self.documents_with(handle)?.read(handle, offset, size))
    }

    /// Writes to an open file that changes an array, at its end without an offset; `None` for other handles.
    pub fn write_document(&self, handle: u64, offset: Option<u64>, data: &[u8]) -> Option<Result<(), FsError>> {
        let documents = self.documents_with(handle)?;
        let written = documents.write(handle, offset, data);
        Some(written.map_err(|e| self.complain_document(documents, handle, e)))
    }

    /// Sets the size of an open file that changes an array, and returns its attributes; `None` for other handles.
    pub fn set_document_size(&self, ino: u64, handle: u64, size: Option<u64>) -> Option<Result<Attributes, FsError>> {
        let documents = self.documents_with(handle)?;
        let set = size.map_or(Ok(()), |size| documents.set_size(handle, size));
        let set = set.map_err(|e| self.complain_document(documents, handle, e));
        Some(set.and_then(|()| {
            let (_, size) = documents.path_and_size(handle).ok_or(FsError::Stale)?;
            let attributes = self.attributes(ino)?;
            Ok(Attributes { size, ..attributes })
        }))
    }

    /// Carries out what an open file says, because a process asks for it; `None` for other handles.
    pub fn sync_document(&self, handle: u64) -> Option<Result<(), FsError>> {
        let written = self.documents_with(handle)?.take_written(handle);
        Some(written.map_or(Ok(()), |(purpose, bytes)| self.apply(&purpose, bytes)))
    }

    fn complain_document(&self, documents: &Documents, handle: u64, refusal: FsError) -> FsError {
        match documents.path_and_size(handle) {
            Some((path, _)) => self.complain_at(&path, true, refusal),
            None => refusal,
        }
    }

    /// Forgets lookups of a new folder or file. Returns false for other inodes.
    pub(crate) fn forget_changing(&self, ino: u64, times: u64) -> bool {
        let changing = self.changing.as_ref();
        changing.is_some_and(|c| c.documents.forget(ino, times) || c.folders.forget(ino, times))
    }

    /// The open files that change arrays, if this handle is one of them.
    pub(crate) fn documents_with(&self, handle: u64) -> Option<&Documents> {
        let changing = self.changing.as_ref().filter(|_| documents::has(handle));
        changing.map(|changing| &changing.documents)
    }

    /// The path of the new folder with this inode.
    pub(crate) fn new_folder(&self, ino: u64) -> Option<String> {
        self.changing.as_ref()?.folders.path(ino)
    }

    /// Whether a file at this path can be replaced to change an array.
    pub(crate) fn is_document(&self, path: &str) -> bool {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.changing.is_some() && (folder == METADATA || folder.ends_with("/metadata"))
    }

    /// The path of a folder in the mount.
    pub(crate) fn path_of_folder(&self, ino: u64) -> Result<String, FsError> {
        self.new_folder(ino).map_or_else(|| Ok(self.inode(ino)?.path), Ok)
    }
}

/// Whether a program will rename a file with this name, or remove it.
fn is_temporary(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || name == "4913"
}

/// The metadata key that a file shows, or would show beside those of `keys`.
fn key_of(name: &str, keys: &[&str]) -> Result<String, FsError> {
    let shown = file_names(keys);
    if let Some((_, key)) = shown.iter().zip(keys).find(|(shown, _)| *shown == name) {
        return Ok((*key).to_owned());
    }
    let key = name.replace("%2F", "/").replace("%00", "\0");
    let all: Vec<&str> = keys.iter().copied().chain([key.as_str()]).collect();
    if file_names(&all).last().is_some_and(|shown| shown == name) {
        return Ok(key);
    }
    let why =
        format!("no metadata key has a file with the name '{name}'; choose a shorter name without % and trailing _");
    Err(Refusal::invalid(why).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_new_file_has_one_key_which_shows_that_file() {
        let of = |name, keys: &[&str]| key_of(name, keys).ok();
        assert_eq!(of("units", &[]).as_deref(), Some("units"));
        assert_eq!(of("a%2Fb", &[]).as_deref(), Some("a/b"));
        // The file of the key `a/b` is `a%2Fb_`, because another key has its name.
        assert_eq!(of("a%2Fb_", &["a%2Fb", "a/b"]).as_deref(), Some("a/b"));
        assert_eq!(of("a%2Fb", &["a%2Fb", "a/b"]).as_deref(), Some("a%2Fb"));
        let long = "x".repeat(300);
        assert_eq!(of(&long, &[]), None, "its file would have another name");
        let shown = file_names(&[long.as_str()]).remove(0);
        assert_eq!(of(&shown, &[&long]).as_deref(), Some(long.as_str()));
    }
}
