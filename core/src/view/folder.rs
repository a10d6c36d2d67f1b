//! Folders of arrays: the members of a group, or the contents of a folder.

use std::sync::Arc;

use futures_util::lock::Mutex;

use super::file_names::{file_name, file_names};
use super::levels::Pyramid;
use super::meaning::MeaningLines;
use crate::array::{Group, Member, may_be_array};
use crate::context::Context;
use crate::error::Result;
use crate::vfs::{Entry, EntryKind, join, last_part, path_within};

/// A folder of arrays and other folders.
#[derive(Debug, Default)]
pub(super) struct Folder {
    /// The path in the store.
    pub(super) path: String,
    pub(super) is_group: bool,
    pub(super) children: Vec<Child>,
    /// Names and URIs of group members outside the group's folder. They are not shown: they may be outside the source,
    /// and groups that contain each other would be endless.
    pub(super) elsewhere: Vec<(String, String)>,
    /// What the group means, once somebody asked.
    pub(super) summary: Mutex<Option<MeaningLines>>,
    /// The levels of the group if it has any, once somebody asked.
    pub(super) pyramid: Mutex<Option<Option<Arc<Pyramid>>>>,
}

#[derive(Debug)]
pub(super) struct Child {
    /// The displayed name.
    pub(super) name: String,
    /// The path in the store.
    pub(super) path: String,
}

/// A file about a folder.
#[derive(Debug, Clone, Copy)]
pub(super) enum FolderText {
    Readme,
    Metadata,
}

impl FolderText {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Readme => "README.md",
            Self::Metadata => "metadata.json",
        }
    }
}

impl Folder {
    /// Lists a folder, without TileDB's own folders and the temporary folders of imports.
    pub(super) async fn of_all(context: &Context, path: &str) -> Result<Self> {
        let entries = context.vfs.list(path).await?.into_iter();
        let shown = entries.filter(|e| e.kind == EntryKind::Dir && may_be_array(&e.name));
        let child = |e: Entry| Child {
            name: file_name(&e.name),
            path: join(path, &e.name),
        };
        Ok(Self {
            path: path.to_owned(),
            is_group: false,
            children: shown.map(child).collect(),
            elsewhere: Vec::new(),
            summary: Mutex::default(),
            pyramid: Mutex::default(),
        })
    }

    /// Lists a group in the store at `url`. The children are the members below the group, with relative or absolute
    /// URIs, and arrays and groups in its folder that are not members. Other members go to `elsewhere`.
    pub(super) async fn of_group(group: &Group, url: &str) -> Result<Self> {
        if !group.listed {
            let folder = Self::of_all(group.context(), &group.path).await?;
            return Ok(Self {
                is_group: true,
                ..folder
            });
        }
        let mut folder = Self {
            path: group.path.clone(),
            is_group: true,
            children: Vec::new(),
            elsewhere: Vec::new(),
            summary: Mutex::default(),
            pyramid: Mutex::default(),
        };
        let own = |m: &Member| {
            m.name
                .clone()
                .unwrap_or_else(|| last_part(m.uri.trim_end_matches('/')).to_owned())
        };
        let others = group.others().await?;
        let names: Vec<String> = group.members.iter().map(own).chain(others.iter().cloned()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut names = file_names(&names).into_iter();
        for (m, name) in group.members.iter().zip(&mut names) {
            let path = if m.relative {
                path_within("/", &format!("/{}", m.uri))
            } else {
                path_within(url, &m.uri).filter(|_| !url.is_empty())
            };
            match path.filter(|path| is_below(path, &group.path)) {
                Some(path) => folder.children.push(Child { name, path }),
                None => folder.elsewhere.push((name, m.uri.clone())),
            }
        }
        for (other, name) in others.iter().zip(names) {
            if !folder.children.iter().any(|c| c.name == name) {
                let path = join(&group.path, other);
                folder.children.push(Child { name, path });
            }
        }
        Ok(folder)
    }

    /// The names of the child folders.
    pub(super) fn names(&self) -> Vec<String> {
        self.children.iter().map(|c| c.name.clone()).collect()
    }

    /// The files about this folder. A child folder with the same name hides the file.
    pub(super) fn texts(&self, is_root: bool) -> impl Iterator<Item = FolderText> {
        let texts = [
            (FolderText::Readme, is_root || self.is_group),
            (FolderText::Metadata, self.is_group),
        ];
        let free = |text: &FolderText| !self.children.iter().any(|c| c.name == text.name());
        texts
            .into_iter()
            .filter_map(|(text, there)| there.then_some(text))
            .filter(free)
    }
}

/// Whether a path is in a folder.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_matches('/'));
    rest.is_some_and(|rest| !rest.trim_matches('/').is_empty() && (folder.is_empty() || rest.starts_with('/')))
}
