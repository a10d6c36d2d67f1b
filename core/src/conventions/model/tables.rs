//! The parts of the model that hold rows: tables, their columns and geometries, and embeddings.

use serde::Serialize;

use super::is_false;

/// A table: each cell of the array is a row.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Path of the array.
    pub path: String,
    /// Number of rows, if stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Names of the columns that identify a row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<String>,
    /// The columns: dimensions first.
    pub columns: Vec<Column>,
    /// Names of the columns with the coordinates of a point: x, y and perhaps z.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<String>,
    /// The column of geometries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geometry: Option<Geometry>,
    /// The unit of the coordinates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The coordinate reference system of points and geometries, as an index into [`Dataset::crs`](super::Dataset::crs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crs: Option<usize>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The datatype of the stored values.
    pub datatype: &'static str,
    /// The type that the application gives it, if it says more than the datatype: `category`, `bool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical: Option<String>,
    /// Whether it is a dimension of the array.
    #[serde(skip_serializing_if = "is_false")]
    pub dimension: bool,
    /// Whether cells may be null.
    #[serde(skip_serializing_if = "is_false")]
    pub nullable: bool,
    /// The enumeration whose values the stored integers index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enumeration: Option<String>,
    /// The unit of the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The bits of another field that hold the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<Bits>,
}

/// Bits of an integer field: `(field >> shift) & (2^width - 1)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bits {
    /// The field.
    pub of: String,
    /// The lowest bit.
    pub shift: u8,
    /// Number of bits.
    pub width: u8,
}

/// A column of geometries.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Geometry {
    /// The column, in well-known binary.
    pub column: String,
    /// The type of the geometries, such as `Polygon`; `None` if they differ or it is not stored.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What to widen a box by, along x, y and z, to find every geometry in it: a row's coordinates are the centre of its
    /// geometry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pad: Vec<f64>,
    /// Names of the columns with each geometry's box: all smallest values, then all largest.
    #[serde(rename = "box", skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<String>,
}

/// A matrix whose rows are positions in a space: a UMAP, principal components, vectors of a search index.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Embedding {
    /// Its name.
    pub name: String,
    /// Path of the array.
    pub path: String,
    /// The attribute of the array.
    pub attribute: String,
    /// The dimension that counts the rows.
    pub rows: String,
    /// The dimension that counts the components.
    pub components: String,
    /// Number of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_count: Option<u64>,
    /// Number of components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component_count: Option<u64>,
    /// Path of the table whose rows it places, by their key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Path of the array with the identifier of each row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<String>,
}
