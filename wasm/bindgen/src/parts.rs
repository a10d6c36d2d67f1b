//! The parts of the engine that pages load when they first need them: their entries, and what belongs to them.

use std::collections::{BTreeSet, HashMap, HashSet};

use anyhow::ensure;

use crate::links::Links;

/// A part of the engine.
pub(crate) struct Part {
    /// The name of its file.
    pub(crate) name: &'static str,
    /// The functions through which it is entered.
    pub(crate) entries: BTreeSet<String>,
}

/// The parts, and how the names of their entries begin: methods of the bindings, and functions of the engine.
const PARTS: [(&str, &[&str]); 3] = [
    (
        "write",
        &[
            "rawarray_put",
            "rawarray_consolidate",
            "rawarray_vacuum",
            "rawarray_deleteCells",
            "rawarray_countDeleted",
            "rawarray_writeTime",
            "rawstore_create",
            "rawstore_index",
        ],
    ),
    (
        "view",
        &["rawview_", "rawarray_view", "rawstore_view", "__wbg_rawview_free"],
    ),
    (
        "codecs",
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
    for (name, starts) in PARTS {
        let mut entries = BTreeSet::new();
        for start in starts {
            let is_entry = |function: &&str| {
                let name = format!("{:#}", rustc_demangle::demangle(function));
                name.starts_with(start) && !name.contains("{{closure}}")
            };
            let found: Vec<String> = links.functions().filter(is_entry).map(str::to_owned).collect();
            ensure!(
                !found.is_empty(),
                "the part {name} has no function {start}; is it inlined, or has it another name?"
            );
            entries.extend(found);
        }
        parts.push(Part { name, entries });
    }
    Ok(parts)
}

/// What belongs to each part: everything that only its entries use. The rest belongs to the core.
#[derive(Default)]
pub(crate) struct Owners {
    functions: HashMap<String, usize>,
    bytes: HashMap<u32, usize>,
}

impl Owners {
    pub(crate) fn new(links: &Links, parts: &[Part]) -> Self {
        let is_entry = |name: &str| parts.iter().any(|part| part.entries.contains(name));
        let core = links.reach(links.exports().iter().filter(|name| !is_entry(name)), is_entry);
        let mut owners = Self::default();
        // What two parts use belongs to the core too.
        let mut shared = core.functions;
        let mut shared_bytes: HashSet<u32> = core.data.into_iter().flatten().collect();
        for (number, part) in parts.iter().enumerate() {
            let reached = links.reach(&part.entries, |name| is_entry(name) && !part.entries.contains(name));
            for name in reached.functions {
                if owners
                    .functions
                    .insert(name.clone(), number)
                    .is_some_and(|other| other != number)
                {
                    shared.insert(name);
                }
            }
            for byte in reached.data.into_iter().flatten() {
                if owners.bytes.insert(byte, number).is_some_and(|other| other != number) {
                    shared_bytes.insert(byte);
                }
            }
        }
        owners.functions.retain(|name, _| !shared.contains(name));
        owners.bytes.retain(|byte, _| !shared_bytes.contains(byte));
        owners
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
