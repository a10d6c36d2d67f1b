//! The parts of the engine that pages load on demand: their entry functions, and the code and data of each part.

use std::collections::{BTreeSet, HashMap, HashSet};

use anyhow::ensure;

use crate::links::Links;

/// A part of the engine.
pub(crate) struct Part {
    /// The name of its file.
    pub(crate) name: &'static str,
    /// The parts that are loaded before it.
    needs: &'static [&'static str],
    /// The functions through which it is entered.
    pub(crate) entries: BTreeSet<String>,
}

/// The parts, what each needs, and its entries: methods of the bindings, and functions of the engine. A name that ends
/// with `_` matches all names that start with it.
const PARTS: [(&str, &[&str], &[&str]); 5] = [
    (
        "write",
        &["more"],
        &[
            "rawarray_put",
            "rawarray_consolidate",
            "rawarray_vacuum",
            "rawarray_deleteCells",
            "rawarray_countDeleted",
            "rawarray_writeTime",
            "rawarray_writer",
            "rawarray_evolve",
            "rawstore_create",
            "rawstore_createGroup",
            "rawstore_putMetadata",
            "rawstore_putMembers",
            "rawstore_index",
            "rawwriter_",
            "__wbg_rawwriter_free",
            // Only changes call these methods of stores.
            "<hyperslab_wasm::bridge::JsVfs as hyperslab::vfs::Vfs>::create",
            "<hyperslab_wasm::bridge::JsVfs as hyperslab::vfs::Vfs>::delete",
            "<hyperslab_wasm::bridge::JsVfs as hyperslab::vfs::Vfs>::write",
            "<hyperslab::vfs::manifest::store::ManifestVfs as hyperslab::vfs::Vfs>::create",
            "<hyperslab::vfs::manifest::store::ManifestVfs as hyperslab::vfs::Vfs>::delete",
            "<hyperslab::vfs::manifest::store::ManifestVfs as hyperslab::vfs::Vfs>::write",
        ],
    ),
    (
        "more",
        &[],
        &[
            "rawarray_count",
            "rawarray_explain",
            "rawstore_kind",
            "rawstore_group",
            "rawgroup_",
            "__wbg_rawgroup_free",
            "hyperslab_wasm::select::from_text",
            // Only selections as text and descriptions look at neighbours.
            "<hyperslab_wasm::bridge::JsVfs as hyperslab::vfs::capabilities::Neighbours>::beside",
            "<hyperslab::vfs::manifest::store::ManifestVfs as hyperslab::vfs::capabilities::Neighbours>::beside",
        ],
    ),
    ("describe", &["more"], &["rawarray_describe", "rawstore_describe"]),
    (
        "view",
        &["more", "describe"],
        &["rawview_", "rawarray_view", "rawstore_view", "__wbg_rawview_free"],
    ),
    (
        "codecs",
        &[],
        &[
            "hyperslab::filter::compress::bzip2::pack",
            "hyperslab::filter::compress::bzip2::unpack",
            "hyperslab::filter::compress::dictionary::encode",
            "hyperslab::filter::compress::dictionary::decode",
            "hyperslab::filter::transform::webp::Image::encode",
            "hyperslab::filter::transform::webp::Image::decode",
            "hyperslab::filter::integrity::aes_gcm::encode",
            "hyperslab::filter::integrity::aes_gcm::decode",
        ],
    ),
];

/// The parts of the engine.
///
/// # Errors
/// If an entry does not exist, perhaps because it was inlined or renamed.
pub(crate) fn parts(links: &Links) -> anyhow::Result<Vec<Part>> {
    let mut parts = Vec::new();
    for (name, needs, starts) in PARTS {
        let mut entries = BTreeSet::new();
        for start in starts {
            let is_entry = |function: &&str| {
                let name = format!("{:#}", rustc_demangle::demangle(function));
                name == *start || (start.ends_with('_') && name.starts_with(start))
            };
            let found: Vec<String> = links.functions().filter(is_entry).map(str::to_owned).collect();
            ensure!(
                !found.is_empty(),
                "part {name}: there is no function {start}; it may have been inlined or renamed"
            );
            entries.extend(found);
        }
        parts.push(Part { name, needs, entries });
    }
    Ok(parts)
}

/// The tables that `npm/src/engine.ts` and `npm/src/parts.ts` use, as JavaScript and as TypeScript declarations: what
/// each part needs, and the methods of arrays and stores that enter it.
pub(crate) fn tables() -> (String, String) {
    let list = |names: &mut dyn Iterator<Item = &str>| names.map(|name| format!("{name:?},")).collect::<String>();
    let (mut needs, mut methods) = (String::new(), String::new());
    for (part, needed, entries) in PARTS {
        let method = |entry: &&'static str| entry.strip_prefix("rawarray_").or(entry.strip_prefix("rawstore_"));
        needs += &format!("{part}:[{}],", list(&mut needed.iter().copied()));
        methods += &format!("{part}:[{}],", list(&mut entries.iter().filter_map(method)));
    }
    let names = PARTS.map(|(part, ..)| format!("{part:?}")).join(" | ");
    (
        format!("export const partNeeds={{{needs}}},partMethods={{{methods}}};\n"),
        format!(
            "type OnDemand = {names};\n\
             export const partNeeds: {{ readonly [part in OnDemand]: readonly OnDemand[] }};\n\
             export const partMethods: {{ readonly [part in OnDemand]: readonly string[] }};\n"
        ),
    )
}

/// The functions and data of each part: those that only its entries use. The core has all others.
pub(crate) struct Owners {
    functions: HashMap<String, usize>,
    bytes: HashMap<u32, usize>,
}

impl Owners {
    pub(crate) fn new(links: &Links, parts: &[Part]) -> Self {
        let is_entry = |name: &str| parts.iter().any(|part| part.entries.contains(name));
        let core = links.reach(links.exports().iter().filter(|name| !is_entry(name)), is_entry);
        let mut users: HashMap<String, Vec<usize>> = HashMap::new();
        let mut users_of_bytes: HashMap<u32, Vec<usize>> = HashMap::new();
        for (number, part) in parts.iter().enumerate() {
            let reached = links.reach(&part.entries, |name| is_entry(name) && !part.entries.contains(name));
            for name in reached.functions {
                users.entry(name).or_default().push(number);
            }
            for byte in reached.data.into_iter().flatten().collect::<HashSet<_>>() {
                users_of_bytes.entry(byte).or_default().push(number);
            }
        }
        let bytes: HashSet<u32> = core.data.into_iter().flatten().collect();
        let owned = |used: &[usize]| owner(used, parts);
        Self {
            functions: users
                .into_iter()
                .filter(|(name, _)| !core.functions.contains(name))
                .filter_map(|(name, used)| Some((name, owned(&used)?)))
                .collect(),
            bytes: users_of_bytes
                .into_iter()
                .filter(|(byte, _)| !bytes.contains(byte))
                .filter_map(|(byte, used)| Some((byte, owned(&used)?)))
                .collect(),
        }
    }

    /// The number of the part to which a function belongs; `None` for the core.
    pub(crate) fn part_of(&self, function: &str) -> Option<usize> {
        self.functions.get(function).copied()
    }

    /// The same for a byte of memory.
    pub(crate) fn part_of_byte(&self, address: u32) -> Option<usize> {
        self.bytes.get(&address).copied()
    }
}

/// The owner of an item that the parts `used` share: the part among them that all others need. `None` for the core.
fn owner(used: &[usize], parts: &[Part]) -> Option<usize> {
    let needed_by = |part: usize, other: usize| {
        let (part, other) = (parts.get(part)?, parts.get(other)?);
        Some(part.name == other.name || other.needs.contains(&part.name))
    };
    let is_owner = |part: &usize| used.iter().all(|other| needed_by(*part, *other) == Some(true));
    used.iter().copied().find(is_owner)
}
