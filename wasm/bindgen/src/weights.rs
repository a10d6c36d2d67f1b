//! How much code each part of the engine has, by crate and module.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::links::Links;
use crate::parts::{Owners, Part};

/// Modules with less code are counted together.
const BYTES_MIN: usize = 2000;

/// A CSV table: the part, the module, and the size of its functions in bytes. These are sizes before the bindings are
/// generated, when every address takes five bytes.
pub(crate) fn table(links: &Links, owners: &Owners, parts: &[Part]) -> String {
    let mut bytes: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for function in links.functions().filter(|name| !name.contains("describe")) {
        let part = owners
            .part_of(function)
            .and_then(|number| parts.get(number))
            .map_or("core", |part| part.name);
        *bytes.entry((part, module(function))).or_default() += links.size(function);
    }
    let mut rows: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for ((part, module), size) in bytes {
        let name = if size < BYTES_MIN { "other".to_owned() } else { module };
        *rows.entry((part, name)).or_default() += size;
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|((part, _), size)| (*part, std::cmp::Reverse(*size)));
    let mut table = String::from("part,module,bytes\n");
    for ((part, module), size) in rows {
        let _ = writeln!(table, "{part},{module},{size}");
    }
    table
}

/// The crate and module of a function; for a C function, its library.
fn module(function: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(function));
    let c = [
        ("ZSTD", "zstd"),
        ("HUF", "zstd"),
        ("FSE", "zstd"),
        ("HIST", "zstd"),
        ("LZ4", "lz4"),
        ("libdeflate", "libdeflate"),
        ("deflate", "libdeflate"),
    ];
    if let Some((_, library)) = c.iter().find(|(start, _)| name.starts_with(start)) {
        return (*library).to_owned();
    }
    let path = name
        .trim_start_matches(['<', '&', '*', '[', '('])
        .trim_start_matches("mut ")
        .trim_start_matches("dyn ");
    let depth = if path.starts_with("hyperslab::") { 2 } else { 1 };
    path.split([' ', '<', '>', ',', ')', ']'])
        .next()
        .unwrap_or(path)
        .split("::")
        .take(depth)
        .collect::<Vec<_>>()
        .join("::")
}
