//! Creating an array: its folders, its enumerations, its labels, its schema.

use crate::context::Context;
use crate::error::Result;
use crate::filter::Key;
use crate::format::enumeration::Enumeration;
use crate::format::schema::Schema;

/// What creating an array needs beside its schema.
#[derive(Debug, Clone)]
pub struct CreateOptions {
    /// The time of creation, in milliseconds since 1970: the array exists for readers from then on.
    pub timestamp_ms: u64,
    /// 32 random bytes: names and initialisation vectors derive from them.
    pub seed: [u8; 32],
    /// Encrypts the array with this key.
    pub key: Option<Key>,
}

/// Creates an empty array at `path`.
///
/// `enumerations` are the values of every enumeration that the schema's attributes name.
///
/// # Errors
/// [`crate::Error::AlreadyExists`] if there is an array or a group; [`crate::Error::InvalidArgument`]
/// if the schema is not legal or an enumeration is missing.
pub async fn create(
    context: &Context,
    path: &str,
    schema: &Schema,
    enumerations: &[Enumeration],
    options: &CreateOptions,
) -> Result<()> {
    let _ = (context, path, schema, enumerations, options);
    unimplemented!()
}
