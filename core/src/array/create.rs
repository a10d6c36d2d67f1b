//! Creates an array: its folders, enumerations, labels and schema.

use futures_util::future;

use super::group::object_type;
use super::snapshot::Array;
use crate::context::Context;
use crate::error::{AtPath, Error, Result};
use crate::filter::{Key, Nonces};
use crate::format::commits::{COMMITS_DIR, FRAGMENTS_DIR};
use crate::format::dimension_label::DimensionLabel;
use crate::format::enumeration::Enumeration;
use crate::format::folders::{ENUMERATIONS_DIR, FRAGMENT_META_DIR, LABELS_DIR, META_DIR, ROOT_SCHEMA, SCHEMA_DIR};
use crate::format::name;
use crate::format::pipeline::Filter;
use crate::format::schema::{ArrayType, Attribute, Dimension, EnumerationRef, Schema};
use crate::format::{generic_tile, version::Version};
use crate::identity::Ids;
use crate::scalar::Scalar;
use crate::schema_json::value::cell_text;
use crate::vfs::{VfsExt, join, local_path, side_by_side, split};

/// The folders of an array, the same as libtiledb's. Object stores do not need them.
const FOLDERS: [&str; 7] = [
    SCHEMA_DIR,
    ENUMERATIONS_DIR,
    COMMITS_DIR,
    FRAGMENTS_DIR,
    FRAGMENT_META_DIR,
    META_DIR,
    LABELS_DIR,
];

/// Options for creating an array.
#[derive(Debug, Clone)]
pub struct CreateOptions {
    /// Creation time, in milliseconds since 1970. Readers see the array from this time on.
    pub timestamp_ms: u64,
    /// 32 random bytes, from which names and initialisation vectors are derived.
    pub seed: [u8; 32],
    /// Encrypts the array with this key.
    pub key: Option<Key>,
}

/// Refuses a path inside an array: readers of the array would not see what is there. Sends two requests for each parent
/// folder in the store; no request lists more than schemas.
///
/// # Errors
/// [`Error::InvalidArgument`] names the array.
pub async fn refuse_inside_array(context: &Context, path: &str) -> Result<()> {
    let above = std::iter::successors(Some(path).filter(|p| !p.is_empty()), |p| {
        Some(split(p).0).filter(|p| !p.is_empty())
    });
    let above: Vec<&str> = above.map(|p| split(p).0).collect();
    let looks = above
        .iter()
        .map(|dir| async move { Ok(holds_schema(context, dir).await) });
    let found = side_by_side(looks).await?;
    let Some((array, _)) = above.iter().zip(found).find(|(_, found)| *found) else {
        return Ok(());
    };
    let shown = |path: &str| {
        let full = context.vfs.location(path).unwrap_or_else(|| path.to_owned());
        local_path(&full).map_or_else(|| full.clone(), |path| path.display().to_string())
    };
    let array = match shown(array) {
        root if root.is_empty() => "at the root of the store".to_owned(),
        array => array,
    };
    Err(Error::invalid(format!(
        "cannot create {}: the path is inside the array {array}, where readers would not see it; choose a path outside",
        shown(path)
    )))
}

/// Whether a folder is known to hold an array's schema. A folder that cannot be read, for example without permission,
/// counts as one without a schema.
async fn holds_schema(context: &Context, dir: &str) -> bool {
    let vfs = &context.vfs;
    let schemas = join(dir, SCHEMA_DIR);
    let old = join(dir, ROOT_SCHEMA);
    let (schemas, old) = future::join(vfs.list(&schemas), vfs.size(&old)).await;
    schemas.is_ok_and(|schemas| !schemas.is_empty()) || old.is_ok()
}

impl Array {
    /// Creates an empty array at `path`.
    ///
    /// `enumerations` holds the values of every enumeration that the schema's attributes use. Their files get new names,
    /// which replace the references in the schema.
    ///
    /// ```
    /// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
    /// # use hyperslab::*;
    /// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
    /// # let context = Context::memory();
    ///
    /// use hyperslab::schema::{Filter, Pipeline};
    ///
    /// let y = Dimension::new("y", Datatype::Int32, 0, 999, 100);
    /// let x = Dimension::new("x", Datatype::Int32, 0, 999, 100);
    /// let mut height = Attribute::new("height", Datatype::Float32, CellCount::ONE);
    /// height.filters = Pipeline::new(vec![Filter::Byteshuffle, Filter::Zstd { level: 5 }]);
    /// let schema = Schema::new(ArrayType::Dense, vec![y, x], vec![height]);
    ///
    /// // Take the time from a clock, and the seed from a source of random numbers.
    /// let options = CreateOptions { timestamp_ms: 1_700_000_000_000, seed: [1; 32], key: None };
    /// Array::create(&context, "terrain", &schema, &[], &options).await?;
    /// assert!(Array::create(&context, "terrain", &schema, &[], &options).await.is_err());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] if `path` is an array or a group. [`Error::InvalidArgument`] if the schema is invalid, an
    /// enumeration is missing, or `path` is inside an array.
    pub async fn create(
        context: &Context,
        path: &str,
        schema: &Schema,
        enumerations: &[Enumeration],
        options: &CreateOptions,
    ) -> Result<()> {
        let mut ids = Ids::new(options.seed);
        let mut schema = completed(schema)?;
        let files = name_enumerations(&mut schema, enumerations, &mut ids)?;
        if object_type(context, path).await?.is_some() {
            return Err(Error::AlreadyExists { path: path.to_owned() });
        }
        refuse_inside_array(context, path).await?;
        for folder in FOLDERS {
            context.vfs.create_dir(&join(path, folder)).await?;
        }
        let key = options.key.as_ref();
        for enumeration in files {
            put_enumeration(context, path, &enumeration, key, &ids.nonces(key)).await?;
        }
        for label in schema.labels.iter().filter(|l| !l.external) {
            let label_path = join(path, &label.uri);
            for folder in FOLDERS {
                context.vfs.create_dir(&join(&label_path, folder)).await?;
            }
            let label_schema = label_schema(&schema, label)?;
            put_schema(context, &label_path, &label_schema, options.timestamp_ms, key, &mut ids).await?;
        }
        // Readers see the array once it has a schema, so the schema is written last.
        put_schema(context, path, &schema, options.timestamp_ms, key, &mut ids).await?;
        Ok(())
    }
}

/// Writes a schema file and returns its name.
pub(crate) async fn put_schema(
    context: &Context,
    path: &str,
    schema: &Schema,
    timestamp_ms: u64,
    key: Option<&Key>,
    ids: &mut Ids,
) -> Result<String> {
    let name = name::plain(timestamp_ms, timestamp_ms, ids.draw());
    let file = join(path, &join(SCHEMA_DIR, &name));
    let bytes = generic_tile::encode(&schema.encode(), key, &ids.nonces(key)).at(&file)?;
    context.put_visible(&file, bytes).await?;
    Ok(name)
}

/// Writes the file that an enumeration names.
pub(crate) async fn put_enumeration(
    context: &Context,
    path: &str,
    enumeration: &Enumeration,
    key: Option<&Key>,
    nonces: &Nonces,
) -> Result<()> {
    let file = join(path, &join(ENUMERATIONS_DIR, &enumeration.file));
    let bytes = generic_tile::encode(&enumeration.encode(), key, nonces).at(&file)?;
    context.put_visible(&file, bytes).await
}

/// Checks the schema and completes it for storage.
fn completed(schema: &Schema) -> Result<Schema> {
    let mut schema = schema.clone().completed()?;
    schema.version = Version::CURRENT;
    for (i, label) in schema.labels.iter_mut().enumerate().filter(|(_, l)| !l.external) {
        label.uri = format!("__labels/l{i}");
        label.relative = true;
        label.attribute = "label".into();
    }
    fill_image_extents(&mut schema);
    schema.check()?;
    Ok(schema)
}

/// Sets the size of WebP images to the size of tiles.
fn fill_image_extents(schema: &mut Schema) {
    let extent = |i: usize| {
        let extent = schema.dimensions.get(i).and_then(|d| d.extent.as_ref()?.as_i128());
        extent.and_then(|n| u16::try_from(n).ok())
    };
    let (Some(y), Some(x)) = (extent(0), extent(1)) else {
        return;
    };
    for filter in schema.attributes.iter_mut().flat_map(|a| &mut a.filters.filters) {
        if let Filter::Webp { y_extent, x_extent, .. } = filter {
            (*y_extent, *x_extent) = (y, x);
        }
    }
}

/// Checks that the values of an enumeration are distinct.
pub(crate) fn distinct(e: &Enumeration) -> Result<()> {
    let Some(i) = e.repeated() else { return Ok(()) };
    Err(Error::invalid(format!(
        "the enumeration '{}' has the value '{}' twice; leave out the repeated value",
        e.name,
        cell_text(e.values.cell(i), e.values.datatype, e.values.cell)
    )))
}

/// Checks that an attribute's datatype has an index for every value of its enumeration.
fn room_for(e: &Enumeration, attribute: &Attribute) -> Result<()> {
    let last = e.values.len().saturating_sub(1);
    if Scalar::from_i128(attribute.datatype, last as i128).is_some() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "attribute '{}' is {}, which has no room for the indices of the {} values of enumeration '{}'; use a larger \
         integer type, such as int32",
        attribute.name,
        attribute.datatype,
        e.values.len(),
        e.name
    )))
}

/// Assigns a file to every enumeration and lists them in the schema.
fn name_enumerations(schema: &mut Schema, enumerations: &[Enumeration], ids: &mut Ids) -> Result<Vec<Enumeration>> {
    let known = |name: &str| enumerations.iter().any(|e| e.name == name);
    let mut wanted = schema.attributes.iter().filter_map(|a| a.enumeration.as_deref());
    if let Some(name) = wanted.find(|n| !known(n)) {
        return Err(Error::invalid(format!(
            "an attribute uses the enumeration '{name}', but its values are missing"
        )));
    }
    schema.enumerations.clear();
    let mut out: Vec<Enumeration> = Vec::with_capacity(enumerations.len());
    for enumeration in enumerations {
        if out.iter().any(|e| e.name == enumeration.name) {
            return Err(Error::invalid(format!(
                "the enumeration '{}' is given twice",
                enumeration.name
            )));
        }
        distinct(enumeration)?;
        let users = schema
            .attributes
            .iter()
            .filter(|a| a.enumeration.as_ref() == Some(&enumeration.name));
        for attribute in users {
            room_for(enumeration, attribute)?;
        }
        let named = Enumeration {
            file: name::enumeration(ids.draw()),
            ..enumeration.clone()
        };
        schema.enumerations.push(EnumerationRef {
            name: named.name.clone(),
            file: named.file.clone(),
        });
        out.push(named);
    }
    Ok(out)
}

/// The schema of a label's array: one dimension like the labelled one, and one attribute.
fn label_schema(schema: &Schema, label: &DimensionLabel) -> Result<Schema> {
    let labelled = usize::try_from(label.dimension)
        .ok()
        .and_then(|d| schema.dimensions.get(d));
    let labelled = labelled.ok_or_else(|| {
        Error::invalid(format!(
            "the label '{}' is of dimension {}, which does not exist",
            label.name, label.dimension
        ))
    })?;
    let index = Dimension {
        name: "index".into(),
        filters: crate::format::pipeline::Pipeline::default(),
        ..labelled.clone()
    };
    let mut attribute = Attribute::new(&label.attribute, label.datatype, label.cell);
    attribute.order = label.order;
    Ok(Schema::new(ArrayType::Dense, vec![index], vec![attribute]))
}
