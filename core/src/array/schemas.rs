//! The schemas of an array: a single file in old formats, otherwise one file per schema version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::fetch::{list, read_generic};
use super::index::inconsistent;
use super::snapshot::{Array, Snapshot};
use super::window::Window;
use crate::context::Context;
use crate::cpu::Cpu;
use crate::error::{AtPath, Result};
use crate::filter::Key;
use crate::format::folders::{ROOT_SCHEMA, SCHEMA_DIR};
use crate::format::schema::Schema;
use crate::geometry::same_space;
use crate::vfs::{join, last_part, side_by_side};

/// The most fragments whose footers are decoded on the calling thread. More are decoded in parallel.
const FRAGMENTS_AT_ONCE: usize = 8;

/// The schemas of an array's fragments, by file name.
pub(super) struct Schemas<'a> {
    context: &'a Context,
    array: &'a str,
    key: Option<&'a Key>,
    latest: &'a Arc<Schema>,
    known: BTreeMap<String, Arc<Schema>>,
}

impl<'a> Schemas<'a> {
    /// The schemas of the array at `array`. Only the latest is loaded, with its name.
    pub(super) fn new(
        context: &'a Context,
        array: &'a str,
        key: Option<&'a Key>,
        (name, latest): (&str, &'a Arc<Schema>),
    ) -> Self {
        Self {
            context,
            array,
            key,
            latest,
            known: BTreeMap::from([(name.to_owned(), Arc::clone(latest))]),
        }
    }

    /// Path of the array.
    pub(super) const fn array(&self) -> &'a str {
        self.array
    }

    /// The threads to decode the metadata of this number of fragments with.
    pub(super) const fn cpu_for(&self, fragments: usize) -> Cpu {
        if fragments > FRAGMENTS_AT_ONCE {
            self.context.cpu
        } else {
            Cpu::Inline
        }
    }

    /// The loaded schema with this name. For other names, the latest schema of the array.
    pub(super) fn get(&self, name: &str) -> &Arc<Schema> {
        self.known.get(name).unwrap_or(self.latest)
    }

    /// Loads the schemas `names` that are not loaded yet.
    ///
    /// # Errors
    /// A schema is missing or damaged, or has the dimensions of another array.
    pub(super) async fn load(&mut self, names: impl IntoIterator<Item = &str>) -> Result<()> {
        let new = names.into_iter().filter(|name| !self.known.contains_key(*name));
        let load = |name: &str| {
            let name = name.to_owned();
            async {
                let schema = load_schema(self.context, self.array, &name, self.key).await?;
                if !same_space(&schema, self.latest) {
                    let why = "its dimensions differ from the array's latest schema, and schema evolution never changes dimensions; remove the schema that belongs to another array";
                    return Err(inconsistent(&join(self.array, &schema_path(&name)), why));
                }
                Ok((name, schema))
            }
        };
        let loaded = side_by_side(new.map(load)).await?;
        self.known.extend(loaded);
        Ok(())
    }
}

impl Array {
    /// The same fragments with the schema at this time, if the time is after the window. New fragments must have the
    /// latest schema, even if the window ends earlier.
    ///
    /// # Errors
    /// Same as [`Array::open`].
    pub(crate) async fn with_schema_of(&self, time_ms: u64) -> Result<Self> {
        let own = &self.0;
        if time_ms <= own.options.window.end_ms {
            return Ok(self.clone());
        }
        let latest = list(&own.context, &own.path).await?.schema_at(Window::at(time_ms));
        let name = latest.as_deref().map_or(own.schema_name.as_str(), last_part);
        if name == own.schema_name {
            return Ok(self.clone());
        }
        Ok(Self(Arc::new(Snapshot {
            context: own.context.clone(),
            path: own.path.clone(),
            options: own.options.clone(),
            schema: load_schema(&own.context, &own.path, name, own.options.key.as_ref()).await?,
            schema_name: name.to_owned(),
            oldest_schema: own.oldest_schema.clone(),
            fragments: own.fragments.clone(),
            deletes: own.deletes.clone(),
            metadata_files: own.metadata_files.clone(),
            enumerations: Mutex::default(),
            axis_values: Mutex::default(),
            fingerprint: OnceLock::new(),
        })))
    }
}

/// Reads the schema with this name: a file in `__schema`, or the single schema file of old formats.
pub(crate) async fn load_schema(context: &Context, array: &str, name: &str, key: Option<&Key>) -> Result<Arc<Schema>> {
    let path = join(array, &schema_path(name));
    let payload = read_generic(context, &path, key).await?;
    Ok(Arc::new(Schema::decode(&payload).at(&path)?))
}

/// Path of the schema file with this name, relative to the array.
pub(super) fn schema_path(name: &str) -> String {
    if name == ROOT_SCHEMA {
        name.to_owned()
    } else {
        join(SCHEMA_DIR, name)
    }
}
