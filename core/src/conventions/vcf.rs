//! Variant calls of TileDB-VCF: a sparse array over contig, position and sample.

use super::driver::Scope;
use super::members::resolve;
use super::model::{Application, Dataset};
use super::object::Object;
use super::{parts, value};

/// The tables of a dataset.
pub(super) fn variants(scope: &Scope<'_>, path: &str) -> Dataset {
    let mut dataset = Dataset {
        application: Application::Vcf,
        ..Dataset::default()
    };
    // `vcf_headers` was a member of the root before release 0.38.1.
    let places = ["data", "metadata/vcf_headers", "vcf_headers"].map(|p| (p, resolve(path, p).unwrap_or_default()));
    let found = places.map(|(name, at)| (name, scope.object(&at), at));
    for (name, object, at) in found {
        let Some(array) = object.and_then(Object::array) else {
            if name == "data" && scope.why_missing(&at).is_some() {
                scope.note_at(path, "there is no array 'data' in this variant dataset");
            }
            continue;
        };
        let name = at.rsplit('/').next().unwrap_or(name).to_owned();
        dataset.tables.push(parts::table(&name, &at, array));
        if name == "data" {
            dataset.version = array.object.shown("version");
            let gap = array.object.metadata.get("anchor_gap").and_then(value::shown);
            dataset.attributes.extend(gap.map(|g| ("anchor_gap".to_owned(), g)));
        }
    }
    let positions = "counted from 0; cells whose start_pos differs from real_start_pos repeat a long record";
    dataset.attributes.insert("positions".to_owned(), positions.into());
    dataset
}
