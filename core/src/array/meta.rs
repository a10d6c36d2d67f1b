//! The metadata and enumerations of an array.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use super::fetch::read_generic;
use super::snapshot::Array;
use crate::context::Context;
use crate::error::{AtPath, Error, Result};
use crate::filter::Key;
use crate::format::enumeration::Enumeration;
use crate::format::field::Field;
use crate::format::metadata::{self, MetaValue};
use crate::suggest;
use crate::vfs::{join, side_by_side};

impl Array {
    /// The metadata of the array, by key.
    ///
    /// ```
    /// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
    /// # use hyperslab::*;
    /// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
    /// # let context = Context::memory();
    /// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
    /// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
    /// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
    /// # Array::create(&context, "line", &schema, &[], &options).await?;
    /// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
    /// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
    /// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
    /// use hyperslab::metadata::{Entry, MetaValue};
    ///
    /// let entry = Entry { key: "units".into(), value: Some(MetaValue::text("kelvin")) };
    /// array.write_metadata(&[entry], &at(10)).await?;
    /// let metadata = array.at(Window::ALL).await?.metadata().await?;
    /// assert_eq!(metadata["units"].data, b"kelvin");
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Key`] and [`Error::Io`] name the file.
    pub async fn metadata(&self) -> Result<BTreeMap<String, MetaValue>> {
        let files: Vec<String> = self.0.metadata_files.iter().map(|f| join(self.path(), f)).collect();
        load_metadata(self.context(), &files, self.key()).await
    }

    /// The enumeration with this name, or the enumeration of the attribute with this name. Its values are those in this
    /// array's schema.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the schema has neither; [`Error::Corrupt`], [`Error::Key`]
    /// and [`Error::Io`] name the file.
    pub async fn enumeration(&self, name: &str) -> Result<Arc<Enumeration>> {
        let all = &self.schema().enumerations;
        let named = |name: &str| all.iter().find(|e| e.name == name);
        let of_attribute = || self.schema().attribute(name)?.1.enumeration.as_deref();
        let Some(reference) = named(name).or_else(|| named(of_attribute()?)) else {
            let known: Vec<&str> = all.iter().map(|e| e.name.as_str()).collect();
            return Err(Error::not_found(
                self.path(),
                suggest::unknown("enumeration", name, &known),
            ));
        };
        let name = &reference.name;
        let loaded = || self.0.enumerations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = loaded().get(name) {
            return Ok(Arc::clone(found));
        }
        let enumeration = Arc::new(self.load_enumeration(&reference.file).await?);
        loaded().insert(name.to_owned(), Arc::clone(&enumeration));
        Ok(enumeration)
    }

    /// The fields with these names, with the values of their enumerations in this snapshot.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a name does not exist or is listed twice. Same as [`Array::enumeration`].
    pub async fn fields(&self, names: &[String]) -> Result<Vec<Field>> {
        let mut fields = Field::resolve(self.schema(), Some(names))?;
        for field in &mut fields {
            let attribute = field.attribute_index().and_then(|i| self.schema().attributes.get(i));
            if let Some(name) = attribute.and_then(|a| a.enumeration.as_ref()) {
                field.enumeration = Some(self.enumeration(name).await?);
            }
        }
        Ok(fields)
    }

    /// Reads the enumeration in this file, which may belong to any schema of the array.
    pub(crate) async fn load_enumeration(&self, file: &str) -> Result<Enumeration> {
        let path = join(&join(self.path(), "__schema/__enumerations"), file);
        let payload = read_generic(self.context(), &path, self.key()).await?;
        Enumeration::decode(&payload).at(&path)
    }
}

/// Reads the metadata in these files, oldest first. Newer values replace older ones.
pub(crate) async fn load_metadata(
    context: &Context,
    files: &[String],
    key: Option<&Key>,
) -> Result<BTreeMap<String, MetaValue>> {
    let entries = load_entries(context, files, key).await?.into_iter();
    Ok(entries.filter_map(|(key, value)| Some((key, value?))).collect())
}

/// Like [`load_metadata`], but keeps deleted keys, with the value `None`.
pub(crate) async fn load_entries(
    context: &Context,
    files: &[String],
    key: Option<&Key>,
) -> Result<BTreeMap<String, Option<MetaValue>>> {
    let payloads = side_by_side(files.iter().map(|f| read_generic(context, f, key))).await?;
    let mut out = BTreeMap::new();
    for (path, payload) in files.iter().zip(payloads) {
        let entries = metadata::decode(&payload).at(path)?;
        out.extend(entries.into_iter().map(|e| (e.key, e.value)));
    }
    Ok(out)
}
