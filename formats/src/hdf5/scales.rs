//! The axes of datasets: dimension scales, as NetCDF-4 and h5py attach them.

use std::collections::HashMap;

use hdf5_reader::Datatype;
use hdf5_reader::reference::resolve_object_reference;

use super::tree::{Node, Tree};
use crate::cf::Axis;

/// The start of the attribute `NAME` of a dimension that has no variable.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";
/// The start of the name of a variable that is called like a dimension of its group, but is not its coordinate.
const NO_COORDINATE: &str = "_nc4_non_coord_";

/// The name of the variable that a dataset holds.
pub(super) fn name(dataset: &str) -> &str {
    dataset.strip_prefix(NO_COORDINATE).unwrap_or(dataset)
}

/// The dimension scales of a file.
pub(super) struct Scales {
    /// By the address of their dataset.
    by_address: HashMap<u64, Axis>,
    /// By the number that NetCDF-4 gives a dimension.
    by_id: HashMap<i64, Axis>,
    /// Whether NetCDF wrote the file.
    netcdf: bool,
}

impl Scales {
    pub(super) fn of(tree: &Tree) -> Self {
        let root = tree.groups.first();
        let mut scales = Self {
            by_address: HashMap::new(),
            by_id: HashMap::new(),
            netcdf: root.is_some_and(|r| r.group.attribute("_NCProperties").is_ok()),
        };
        for node in tree.datasets.iter().filter(|n| is_scale(n)) {
            let axis = Axis {
                name: node.name.clone(),
                length: node.dataset.shape().first().copied().unwrap_or(1),
                unlimited: is_unlimited(node, 0),
            };
            scales.netcdf |= is_without_variable(node);
            if let Some(id) = integers(node, "_Netcdf4Dimid").first() {
                scales.by_id.insert(*id, axis.clone());
                scales.netcdf = true;
            }
            scales.by_address.insert(node.dataset.address(), axis);
        }
        scales
    }

    /// Whether a dataset only stands for a dimension.
    pub(super) fn is_only_a_dimension(&self, node: &Node) -> bool {
        is_scale(node) && is_without_variable(node)
    }

    /// Whether NetCDF wrote the file.
    pub(super) fn is_netcdf(&self) -> bool {
        self.netcdf
    }

    /// The axes of a dataset. Axes without a scale have the name of their label, or are called `dim_0`, `dim_1`, ….
    pub(super) fn axes(&self, node: &Node) -> Vec<Axis> {
        let attached = self.attached(node);
        let labels = node.attribute("DIMENSION_LABELS").and_then(|a| a.read_strings().ok());
        let axis = |(n, length): (usize, &u64)| {
            let label = || labels.as_ref()?.get(n).filter(|l| !l.is_empty()).cloned();
            match attached.get(n).copied().flatten() {
                // A shorter dataset of an unlimited axis holds fill values up to its end.
                Some(scale) => Axis {
                    name: scale.name.clone(),
                    length: if is_unlimited(node, n) {
                        scale.length.max(*length)
                    } else {
                        *length
                    },
                    unlimited: scale.unlimited || is_unlimited(node, n),
                },
                None => Axis {
                    name: label().unwrap_or_else(|| format!("dim_{n}")),
                    length: *length,
                    unlimited: is_unlimited(node, n),
                },
            }
        };
        node.dataset.shape().iter().enumerate().map(axis).collect()
    }

    /// The scale of each axis, if it has one.
    fn attached(&self, node: &Node) -> Vec<Option<&Axis>> {
        if let Some(lists) = lists(node) {
            return lists
                .iter()
                .map(|address| self.by_address.get(address.as_ref()?))
                .collect();
        }
        let ids = integers(node, "_Netcdf4Coordinates");
        if !ids.is_empty() {
            return ids.iter().map(|id| self.by_id.get(id)).collect();
        }
        // A scale is its own coordinate.
        vec![self.by_address.get(&node.dataset.address())]
    }
}

fn is_without_variable(node: &Node) -> bool {
    node.text("NAME").is_some_and(|name| name.starts_with(NO_VARIABLE))
}

fn is_scale(node: &Node) -> bool {
    node.text("CLASS").is_some_and(|class| class == "DIMENSION_SCALE")
}

fn is_unlimited(node: &Node, axis: usize) -> bool {
    let most = node.dataset.max_dims().and_then(|m| m.get(axis));
    most == Some(&u64::MAX) && node.dataset.chunks().is_some()
}

/// The first scale of each axis, by address.
fn lists(node: &Node) -> Option<Vec<Option<u64>>> {
    let list = node.attribute("DIMENSION_LIST")?;
    let width = node.dataset.vlen_reference_size();
    let Datatype::VarLen { base, .. } = &list.datatype else {
        return None;
    };
    let Datatype::Reference { size, .. } = base.as_ref() else {
        return None;
    };
    let first = |reference: &[u8]| {
        let bytes = node
            .dataset
            .resolve_vlen_reference_bytes(reference, usize::from(*size))
            .ok()?;
        resolve_object_reference(&bytes, *size).ok()
    };
    Some(list.raw_data.chunks_exact(width).map(first).collect())
}

fn integers(node: &Node, name: &str) -> Vec<i64> {
    let values = node.attribute(name).and_then(|a| a.read_1d::<i32>().ok());
    values.unwrap_or_default().into_iter().map(i64::from).collect()
}
