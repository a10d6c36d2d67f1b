//! Writes files that exceed the memory budget: gathers their cells in a temporary array with the same schema, and copies
//! its only fragment into the array.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use hyperslab::internals::format::folders::{ROOT_SCHEMA, SCHEMA_DIR};
use hyperslab::vfs::{self, VfsExt, join};
use hyperslab::{Array, Error, Window, WriteOptions};

use super::{Target, all_fields, write_table};
use crate::batches::{Batched, BoxCells, Budget};
use crate::cells::{check_sparse, has_coordinates, target_box, values_axis};
use crate::input::Stream;
use crate::leftovers;
use crate::signals::{Pending, temporary_path};
use crate::store::{Env, Place, seed};

/// Writes all cells as one fragment, and returns its name.
pub(crate) async fn write(
    env: &Env,
    array: &Array,
    stream: &Stream,
    target: Target<'_>,
    timestamp_ms: u64,
    budget: Budget,
) -> Result<String> {
    let schema = array.schema();
    let filled = if schema.is_dense() {
        let fields = all_fields(array).await?;
        let (dimensions, attributes) = fields.split_at(schema.dimensions.len().min(fields.len()));
        if matches!(target, Target::Points) || has_coordinates(&stream.names()?, dimensions)? {
            // The cells may come in any order, so all are held at once.
            budget.check_whole(
                stream.bytes,
                "a write of coordinates to a dense array",
                "write the file in parts",
            )?;
            return write_table(array, stream.table()?, target, timestamp_ms, 0).await;
        }
        let mut shape = stream.grid().map(|grid| grid.shape().clone());
        let values = shape
            .as_ref()
            .and_then(|s| values_axis(s, attributes, dimensions.len()));
        if let (Some(shape), Some(_)) = (&mut shape, values) {
            shape.lengths.pop();
        }
        let values = values.map(u64::from);
        let cells = stream.rows / values.unwrap_or(1);
        let (region, shape) = target_box(schema, target, shape.as_ref(), cells)?;
        Some(BoxCells { region, shape, values })
    } else {
        check_sparse(target)?;
        None
    };
    let gathered = Gathered::new(array).await?;
    let batched = Batched {
        env,
        place: &gathered.place,
        timestamp_ms,
        budget,
    };
    batched.write(stream, &|_| true, filled.as_ref()).await?;
    let other = env.open_at(&budget.within(&gathered.place), Window::ALL).await?;
    let options = WriteOptions {
        timestamp_ms,
        seed: seed()?,
        sync: true,
    };
    if other.fragments().len() > 1 {
        return Err(anyhow!(
            "--memory does not suffice to merge the {} batches of the file; raise it, or write the file in parts",
            other.fragments().len()
        ));
    }
    Ok(array.adopt(&other, &options).await?)
}

/// A temporary array, which is removed in the end.
struct Gathered {
    place: Place,
    _folder: Pending,
}

impl Gathered {
    /// An empty array with the schema files of `array`: next to it if it is on the local disk, else in the system's
    /// temporary folder.
    async fn new(array: &Array) -> Result<Self> {
        let vfs = &array.context().vfs;
        let location = vfs.location(array.path());
        let own = location.as_deref().and_then(vfs::local_path).map(Path::to_owned);
        let neighbour = own.unwrap_or_else(|| std::env::temp_dir().join("array"));
        let folder = made(&neighbour)?;
        let place = Place::new(&folder.path().to_string_lossy())?;
        let schemas = vfs::walk(&**vfs, &join(array.path(), SCHEMA_DIR), |_| false).await?;
        let schemas = schemas.iter().filter(|f| f.size.is_some());
        let mut files: Vec<String> = schemas.map(|f| join(SCHEMA_DIR, &f.path)).collect();
        files.push(ROOT_SCHEMA.to_owned());
        for file in files {
            let bytes: Bytes = match vfs.read_all(&join(array.path(), &file)).await {
                // Arrays have one or the other.
                Err(Error::NotFound { .. }) if file == ROOT_SCHEMA => continue,
                read => read?,
            };
            place.context.vfs.put(&join(&place.path, &file), vec![bytes]).await?;
        }
        Ok(Self { place, _folder: folder })
    }
}

/// Makes a temporary folder next to `array`.
fn made(array: &Path) -> Result<Pending> {
    let array = std::path::absolute(array)?;
    if let Some(folder) = array.parent() {
        leftovers::remove(folder);
    }
    let mut folder = Pending::new(temporary_path(&array)?);
    std::fs::create_dir(folder.path()).with_context(|| {
        format!(
            "the file exceeds --memory, so its cells are gathered in a temporary folder, but {} cannot be created; raise \
             --memory, or write the file in parts",
            folder.path().display()
        )
    })?;
    folder.hold();
    Ok(folder)
}
