//! Indexes of TileDB-Vector-Search: vectors in the order of their partitions, with their identifiers.

use super::driver::Scope;
use super::members::resolve;
use super::model::{Application, Dataset, Embedding};
use super::object::{Array, Object};
use super::parts;

/// Metadata that people ask for. The rest is bookkeeping or code.
const SHOWN: [&str; 5] = ["index_type", "dtype", "dimensions", "distance_metric", "has_updates"];

/// The vectors of an index.
pub(super) fn index(scope: &Scope<'_>, path: &str, group: &Object) -> Dataset {
    let facts = SHOWN
        .iter()
        .filter_map(|&k| Some((k.to_owned(), super::value::shown(group.metadata.get(k)?)?)));
    let mut dataset = Dataset {
        application: Application::VectorSearch,
        version: group.shown("storage_version"),
        attributes: facts.collect(),
        ..Dataset::default()
    };
    let sizes = group.json("base_sizes");
    let count = sizes.as_ref().and_then(|s| s.as_array()?.last()?.as_u64());
    let at = |name: &str| resolve(path, name).unwrap_or_default();
    let (vectors, ids) = (at("shuffled_vectors"), at("shuffled_vector_ids"));
    let (found, ids_found) = (scope.object(&vectors), scope.object(&ids));
    match found.and_then(Object::array) {
        Some(array) => dataset
            .embeddings
            .push(embedding(vectors, ids_found.map(|_| ids), array, count)),
        None if scope.why_missing(&vectors).is_some() => {
            scope.note_at(
                path,
                "there is no array 'shuffled_vectors'; indexes before version 0.3 are not described",
            );
        }
        None => {}
    }
    dataset
}

fn embedding(path: String, ids: Option<String>, array: Array<'_>, count: Option<u64>) -> Embedding {
    let axes = parts::axes(array);
    let length = |name: &str| axes.iter().find(|a| a.dimension == name).and_then(|a| a.length);
    // Vectors are columns: `rows` counts their components.
    Embedding {
        name: "vectors".to_owned(),
        path,
        attribute: array
            .schema
            .attributes
            .first()
            .map(|a| a.name.clone())
            .unwrap_or_default(),
        rows: "cols".to_owned(),
        components: "rows".to_owned(),
        row_count: count.or_else(|| length("cols")),
        component_count: length("rows"),
        table: None,
        ids,
    }
}
