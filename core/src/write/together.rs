//! Commits fragments of several arrays together.

use super::commit::{Sealed, draft_dir};
use crate::error::Result;
use crate::vfs::{VfsExt, join};

/// A complete fragment that is not visible yet. Dropping it leaves its files, which readers ignore; call
/// [`SealedFragment::abandon`] to remove them.
pub struct SealedFragment(pub(super) Sealed);

impl SealedFragment {
    /// Abandons the fragment and removes its files if the store permits it.
    pub async fn abandon(self) {
        let Sealed { array, name, .. } = self.0;
        array.context().discard(&draft_dir(&array, &name)).await;
    }
}

/// Makes fragments visible, one after the other in their order. If one cannot be committed, those before it are removed
/// again, so that a reader sees all of them or none, except in between. Returns their names.
///
/// [`BoxWriter::seal`](crate::BoxWriter::seal) has an example.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io), [`Error::Cancelled`](crate::Error::Cancelled). Fragments stay visible if the store
/// fails to remove them too.
pub async fn commit_together(fragments: Vec<SealedFragment>) -> Result<Vec<String>> {
    // An abort waits for all commits.
    let holds = fragments.iter().map(|f| f.0.array.context().hold());
    let _holds = holds.collect::<Result<Vec<_>>>()?;
    let mut names: Vec<String> = Vec::new();
    for fragment in &fragments {
        match fragment.0.commit().await {
            Ok(name) => names.push(name),
            Err(error) => {
                // The response to the last commit may have been lost.
                for undone in fragments.iter().take(names.len() + 1).rev() {
                    take_back(&undone.0).await;
                }
                for unused in fragments.into_iter().skip(names.len() + 1) {
                    unused.abandon().await;
                }
                return Err(error);
            }
        }
    }
    Ok(names)
}

/// Removes a commit and its fragment. The caller reports the first failure, so failures here are ignored.
async fn take_back(fragment: &Sealed) {
    let vfs = &fragment.array.context().vfs;
    let commit = join(fragment.array.path(), &fragment.commit);
    if vfs.remove(&commit).await.is_ok() {
        let _ = vfs.remove_dir(&draft_dir(&fragment.array, &fragment.name)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::blocking::block_on;
    use crate::format::schema::{ArrayType, Attribute, Dimension, Schema};
    use crate::scalar::ScalarRange;
    use crate::vfs::MemVfs;
    use crate::vfs::faulty::{Fault, FaultyVfs};
    use crate::{Array, CellCount, Column, Context, CreateOptions, Datatype, OpenOptions, WriteOptions};

    async fn array(context: &Context, path: &str) -> Array {
        let x = Dimension::new("x", Datatype::Int32, 0, 9, 5);
        let attributes = vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)];
        let schema = Schema::new(ArrayType::Dense, vec![x], attributes);
        let options = CreateOptions {
            timestamp_ms: 1,
            seed: [1; 32],
            key: None,
        };
        Array::create(context, path, &schema, &[], &options).await.unwrap();
        Array::open(context, path, &OpenOptions::default()).await.unwrap()
    }

    async fn sealed(array: &Array) -> SealedFragment {
        let options = WriteOptions {
            timestamp_ms: 2,
            seed: [2; 32],
            sync: false,
        };
        let part = [ScalarRange::new(0, 1)];
        let mut writer = array.box_writer(part.to_vec(), &options).await.unwrap();
        let cells = Column::from_values(Datatype::Int32, &[7, 8]);
        writer.push(&part, vec![("a".to_owned(), cells)]).await.unwrap();
        writer.seal().await.unwrap()
    }

    async fn fragments(context: &Context, path: &str) -> (usize, usize) {
        let array = Array::open(context, path, &OpenOptions::default()).await.unwrap();
        let folders = context.vfs.list(&join(path, "__fragments")).await.unwrap();
        (array.fragments().len(), folders.len())
    }

    /// Every call may fail, before or after its effect.
    #[test]
    fn all_fragments_become_visible_or_none() {
        let mut failed = 0;
        for (call, after_effect) in (0..4).flat_map(|call| [(call, false), (call, true)]) {
            let faulty = FaultyVfs::new(Arc::new(MemVfs::new()), Fault::default());
            let context = Context::new(Arc::new(faulty.clone()));
            let (done, left) = block_on(async {
                let mut all = Vec::new();
                for path in ["one", "two", "three"] {
                    all.push(sealed(&array(&context, path).await).await);
                }
                faulty.set(Fault {
                    at_call: Some(call),
                    after_effect,
                    ..Fault::default()
                });
                let done = commit_together(all).await;
                faulty.set(Fault::default());
                let mut left = Vec::new();
                for path in ["one", "two", "three"] {
                    left.push(fragments(&context, path).await);
                }
                (done, left)
            });
            failed += usize::from(done.is_err());
            let expected = if done.is_ok() { (1, 1) } else { (0, 0) };
            assert_eq!(left, [expected; 3], "call {call}, after its effect: {after_effect}");
        }
        assert_eq!(failed, 6, "each of three commits fails in two ways");
    }
}
