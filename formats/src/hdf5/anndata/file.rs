//! The groups and datasets of an AnnData file by path.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use hdf5_reader::{Attribute, Dataset, SliceInfo, SliceInfoElem};
use hyperslab::{CellCount, Column, Datatype};

use super::super::tree::{Branch, Node, Tree};
use super::super::types::{self, Layout};
use super::super::{check_filters, decode, elements, open_file};
use crate::Options;

/// A file.
pub(super) struct File {
    groups: HashMap<String, Branch>,
    datasets: HashMap<String, Node>,
    /// The names of the members of each group, in the order of the file.
    members: HashMap<String, Vec<String>>,
    notes: Vec<String>,
}

impl File {
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self> {
        let tree = Tree::walk(&open_file(path, options)?)?;
        let mut members: HashMap<String, Vec<String>> = HashMap::new();
        let datasets = tree.datasets.iter().map(Node::path);
        let paths = datasets.chain(tree.groups.iter().map(|g| g.path.clone()));
        for path in paths.filter(|p| !p.is_empty()) {
            let (group, name) = path.rsplit_once('/').unwrap_or(("", &path));
            members.entry(group.to_owned()).or_default().push(name.to_owned());
        }
        members.values_mut().for_each(|names| names.sort());
        Ok(Self {
            groups: tree.groups.into_iter().map(|g| (g.path.clone(), g)).collect(),
            datasets: tree.datasets.into_iter().map(|n| (n.path(), n)).collect(),
            members,
            notes: tree.notes,
        })
    }

    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(super) fn is_group(&self, path: &str) -> bool {
        self.groups.contains_key(path)
    }

    /// The names of the groups and datasets in a group, sorted.
    pub(super) fn members(&self, path: &str) -> Vec<String> {
        self.members.get(path).cloned().unwrap_or_default()
    }

    /// An attribute of a group or dataset.
    pub(super) fn attribute(&self, path: &str, name: &str) -> Option<Attribute> {
        match self.groups.get(path) {
            Some(group) => group.group.attribute(name).ok(),
            None => self.datasets.get(path)?.attribute(name).cloned(),
        }
    }

    /// The text of an attribute.
    pub(super) fn text(&self, path: &str, name: &str) -> Option<String> {
        self.attribute(path, name)?.read_string().ok()
    }

    /// The dataset at a path.
    pub(super) fn values(&self, path: &str) -> Option<Values> {
        let node = self.datasets.get(path)?;
        let dataset = Box::new(node.dataset.clone());
        let layout = types::layout(&dataset).ok()?;
        let [part] = layout.parts.as_slice() else {
            return None;
        };
        let (datatype, cell) = part.kind.stored();
        Some(Values {
            dataset,
            datatype,
            cell,
            layout,
        })
    }

    /// The dataset at a path that must be there, with this many axes.
    pub(super) fn required(&self, path: &str, axes: usize) -> Result<Values> {
        let values = self
            .values(path)
            .with_context(|| format!("there is no dataset '{path}' of a known type"))?;
        let found = values.shape().len();
        ensure!(found == axes, "the dataset '{path}' has {found} axes instead of {axes}");
        check_filters(&values.dataset, &values.layout).with_context(|| format!("cannot read '{path}'"))?;
        Ok(values)
    }
}

/// A dataset with one value, or one text, in each element.
pub(super) struct Values {
    dataset: Box<Dataset>,
    layout: Layout,
    pub(super) datatype: Datatype,
    pub(super) cell: CellCount,
}

impl Values {
    pub(super) fn shape(&self) -> &[u64] {
        self.dataset.shape()
    }

    /// The length of the first axis.
    pub(super) fn length(&self) -> u64 {
        self.shape().first().copied().unwrap_or(1)
    }

    /// The elements of a box, in row-major order.
    pub(super) fn read(&self, ranges: &[Range<u64>]) -> Result<Column> {
        let cells: u64 = ranges.iter().map(|r| r.end.saturating_sub(r.start)).product();
        if cells == 0 {
            return Ok(Column::empty(self.datatype, self.cell, false));
        }
        let selections = ranges.iter().map(|r| SliceInfoElem::Slice {
            start: r.start,
            end: r.end,
            step: 1,
        });
        let selection = SliceInfo {
            selections: selections.collect(),
        };
        let bytes = elements::read(&self.dataset, &selection, &self.layout)?;
        let columns = decode::owned(&self.dataset, &self.layout, bytes, usize::try_from(cells)?)?;
        columns.into_iter().next().context("a dataset has no values")
    }

    /// Whole numbers of any type, of a dataset with one axis.
    pub(super) fn integers(&self, range: Range<u64>) -> Result<Vec<i64>> {
        integers(&self.read(&[range])?)
    }
}

/// The whole numbers of a column.
pub(super) fn integers(column: &Column) -> Result<Vec<i64>> {
    let datatype = column.datatype;
    ensure!(
        datatype.is_integer() || datatype == Datatype::Bool,
        "values of the type {datatype} are no whole numbers"
    );
    let number = |bytes: &[u8]| {
        let scalar = hyperslab::Scalar::from_le_bytes(datatype.physical(), bytes);
        let number = scalar.and_then(|s| s.as_i128()).and_then(|n| i64::try_from(n).ok());
        number.context("a whole number is too large")
    };
    column.data.chunks_exact(datatype.size()).map(number).collect()
}
