//! Splits the engine into a core, which every page loads, and parts, which are loaded when they are first needed.
//!
//! All modules share the core's memory and table. Each entry of a part, a function, gets a slot in the table. In the
//! core it becomes a jump through that slot, which the part fills in when it is loaded. Until then, calling it traps.
//!
//! Binaryen's `wasm-split` does not fit: it is not a library, and it splits by a profile instead of by what parts use.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::{Context, bail};
use walrus::ir::Value;
use walrus::{
    ConstExpr, DataKind, ElementItems, ElementKind, FunctionBuilder, FunctionId, FunctionKind, GlobalKind,
    ImportedFunction, LocalFunction, Module, TableId,
};

use crate::parts::{Owners, Part};

/// The module name under which parts import from the core. `npm/src/engine.ts` has the same name.
const CORE: &str = "core";

/// The core and the parts, as files.
pub(crate) struct Split {
    pub(crate) core: Vec<u8>,
    pub(crate) parts: Vec<Vec<u8>>,
}

/// Splits `wasm`, which must contain the names of its functions. `renamed` has new names of exports.
///
/// # Errors
/// If it is not a module of the expected form.
pub(crate) fn split(
    wasm: &[u8],
    owners: &Owners,
    parts: &[Part],
    renamed: &HashMap<String, String>,
) -> anyhow::Result<Split> {
    let plan = SplitPlan::new(wasm, owners, parts)?;
    let mut needed = HashSet::new();
    for number in 0..parts.len() {
        needed.extend(plan.imports_of(number)?);
    }
    let part = |number| plan.part(number, &needed);
    Ok(Split {
        core: plan.core(&needed, renamed)?,
        parts: (0..parts.len()).map(part).collect::<anyhow::Result<_>>()?,
    })
}

/// The module to split. It is parsed again for each file to write, with the same ids each time.
struct SplitPlan<'a> {
    wasm: &'a [u8],
    /// The part of each function that is not the core's.
    part_of: HashMap<usize, usize>,
    /// The entries, with their slots in the table.
    entries: HashMap<usize, u32>,
    owners: &'a Owners,
    parts: &'a [Part],
    /// The name of the memory. It differs between builds, so that parts of another build are refused.
    memory: String,
}

impl<'a> SplitPlan<'a> {
    fn new(wasm: &'a [u8], owners: &'a Owners, parts: &'a [Part]) -> anyhow::Result<Self> {
        let module = parse(wasm)?;
        let mut part_of = HashMap::new();
        // Functions that the page provides are imported by the core only.
        for function in module.funcs.iter().filter(|f| matches!(f.kind, FunctionKind::Local(_))) {
            if let Some(part) = function.name.as_deref().and_then(|name| owners.part_of(name)) {
                part_of.insert(function.id().index(), part);
            }
        }
        let table = table(&module)?;
        let slots = u32::try_from(module.tables.get(table).initial)?..;
        let mut entries = HashMap::new();
        for (slot, name) in slots.zip(parts.iter().flat_map(|part| &part.entries)) {
            let entry = module.funcs.by_name(name);
            let entry = entry.with_context(|| format!("the module has no function {name}"))?;
            entries.insert(entry.index(), slot);
        }
        Ok(Self {
            wasm,
            part_of,
            entries,
            owners,
            parts,
            memory: memory_name(wasm),
        })
    }

    /// The core. It exports the functions `needed` for the parts.
    fn core(&self, needed: &HashSet<usize>, renamed: &HashMap<String, String>) -> anyhow::Result<Vec<u8>> {
        let mut module = parse(self.wasm)?;
        let table = table(&module)?;
        let entries: Vec<_> = module
            .funcs
            .iter()
            .filter_map(|f| Some((f.id(), *self.entries.get(&f.id().index())?)))
            .collect();
        for (entry, slot) in entries {
            let jump = jump(&mut module, entry, table, slot)?;
            module.funcs.get_mut(entry).kind = FunctionKind::Local(jump);
        }
        let missing = missing(&mut module);
        for element in module.elements.iter_mut() {
            let ElementItems::Functions(functions) = &mut element.items else {
                continue;
            };
            for function in functions {
                // A pointer to an entry points to its jump in the core.
                if self.part_of.contains_key(&function.index()) && !self.entries.contains_key(&function.index()) {
                    *function = missing;
                }
            }
        }
        let table = module.tables.get_mut(table);
        table.initial += self.entries.len() as u64;
        table.maximum = table.maximum.map(|_| table.initial);
        let segments: Vec<_> = module.data.iter().map(walrus::Data::id).collect();
        for id in segments {
            let segment = module.data.get_mut(id);
            let start = start_of(&segment.kind)?;
            for (at, byte) in (start..).zip(&mut segment.value) {
                if self.owners.part_of_byte(at).is_some() {
                    *byte = 0;
                }
            }
        }
        for export in module.exports.iter_mut() {
            if let Some(name) = renamed.get(&export.name) {
                export.name.clone_from(name);
            }
        }
        export_state(&mut module, &self.memory);
        export(&mut module, |id| {
            needed.contains(&id.index()) && self.home_of(id) == CORE
        });
        walrus::passes::gc::run(&mut module);
        Ok(module.emit_wasm())
    }

    /// A part. It exports those of the functions `needed` by other parts that it owns.
    fn part(&self, number: usize, needed: &HashSet<usize>) -> anyhow::Result<Vec<u8>> {
        let mut module = self.unfinished_part(number)?;
        let is_entry = |id: FunctionId| self.entries.contains_key(&id.index());
        export(&mut module, |id| {
            self.owns(number, id) && needed.contains(&id.index()) && !is_entry(id)
        });
        walrus::passes::gc::run(&mut module);
        Ok(module.emit_wasm())
    }

    /// The functions that a part imports, by index.
    fn imports_of(&self, number: usize) -> anyhow::Result<Vec<usize>> {
        let mut module = self.unfinished_part(number)?;
        walrus::passes::gc::run(&mut module);
        let functions = module.funcs.iter().map(walrus::Function::id);
        Ok(functions
            .filter(|id| !self.owns(number, *id))
            .map(|id| id.index())
            .collect())
    }

    /// A part from which unused items have not been removed yet.
    fn unfinished_part(&self, number: usize) -> anyhow::Result<Module> {
        let mut module = parse(self.wasm)?;
        let own = |id: &FunctionId| self.owns(number, *id);
        let exports: Vec<_> = module.exports.iter().map(walrus::Export::id).collect();
        for id in exports {
            module.exports.delete(id);
        }
        module.start = None;
        self.fill_table(&mut module, &own)?;
        self.keep_bytes(&mut module, number)?;
        import_state(&mut module, &self.memory);
        let functions: Vec<_> = module.funcs.iter().map(walrus::Function::id).collect();
        for id in functions.into_iter().filter(|id| !own(id)) {
            let ty = module.funcs.get(id).ty();
            if let FunctionKind::Import(old) = &module.funcs.get(id).kind {
                let old = old.import;
                module.imports.delete(old);
            }
            let import = module.imports.add(self.home_of(id), &short('f', id.index()), id);
            module.funcs.get_mut(id).kind = FunctionKind::Import(ImportedFunction { import, ty });
        }
        Ok(module)
    }

    fn owns(&self, number: usize, function: FunctionId) -> bool {
        self.part_of.get(&function.index()) == Some(&number)
    }

    /// The file that exports a function. Entries are called by their jumps, because their part may not be loaded.
    fn home_of(&self, function: FunctionId) -> &'static str {
        let part = self
            .part_of
            .get(&function.index())
            .and_then(|number| self.parts.get(*number));
        match part {
            Some(part) if !self.entries.contains_key(&function.index()) => part.name,
            _ => CORE,
        }
    }

    /// Lets the part fill in the table: its entries, and its functions that are called through pointers.
    fn fill_table(&self, module: &mut Module, own: &dyn Fn(&FunctionId) -> bool) -> anyhow::Result<()> {
        let main = table(module)?;
        let mut slots: Vec<(u32, FunctionId)> = Vec::new();
        let mut old = Vec::new();
        for element in module.elements.iter() {
            let (ElementKind::Active { table, offset }, ElementItems::Functions(functions)) =
                (&element.kind, &element.items)
            else {
                continue;
            };
            if *table == main {
                let start = constant(offset)?;
                slots.extend(
                    (start..)
                        .zip(functions.iter().copied())
                        .filter(|(_, id)| own(id) && !self.entries.contains_key(&id.index())),
                );
            }
            old.push(element.id());
        }
        let entries = module.funcs.iter().map(walrus::Function::id).filter(own);
        slots.extend(entries.filter_map(|id| Some((*self.entries.get(&id.index())?, id))));
        slots.sort_unstable_by_key(|(slot, _)| *slot);
        for id in old {
            module.elements.delete(id);
        }
        module.tables.get_mut(main).elem_segments.clear();
        for run in slots.chunk_by(|a, b| a.0 + 1 == b.0) {
            let kind = ElementKind::Active {
                table: main,
                offset: i32_const(run[0].0),
            };
            let id = module
                .elements
                .add(kind, ElementItems::Functions(run.iter().map(|(_, id)| *id).collect()));
            module.tables.get_mut(main).elem_segments.insert(id);
        }
        Ok(())
    }

    /// Keeps the bytes of memory that belong to the part.
    fn keep_bytes(&self, module: &mut Module, number: usize) -> anyhow::Result<()> {
        let mut pieces: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut old = Vec::new();
        let memory = module.get_memory_id()?;
        for segment in module.data.iter() {
            old.push(segment.id());
            for (at, byte) in (start_of(&segment.kind)?..).zip(&segment.value) {
                if self.owners.part_of_byte(at) != Some(number) {
                    continue;
                }
                match pieces.last_mut() {
                    Some((start, bytes)) if *start + bytes.len() as u32 == at => bytes.push(*byte),
                    _ => pieces.push((at, vec![*byte])),
                }
            }
        }
        for id in old {
            module.data.delete(id);
        }
        module.memories.get_mut(memory).data_segments.clear();
        for (start, bytes) in pieces {
            let id = module.data.add(
                DataKind::Active {
                    memory,
                    offset: i32_const(start),
                },
                bytes,
            );
            module.memories.get_mut(memory).data_segments.insert(id);
        }
        Ok(())
    }
}

/// Exports the memory, tables and globals under short names.
fn export_state(module: &mut Module, memory: &str) {
    let memories: Vec<_> = module.memories.iter().map(walrus::Memory::id).collect();
    for id in memories {
        module.exports.add(memory, id);
    }
    let tables: Vec<_> = module.tables.iter().map(walrus::Table::id).collect();
    for id in tables {
        module.exports.add(&short('t', id.index()), id);
    }
    let globals: Vec<_> = module.globals.iter().map(walrus::Global::id).collect();
    for id in globals {
        module.exports.add(&short('g', id.index()), id);
    }
}

/// Exports some functions under short names.
fn export(module: &mut Module, is_needed: impl Fn(FunctionId) -> bool) {
    let functions = module.funcs.iter().map(walrus::Function::id);
    for id in functions.filter(|id| is_needed(*id)).collect::<Vec<_>>() {
        module.exports.add(&short('f', id.index()), id);
    }
}

/// Turns memories, tables and globals into imports from the core.
fn import_state(module: &mut Module, memory: &str) {
    let memories: Vec<_> = module.memories.iter().map(walrus::Memory::id).collect();
    for id in memories {
        let import = module.imports.add(CORE, memory, id);
        module.memories.get_mut(id).import = Some(import);
    }
    let tables: Vec<_> = module.tables.iter().map(walrus::Table::id).collect();
    for id in tables {
        let import = module.imports.add(CORE, &short('t', id.index()), id);
        let table = module.tables.get_mut(id);
        table.import = Some(import);
        table.maximum = None;
    }
    let globals: Vec<_> = module.globals.iter().map(walrus::Global::id).collect();
    for id in globals {
        let import = module.imports.add(CORE, &short('g', id.index()), id);
        module.globals.get_mut(id).kind = GlobalKind::Import(import);
    }
}

fn table(module: &Module) -> anyhow::Result<TableId> {
    module
        .tables
        .main_function_table()?
        .context("the module has no table of functions")
}

/// A function like `entry` that calls the function in a slot of the table.
fn jump(module: &mut Module, entry: FunctionId, table: TableId, slot: u32) -> anyhow::Result<LocalFunction> {
    let ty = module.funcs.get(entry).ty();
    let (params, results) = (module.types.params(ty).to_vec(), module.types.results(ty).to_vec());
    let args: Vec<_> = params.iter().map(|param| module.locals.add(*param)).collect();
    let mut builder = FunctionBuilder::new(&mut module.types, &params, &results);
    let mut body = builder.func_body();
    for arg in &args {
        body.local_get(*arg);
    }
    body.i32_const(i32::try_from(slot)?).call_indirect(ty, table);
    Ok(builder.local_func(args))
}

/// A function that traps, for the slots of functions that a part fills in.
fn missing(module: &mut Module) -> FunctionId {
    let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
    builder.func_body().unreachable();
    builder.finish(vec![], &mut module.funcs)
}

fn parse(wasm: &[u8]) -> anyhow::Result<Module> {
    let mut module = walrus::ModuleConfig::new()
        .generate_name_section(false)
        .generate_producers_section(false)
        .parse(wasm)?;
    let customs: Vec<_> = module.customs.iter().map(|(id, _)| id).collect();
    for id in customs {
        module.customs.delete(id);
    }
    Ok(module)
}

fn start_of(kind: &DataKind) -> anyhow::Result<u32> {
    match kind {
        DataKind::Active { offset, .. } => constant(offset),
        DataKind::Passive => bail!("a passive data segment"),
    }
}

fn constant(offset: &ConstExpr) -> anyhow::Result<u32> {
    match offset {
        ConstExpr::Value(Value::I32(start)) => Ok(start.cast_unsigned()),
        other => bail!("an offset that is not a constant: {other:?}"),
    }
}

fn i32_const(value: u32) -> ConstExpr {
    ConstExpr::Value(Value::I32(value.cast_signed()))
}

/// The name under which parts import the memory of this build.
fn memory_name(wasm: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    wasm.hash(&mut hasher);
    format!("memory-{:016x}", hasher.finish())
}

/// A short name, to keep the files small.
fn short(kind: char, number: usize) -> String {
    let mut name = String::from(kind);
    let mut rest = number;
    while rest > 0 {
        name.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('_'));
        rest /= 36;
    }
    name
}
