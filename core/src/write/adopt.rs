//! Copies a finished fragment from another array.

use super::WriteOptions;
use super::clock;
use super::commit::{Draft, Sealed, commit_path, fragment_dir};

use crate::array::Array;
use crate::array::latest::commits_since;
use crate::error::{Error, Result};
use crate::format::name;
use crate::identity::Ids;
use crate::vfs::{EntryKind, VfsExt, join};

/// Bytes that are copied at a time.
const CHUNK_BYTES: u64 = 8 << 20;

impl Array {
    /// Copies the only fragment of `other` into this array as one write. Returns the name of the new fragment.
    ///
    /// `other` must have the same schema file and key. It usually is a temporary array in which a large write was
    /// gathered from batches and merged.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the schema files differ or if `other` has no or several fragments; [`Error::Io`].
    /// If anything before the commit fails, the copied files are removed if the store permits it.
    pub async fn adopt(&self, other: &Self, options: &WriteOptions) -> Result<String> {
        let version = self.schema().version.for_new_fragments();
        let [fragment] = other.fragments() else {
            let count = other.fragments().len();
            return Err(Error::invalid(format!("a single fragment is needed, not {count}")));
        };
        if other.0.schema_name != self.0.schema_name || fragment.version != version {
            return Err(Error::invalid("the arrays have different schema files"));
        }
        let time = options.timestamp_ms;
        let mut ids = Ids::new(options.seed);
        clock::rise_above(&mut ids, &commits_since(self, time).await?, time)?;
        let name = name::versioned(time, time, ids.draw(), version);
        let from = fragment_dir(other, version.has_commit_folder(), &fragment.name);
        let to = fragment_dir(self, version.has_commit_folder(), &name);
        self.context().register(&to);
        if let Err(e) = copy(other, &from, self, &to, options.sync).await {
            Draft::discard(self, &name).await;
            return Err(e);
        }
        let sealed = Sealed {
            array: self.clone(),
            commit: commit_path(version, &name),
            name,
            sync: options.sync,
        };
        sealed.commit().await
    }
}

/// Copies the files of a fragment.
async fn copy(from_array: &Array, from: &str, to_array: &Array, to: &str, sync: bool) -> Result<()> {
    let (source, target) = (&from_array.context().vfs, &to_array.context().vfs);
    for entry in source.list(from).await? {
        let EntryKind::File(size) = entry.kind else { continue };
        let (path, copied) = (join(from, &entry.name), join(to, &entry.name));
        let size = match size {
            Some(size) => size,
            None => source.size(&path).await?,
        };
        if size <= CHUNK_BYTES {
            target.put(&copied, vec![source.read_all(&path).await?]).await?;
            continue;
        }
        let mut writer = target.create(&copied).await?;
        let mut start = 0;
        while start < size {
            let end = size.min(start + CHUNK_BYTES);
            for part in source.read(&path, &[start..end]).await? {
                writer.append(part).await?;
            }
            start = end;
        }
        writer.finish().await?;
    }
    if sync {
        target.sync(to).await?;
    }
    Ok(())
}
