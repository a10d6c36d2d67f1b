//! Finds the functions and data that each function of a linked module uses, from the relocations that the linker keeps
//! in the file (`--emit-relocs`). A method in a vtable counts as used only by functions that use the vtable.
//!
//! The format is described in <https://github.com/WebAssembly/tool-conventions/blob/main/Linking.md>. No library
//! collects these uses.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use anyhow::{Context, bail, ensure};
use wasmparser::{
    DataKind, ExternalKind, KnownCustom, Linking, Operator, Parser, Payload, RelocationEntry, RelocationType,
    SymbolInfo, TypeRef,
};

/// A function or a piece of data, by its number in the symbol table. Functions of the same name have the same number.
type Symbol = u32;

/// The functions and data of a module, and what they use.
#[derive(Default)]
pub(crate) struct Links {
    names: HashMap<Symbol, String>,
    symbols: HashMap<String, Symbol>,
    uses: HashMap<Symbol, HashSet<Symbol>>,
    /// The addresses of data in memory.
    data: HashMap<Symbol, Range<u32>>,
    exports: Vec<String>,
    sizes: HashMap<String, usize>,
}

/// Functions and the data that they use.
#[derive(Default)]
pub(crate) struct Reached {
    /// Functions by name.
    pub(crate) functions: HashSet<String>,
    /// Address ranges in memory.
    pub(crate) data: Vec<Range<u32>>,
}

impl Links {
    /// Reads the links of a module that was linked with `--emit-relocs`.
    ///
    /// # Errors
    /// If the file is not a module, or has no relocations.
    pub(crate) fn read(wasm: &[u8]) -> anyhow::Result<Self> {
        let sections = Sections::read(wasm)?;
        ensure!(
            !sections.symbols.is_empty() && !sections.relocations.is_empty(),
            "the module has no relocations; link it with --emit-relocs"
        );
        let mut links = Self::default();
        let places = links.add_symbols(&sections)?;
        links.add_uses(&sections, &places)?;
        Ok(links)
    }

    /// The names of all functions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &str> {
        self.symbols.keys().map(String::as_str)
    }

    /// The names of the exported functions, without those that only describe the bindings.
    pub(crate) fn exports(&self) -> &[String] {
        &self.exports
    }

    /// The size of a function's code in bytes.
    pub(crate) fn size(&self, function: &str) -> usize {
        self.sizes.get(function).copied().unwrap_or(0)
    }

    /// The functions and data that the functions `roots` use, directly or through others. Does not include
    /// functions that are `closed`, or what only they use.
    pub(crate) fn reach<'a>(
        &self,
        roots: impl IntoIterator<Item = &'a String>,
        closed: impl Fn(&str) -> bool,
    ) -> Reached {
        let mut seen = HashSet::new();
        let mut open: Vec<Symbol> = roots
            .into_iter()
            .filter_map(|name| self.symbols.get(name).copied())
            .collect();
        let mut reached = Reached::default();
        while let Some(symbol) = open.pop() {
            let name = self.names.get(&symbol);
            if name.is_some_and(|name| closed(name)) || !seen.insert(symbol) {
                continue;
            }
            reached.functions.extend(name.cloned());
            reached.data.extend(self.data.get(&symbol).cloned());
            open.extend(self.uses.get(&symbol).into_iter().flatten());
        }
        reached
    }

    /// Records the names, sizes and places of functions and data.
    fn add_symbols(&mut self, sections: &Sections<'_>) -> anyhow::Result<Places> {
        let mut places = Places {
            pieces: vec![BTreeMap::new(); sections.segments.len()],
            ..Places::default()
        };
        for (number, info) in (0..).zip(&sections.symbols) {
            match info {
                SymbolInfo::Func {
                    index,
                    name: Some(name),
                    ..
                } => {
                    let name = without_hash(name);
                    let symbol = *self.symbols.entry(name.to_owned()).or_insert(number);
                    self.names.entry(symbol).or_insert_with(|| name.to_owned());
                    places.functions.entry(*index).or_insert(symbol);
                    let body = index
                        .checked_sub(sections.imported)
                        .and_then(|i| sections.bodies.get(i as usize));
                    *self.sizes.entry(name.to_owned()).or_default() += body.map_or(0, Range::len);
                }
                SymbolInfo::Data {
                    symbol: Some(place), ..
                } => {
                    let pieces = places
                        .pieces
                        .get_mut(place.index as usize)
                        .context("data outside of all segments")?;
                    let end = place.offset + place.size;
                    pieces.insert(place.offset as usize, (end as usize, number));
                    let (_, base) = sections
                        .segments
                        .get(place.index as usize)
                        .context("data outside of all segments")?;
                    self.data.insert(number, base + place.offset..base + end);
                }
                _ => {}
            }
        }
        let own = |(name, index): &(String, u32)| {
            (!name.contains("describe"))
                .then(|| places.functions.get(index))
                .flatten()
                .and_then(|s| self.names.get(s))
        };
        self.exports = sections.exports.iter().filter_map(own).cloned().collect();
        Ok(places)
    }

    /// Records the symbols that each function and each piece of data uses.
    fn add_uses(&mut self, sections: &Sections<'_>, places: &Places) -> anyhow::Result<()> {
        for (section, entry) in sections
            .relocations
            .iter()
            .flat_map(|(section, all)| all.iter().map(move |e| (section, e)))
        {
            let offset = entry.offset as usize;
            let user = match *section {
                section if section == sections.code => places.function_at(sections, offset),
                section if section == sections.data => places.data_at(sections, offset),
                _ => continue,
            };
            if is_use(entry.ty) {
                let used = match sections.symbols.get(entry.index as usize) {
                    Some(SymbolInfo::Func { index, .. }) => places.functions.get(index).copied().unwrap_or(entry.index),
                    _ => entry.index,
                };
                let user =
                    user.with_context(|| format!("byte {offset} of section {section} is in no function and no data"))?;
                self.uses.entry(user).or_default().insert(used);
            }
        }
        Ok(())
    }
}

/// Finds the function or data at an offset in a section.
#[derive(Default)]
struct Places {
    /// Functions by index.
    functions: HashMap<u32, Symbol>,
    /// For each segment, its data by start: the end and the symbol.
    pieces: Vec<BTreeMap<usize, (usize, Symbol)>>,
}

impl Places {
    fn function_at(&self, sections: &Sections<'_>, offset: usize) -> Option<Symbol> {
        let i = sections.bodies.partition_point(|body| body.end <= offset);
        self.functions
            .get(&(u32::try_from(i).ok()? + sections.imported))
            .copied()
    }

    fn data_at(&self, sections: &Sections<'_>, offset: usize) -> Option<Symbol> {
        let i = sections.segments.partition_point(|(range, _)| range.end <= offset);
        let within = offset.checked_sub(sections.segments.get(i)?.0.start)?;
        let (_, (end, symbol)) = self.pieces.get(i)?.range(..=within).next_back()?;
        (within < *end).then_some(*symbol)
    }
}

/// The name that the bindings give to an exported function: without the hash of the crate at its end.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => name,
        _ => name,
    }
}

fn is_use(kind: RelocationType) -> bool {
    use RelocationType::{
        FunctionIndexLeb, MemoryAddrI32, MemoryAddrLeb, MemoryAddrSleb, TableIndexI32, TableIndexSleb,
    };
    matches!(
        kind,
        FunctionIndexLeb | MemoryAddrI32 | MemoryAddrLeb | MemoryAddrSleb | TableIndexI32 | TableIndexSleb
    )
}

/// The sections of a file from which links are made. Ranges count from the start of their section.
#[derive(Default)]
struct Sections<'a> {
    symbols: Vec<SymbolInfo<'a>>,
    /// The code of functions.
    bodies: Vec<Range<usize>>,
    /// Segments of data, and where they start in memory.
    segments: Vec<(Range<usize>, u32)>,
    /// The relocations of a section.
    relocations: Vec<(u32, Vec<RelocationEntry>)>,
    /// The indices of the code and the data section.
    code: u32,
    data: u32,
    /// The number of imported functions.
    imported: u32,
    exports: Vec<(String, u32)>,
}

impl<'a> Sections<'a> {
    fn read(wasm: &'a [u8]) -> anyhow::Result<Self> {
        let mut found = Self::default();
        let (mut index, mut start) = (0, 0);
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::Version { .. } | Payload::End(_) => continue,
                Payload::CodeSectionEntry(body) => {
                    found.bodies.push(body.range().start - start..body.range().end - start);
                    continue;
                }
                Payload::CodeSectionStart { range, .. } => (found.code, start) = (index, range.start),
                Payload::ImportSection(imports) => {
                    let imports = imports.into_imports().collect::<Result<Vec<_>, _>>()?;
                    found.imported = imports
                        .iter()
                        .map(|import| u32::from(matches!(import.ty, TypeRef::Func(_))))
                        .sum();
                }
                Payload::ExportSection(exports) => {
                    for export in exports {
                        let export = export?;
                        if export.kind == ExternalKind::Func {
                            found.exports.push((export.name.to_owned(), export.index));
                        }
                    }
                }
                Payload::DataSection(data) => {
                    found.data = index;
                    found.add_segments(data)?;
                }
                Payload::CustomSection(section) => found.add_custom(&section.as_known())?,
                _ => {}
            }
            index += 1;
        }
        Ok(found)
    }

    fn add_segments(&mut self, data: wasmparser::DataSectionReader<'a>) -> anyhow::Result<()> {
        let start = data.range().start;
        for segment in data {
            let segment = segment?;
            let DataKind::Active { offset_expr, .. } = segment.kind else {
                bail!("the module has a passive data segment");
            };
            let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else {
                bail!("a data segment has no constant address");
            };
            let end = segment.range.end - start;
            self.segments
                .push((end - segment.data.len()..end, value.cast_unsigned()));
        }
        Ok(())
    }

    fn add_custom(&mut self, section: &KnownCustom<'a>) -> anyhow::Result<()> {
        match section {
            KnownCustom::Linking(linking) => {
                for part in linking.subsections() {
                    if let Linking::SymbolTable(symbols) = part? {
                        self.symbols = symbols.into_iter().collect::<Result<_, _>>()?;
                    }
                }
            }
            KnownCustom::Reloc(relocations) => {
                let entries = relocations.entries().into_iter().collect::<Result<_, _>>()?;
                self.relocations.push((relocations.section_index(), entries));
            }
            _ => {}
        }
        Ok(())
    }
}
