//! Finds out which application wrote an object. The first match wins.

use super::driver::Scope;
use super::members::{Found, members};
use super::model::{Application, Dataset, Role};
use super::object::{Array, Object};
use super::parts::has_float_dimensions;
use super::{
    bare, bioimg, cf, gdal_multidim, gdal_raster, gdal_vector, overviews, pandas, pdal, soma, vcf, vector_search,
};

/// The deepest group that is looked at.
const DEPTH_MAX: usize = 12;

/// The dataset at the path of the description.
pub(super) fn dataset(scope: &Scope<'_>) -> Option<Dataset> {
    if let Some(object) = scope.object("") {
        return Some(at(scope, "", "", object));
    }
    if let Some(why) = scope.why_missing("") {
        scope.note(why);
    }
    None
}

/// The dataset of the object at `path`, which its group calls `name`.
pub(super) fn at(scope: &Scope<'_>, path: &str, name: &str, object: &Object) -> Dataset {
    let mut dataset = match object.array() {
        Some(array) => of_array(scope, path, name, array),
        None if is_too_deep(path) => {
            scope.note_at(path, "groups this deep are not described");
            Dataset::default()
        }
        None => of_group(scope, path, object),
    };
    finish(&mut dataset, path, name);
    dataset
}

/// Whether a group is nested too deeply to be looked at.
pub(super) fn is_too_deep(path: &str) -> bool {
    path.split('/').count() > DEPTH_MAX
}

/// Names a dataset, and fills in what follows from its coordinates.
pub(super) fn finish(dataset: &mut Dataset, path: &str, name: &str) {
    name.clone_into(&mut dataset.name);
    path.clone_into(&mut dataset.path);
    for axis in dataset
        .variables
        .iter_mut()
        .flat_map(|v| &mut v.axes)
        .filter(|a| a.role == Role::Y)
    {
        axis.down |= axis.coordinates.fall();
    }
}

fn of_array(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>) -> Dataset {
    let mut dataset = match application_of_array(array) {
        Application::Soma => soma::array(scope, path, name, array),
        Application::GdalRaster => gdal_raster::array(scope, path, array),
        Application::GdalVector => gdal_vector::layer(scope, path, name, array),
        Application::Pdal => pdal::points(scope, path, name, array),
        Application::Pandas => pandas::frame(scope, path, name, array),
        Application::Cf => cf::array(scope, path, name, array),
        Application::GdalMultidim => gdal_multidim::array(scope, path, array),
        _ => bare::array(scope, path, name, array),
    };
    overviews::add(scope, path, array, &mut dataset);
    dataset
}

/// The application that wrote an array.
pub(super) fn application_of_array(array: Array<'_>) -> Application {
    let object = array.object;
    let kind = object.text("dataset_type");
    let is_kind = |name: &str| kind.as_deref() == Some(name);
    let sparse = !array.schema.is_dense();
    if object.has("soma_object_type") {
        Application::Soma
    } else if !sparse && (object.has("_gdal") || is_kind("raster")) {
        Application::GdalRaster
    } else if sparse
        && (is_kind("geometry") || object.has("GEOMETRY_ATTRIBUTE_NAME") || has_float_dimensions(array, &["_X", "_Y"]))
    {
        Application::GdalVector
    } else if sparse && (is_kind("pointcloud") || object.has("_pdal") || has_float_dimensions(array, &["X", "Y"])) {
        Application::Pdal
    } else if object.has("__pandas_index_dims") || object.has("__pandas_attribute_repr") {
        Application::Pandas
    } else if cf::is_variable(array) {
        Application::Cf
    } else if !sparse && (!array.schema.labels.is_empty() || object.has("_CRS") || object.has("_UNIT")) {
        Application::GdalMultidim
    } else {
        Application::Bare
    }
}

fn of_group(scope: &Scope<'_>, path: &str, group: &Object) -> Dataset {
    if group.has("soma_object_type") {
        return soma::group(scope, path, group);
    }
    match group.text("dataset_type").as_deref() {
        Some("bioimg" | "BIOIMG") => return bioimg::image(scope, path, group),
        Some("vcf") => return vcf::variants(scope, path),
        Some("vector_search") => return vector_search::index(scope, path, group),
        Some("raster") => return gdal_raster::group(scope, path, group),
        _ => {}
    }
    let found = members(scope, path, group);
    if is_cf_group(group, &found) {
        cf::group(scope, path, group, &found)
    } else if any(&found, Application::GdalMultidim) {
        gdal_multidim::group(scope, path, group, &found)
    } else if any(&found, Application::GdalVector) {
        gdal_vector::group(scope, path, group, &found)
    } else {
        bare::group(scope, path, group, &found)
    }
}

/// Whether a group without a marker of its own holds variables of NetCDF.
pub(super) fn is_cf_group(group: &Object, found: &[Found<'_>]) -> bool {
    group.is_group() && (cf::is_named(group) || any(found, Application::Cf))
}

fn any(found: &[Found<'_>], application: Application) -> bool {
    let mut kinds = found.iter().filter_map(|f| f.object.array()).map(application_of_array);
    kinds.any(|kind| kind == application)
}

/// The datasets of these members. Notes those that the group does not list.
pub(super) fn children<'f, 'a: 'f>(
    scope: &Scope<'a>,
    path: &str,
    found: impl IntoIterator<Item = &'f Found<'a>>,
) -> Vec<Dataset> {
    let mut all = Vec::new();
    for child in found {
        if !child.listed {
            scope.note_at(
                path,
                &format!("'{}' is in the folder of the group, which does not list it", child.name),
            );
        }
        all.push(at(scope, &child.path, &child.name, child.object));
    }
    all
}

/// Notes a member that the group does not list.
pub(super) fn note_unlisted(scope: &Scope<'_>, path: &str, child: &Found<'_>) {
    if !child.listed {
        scope.note_at(
            path,
            &format!("'{}' is in the folder of the group, which does not list it", child.name),
        );
    }
}
