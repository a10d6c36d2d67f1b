//! The groups and datasets of a file.

use std::collections::HashSet;

use anyhow::{Context as _, Result, ensure};
use hdf5_reader::group::Group;
use hdf5_reader::{Attribute, Dataset, Hdf5File};

/// Groups within groups, before a file counts as damaged.
const DEPTH_MAX: usize = 64;
/// The most groups and datasets of a file.
const OBJECTS_MAX: usize = 1 << 18;

/// The groups and datasets of a file.
#[derive(Default)]
pub(super) struct Tree {
    /// The groups, each before the groups within it. The first is the root.
    pub(super) groups: Vec<Branch>,
    /// The datasets.
    pub(super) datasets: Vec<Node>,
    /// What was left out.
    pub(super) notes: Vec<String>,
}

/// A group.
pub(super) struct Branch {
    /// Its path, without a slash at the start.
    pub(super) path: String,
    pub(super) group: Group,
}

/// A dataset.
pub(super) struct Node {
    /// The path of its group.
    pub(super) group: String,
    pub(super) name: String,
    pub(super) dataset: Dataset,
    pub(super) attributes: Vec<Attribute>,
}

impl Node {
    /// Its path, without a slash at the start.
    pub(super) fn path(&self) -> String {
        joined(&self.group, &self.name)
    }

    /// The attribute of this name.
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }

    /// The text of an attribute.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.attribute(name)?.read_string().ok()
    }
}

fn joined(group: &str, name: &str) -> String {
    match group {
        "" => name.to_owned(),
        _ => format!("{group}/{name}"),
    }
}

impl Tree {
    /// Lists the whole file.
    pub(super) fn walk(file: &Hdf5File) -> Result<Self> {
        let mut tree = Self::default();
        let root = file.root_group().context("the root group is damaged")?;
        tree.group(root, String::new(), 0, &mut HashSet::new())?;
        Ok(tree)
    }

    fn group(&mut self, group: Group, path: String, depth: usize, seen: &mut HashSet<u64>) -> Result<()> {
        ensure!(depth <= DEPTH_MAX, "the groups of '{path}' are nested too deeply");
        if !seen.insert(group.address()) {
            self.notes.push(format!(
                "the group '{path}' is left out: it is a second name of another group"
            ));
            return Ok(());
        }
        let names = group.member_names();
        let (groups, datasets) = names.with_context(|| format!("the group '/{path}' is damaged"))?;
        self.groups.push(Branch {
            path: path.clone(),
            group: group.clone(),
        });
        for name in datasets {
            ensure!(
                self.groups.len() + self.datasets.len() < OBJECTS_MAX,
                "the file has more than {OBJECTS_MAX} groups and datasets"
            );
            let dataset = group.dataset(&name);
            let dataset = dataset.with_context(|| format!("the dataset '/{}' is damaged", joined(&path, &name)))?;
            self.datasets.push(Node {
                group: path.clone(),
                name,
                attributes: dataset.attributes(),
                dataset,
            });
        }
        for name in groups {
            let child = group.group(&name);
            let inner = joined(&path, &name);
            let child = child.with_context(|| format!("the group '/{inner}' is damaged"))?;
            self.group(child, inner, depth + 1, seen)?;
        }
        Ok(())
    }
}
