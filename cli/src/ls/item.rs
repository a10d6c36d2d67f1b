//! The items of a listing: arrays, groups and folders.

use std::path::Path;

use hyperslab::Array;
use hyperslab::schema::Attribute;
use hyperslab::vfs::join;

use crate::{show, sizes};

/// Items that are neither arrays nor groups.
pub(super) const FOLDER: &str = "folder";
pub(super) const LEFTOVER: &str = "leftover";

/// One line of a listing.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) array: Option<Summary>,
    /// Why it could not be read.
    pub(super) problem: Option<String>,
    /// Whether it is a group or folder that contains itself here. The walk does not enter it again.
    pub(super) circle: bool,
    /// Whether its children are shown earlier in the listing.
    pub(super) repeated: bool,
    /// Set if it is where readers easily miss it.
    pub(super) stray: Option<Stray>,
    /// The items in it; `None` if the walk did not enter it.
    pub(super) children: Option<Vec<Item>>,
}

/// Locations where arrays and groups are easy to miss.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stray {
    /// In the folder of a group, but not a member of it.
    NoMember,
    /// In the folder of an array.
    InArray,
}

/// The facts about an array that a listing shows.
pub(super) struct Summary {
    /// Cells along each dimension of a dense array.
    pub(super) shape: Option<Vec<u64>>,
    pub(super) dimensions: Vec<String>,
    pub(super) attributes: Vec<Attribute>,
    /// The cells that were written, summed over all fragments.
    pub(super) cells: u64,
    pub(super) bytes: u64,
    pub(super) fragments: usize,
    pub(super) deletes: usize,
}

impl Summary {
    pub(super) fn of(array: &Array) -> Self {
        let schema = array.schema();
        let length = |d| u64::try_from(show::length(schema.limits(d)?)?).ok();
        let shape = || (0..schema.dimensions.len()).map(length).collect();
        Self {
            shape: if schema.is_dense() { shape() } else { None },
            dimensions: schema.dimensions.iter().map(|d| d.name.clone()).collect(),
            attributes: schema.attributes.clone(),
            cells: sizes::total(array.fragments().iter().map(|f| f.cells)),
            bytes: sizes::total(array.fragments().iter().map(|f| f.bytes)),
            fragments: array.fragments().len(),
            deletes: array.delete_times().len(),
        }
    }
}

impl Item {
    /// An item of which only the name and the kind are known.
    pub(super) fn new(name: &str, kind: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            array: None,
            problem: None,
            circle: false,
            repeated: false,
            stray: None,
            children: None,
        }
    }

    /// An item that cannot be read, and why.
    pub(super) fn unknown(name: &str, problem: String) -> Self {
        Self {
            problem: Some(problem),
            ..Self::new(name, "unknown")
        }
    }

    /// A file or folder that a killed command left.
    pub(super) fn leftover(path: &Path) -> Self {
        Self::new(&path.file_name().unwrap_or_default().to_string_lossy(), LEFTOVER)
    }

    pub(super) fn children(&self) -> &[Self] {
        self.children.as_deref().unwrap_or(&[])
    }

    /// Adds its error and those of its members, each with its path below `folder`.
    pub(super) fn problems(&self, folder: &str, out: &mut Vec<String>) {
        let path = join(folder, &self.name);
        out.extend(self.problem.iter().map(|problem| format!("{path}: {problem}")));
        self.children().iter().for_each(|child| child.problems(&path, out));
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self.kind, "dense" | "sparse" | "array")
    }

    /// The items that `ls` lists: its members, or itself if it is an array.
    pub(super) fn listed(&self) -> &[Self] {
        if self.is_array() {
            std::slice::from_ref(self)
        } else {
            self.children()
        }
    }
}
