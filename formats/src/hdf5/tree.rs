//! The groups and datasets of a file.

use std::collections::HashSet;

use anyhow::{Context as _, Result, ensure};
use hdf5_reader::error::Error;
use hdf5_reader::group::Group;
use hdf5_reader::messages::link::LinkTarget;
use hdf5_reader::{Attribute, Dataset, Hdf5File};

use super::links;

/// Groups within groups, before a file counts as damaged.
const DEPTH_MAX: usize = 64;
/// The most groups and datasets of a file.
const OBJECTS_MAX: usize = 1 << 18;
/// The layout of virtual datasets.
const VIRTUAL: u8 = 3;

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

/// What a link leads to.
enum Member {
    Group(Group),
    Dataset(Box<Dataset>),
    /// A named type.
    Other,
    /// Nothing in this file.
    Nothing,
}

impl Tree {
    /// Lists the whole file.
    pub(super) fn walk(file: &Hdf5File) -> Result<Self> {
        let mut tree = Self::default();
        let root = file.root_group().context("the root group is damaged")?;
        tree.group(file, root, String::new(), 0, &mut HashSet::new())?;
        Ok(tree)
    }

    fn group(
        &mut self,
        file: &Hdf5File,
        group: Group,
        path: String,
        depth: usize,
        seen: &mut HashSet<u64>,
    ) -> Result<()> {
        ensure!(depth <= DEPTH_MAX, "the groups of '{path}' are nested too deeply");
        if !seen.insert(group.address()) {
            self.notes.push(format!(
                "the group '{path}' is left out: it is a second name of another group"
            ));
            return Ok(());
        }
        let links = links::of(file, &group).with_context(|| format!("the group '/{path}' is damaged"))?;
        self.groups.push(Branch {
            path: path.clone(),
            group: group.clone(),
        });
        let mut groups = Vec::new();
        for link in links {
            ensure!(
                self.groups.len() + self.datasets.len() < OBJECTS_MAX,
                "the file has more than {OBJECTS_MAX} groups and datasets"
            );
            let inner = joined(&path, &link.name);
            match member(&group, &link.name) {
                Ok(Member::Group(child)) => groups.push((child, inner)),
                Ok(Member::Dataset(dataset)) => self.datasets.push(Node {
                    group: path.clone(),
                    name: link.name,
                    attributes: dataset.attributes(),
                    dataset: *dataset,
                }),
                Ok(Member::Other) => {}
                Ok(Member::Nothing) => self.notes.extend(missing(&inner, &link.target)),
                Err(why) => {
                    let Some(note) = unsupported(&why) else {
                        return Err(why).with_context(|| format!("the object '/{inner}' is damaged"));
                    };
                    self.notes.push(format!("'{inner}' is left out: {note}"));
                }
            }
        }
        for (child, inner) in groups {
            self.group(file, child, inner, depth + 1, seen)?;
        }
        Ok(())
    }
}

fn member(group: &Group, name: &str) -> hdf5_reader::error::Result<Member> {
    match group.group(name) {
        Err(Error::GroupNotFound(why)) if why == name => return Ok(Member::Nothing),
        Err(Error::GroupNotFound(_)) => {}
        found => return found.map(Member::Group),
    }
    match group.dataset(name) {
        Err(Error::DatasetNotFound(_)) => Ok(Member::Other),
        found => found.map(|dataset| Member::Dataset(Box::new(dataset))),
    }
}

/// The note on a link that leads out of the file, or nowhere.
fn missing(path: &str, target: &LinkTarget) -> Option<String> {
    let why = match target {
        LinkTarget::External { filename, path } => {
            format!("it leads to '{path}' of the file '{filename}'; import that file too")
        }
        LinkTarget::Soft { path } => format!("it leads to '{path}', which is not in the file"),
        LinkTarget::Hard { .. } => return None,
    };
    Some(format!("the link '{path}' is left out: {why}"))
}

/// Why a dataset that is not damaged cannot be read.
fn unsupported(why: &Error) -> Option<String> {
    match why {
        Error::Context { source, .. } => unsupported(source),
        Error::UnsupportedLayoutClass(VIRTUAL) => {
            Some("it is a virtual dataset, whose cells are in other files; import those".to_owned())
        }
        Error::UnsupportedDatatypeClass(_) | Error::UnsupportedEncoding(_) => Some(why.to_string()),
        _ => None,
    }
}
