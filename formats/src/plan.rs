//! What an import makes.

use anyhow::{Result, ensure};
use hyperslab::metadata::Entry;
use hyperslab::schema::{Enumeration, Schema};

/// The arrays and groups that an import makes of a file.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The groups, each before the groups within it. The first has the path "" and holds all others. Empty if the
    /// import makes a single array.
    pub groups: Vec<NewGroup>,
    /// The arrays. A single array without groups has the path "".
    pub arrays: Vec<NewArray>,
    /// What does not carry over, in a sentence each, for the user.
    pub notes: Vec<String>,
}

/// A group to make.
#[derive(Debug, Clone, Default)]
pub struct NewGroup {
    /// Its path below the new object, such as `forecast/daily`. Each group is a member of the group above it, under
    /// the last part of its path.
    pub path: String,
    /// Its metadata, which is written after its members.
    pub metadata: Vec<Entry>,
}

/// An array to make.
#[derive(Debug, Clone)]
pub struct NewArray {
    /// Its path below the new object. It is a member of the group above it, under the last part of its path.
    pub path: String,
    /// The schema.
    pub schema: Schema,
    /// The enumerations of its attributes.
    pub enumerations: Vec<Enumeration>,
    /// The metadata.
    pub metadata: Vec<Entry>,
    /// How many cells there are.
    pub length: Length,
}

/// How many cells a file has for an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Length {
    /// The lengths of the axes of a dense array. The cells start at the low end of the domain, which may be larger.
    Box(Vec<u64>),
    /// The number of rows of a sparse array, if the file says so.
    Rows(Option<u64>),
}

impl Plan {
    /// A plan for a single array.
    pub fn single(array: NewArray) -> Self {
        Self {
            arrays: vec![array],
            ..Self::default()
        }
    }

    /// Checks that each path is below a group of the plan, and that no two are equal.
    ///
    /// # Errors
    /// A path is wrong: the file has names that cannot be used.
    pub fn check(&self) -> Result<()> {
        let groups = self.groups.iter().map(|g| g.path.as_str());
        let mut seen: Vec<&str> = Vec::new();
        for path in groups.chain(self.arrays.iter().map(|a| a.path.as_str())) {
            ensure!(!seen.contains(&path), "two objects of the file have the path '{path}'");
            let parent = parent(path);
            let root = path.is_empty() && seen.is_empty();
            let inside = !path.is_empty() && self.groups.iter().any(|g| Some(g.path.as_str()) == parent);
            ensure!(root || inside, "the object '{path}' of the file is in no group");
            seen.push(path);
        }
        Ok(())
    }
}

/// The path of the group that holds this path; `None` for the root.
pub(crate) fn parent(path: &str) -> Option<&str> {
    if path.is_empty() {
        return None;
    }
    Some(path.rsplit_once('/').map_or("", |(parent, _)| parent))
}
