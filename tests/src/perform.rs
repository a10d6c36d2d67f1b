//! Performs the steps of a case with Hyperslab.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Evolution, Mode, consolidate, delete, evolve, vacuum};
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::{Array, Cells, Context, CreateOptions, OpenOptions, Window, WriteOptions};

use crate::case::{Case, Op, condition, layout};

/// Creates the array of a case at `path`, at a time in milliseconds.
///
/// # Errors
/// The error of the engine.
pub fn begin(context: &Context, path: &str, case: &Case, timestamp_ms: u64) -> Result<()> {
    let enums = case
        .schema
        .enums
        .iter()
        .map(crate::case::EnumSpec::build)
        .collect::<Result<Vec<_>>>()?;
    let o = CreateOptions {
        timestamp_ms,
        seed: seed(&case.name, 0),
        key: case.key()?,
    };
    block_on(Array::create(context, path, &case.schema.build()?, &enums, &o))?;
    Ok(())
}

/// Creates the array of a case at `path` and performs all of its steps.
///
/// # Errors
/// The error of the engine.
pub fn perform(context: &Context, path: &str, case: &Case) -> Result<()> {
    begin(context, path, case, 1)?;
    for (i, op) in case.ops.iter().enumerate() {
        step(context, path, case, op, seed(&case.name, i + 1))?;
    }
    Ok(())
}

/// Bytes that differ between cases and between steps, but are the same in every run.
pub fn seed(name: &str, step: usize) -> [u8; 32] {
    let mut out = [0; 32];
    let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ step as u64;
    for byte in name.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    for chunk in out.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chunk.copy_from_slice(&state.to_le_bytes());
    }
    // If writes have the same timestamp, the later one wins.
    out[..4].copy_from_slice(&u32::try_from(step).unwrap_or(u32::MAX).to_be_bytes());
    out
}

fn mode(name: &str) -> Result<Mode> {
    Ok(match name {
        "fragments" => Mode::Fragments,
        "fragment_meta" => Mode::FragmentMetadata,
        "commits" => Mode::Commits,
        "array_meta" => Mode::ArrayMetadata,
        other => bail!("no mode '{other}'"),
    })
}

/// Performs one step on the array of a case at `path`.
///
/// # Errors
/// The error of the engine.
pub fn step(context: &Context, path: &str, case: &Case, op: &Op, seed: [u8; 32]) -> Result<()> {
    let array = block_on(Array::open(
        context,
        path,
        &OpenOptions {
            window: Window::ALL,
            key: case.key()?,
        },
    ))?;
    let schema = array.schema();
    let at = |t: Option<u64>| WriteOptions {
        timestamp_ms: t.unwrap_or(0),
        seed,
        sync: false,
    };
    match op {
        Op::Write {
            t,
            layout: order,
            r#box,
            cols,
        } => {
            let columns = cols
                .iter()
                .map(|(name, c)| Ok((name.clone(), case.schema.column(schema, name, c)?)));
            let cells = Cells {
                region: r#box.as_ref().map(|b| case.schema.ranges(b)),
                layout: layout(order)?,
                columns: columns.collect::<Result<_>>()?,
            };
            block_on(array.write(cells, &at(*t)))?;
        }
        Op::Delete { t, cond } => {
            let cond = condition(schema, &case.enum_types()?, cond)?;
            block_on(delete(&array, &cond, &at(Some(*t))))?;
        }
        Op::Evolve {
            t,
            drop,
            add,
            add_enums,
            extend,
            expand,
        } => {
            let mut change = Evolution {
                drop: drop.clone(),
                ..Evolution::default()
            };
            change.add = add.iter().map(crate::case::AttrSpec::build).collect::<Result<_>>()?;
            change.add_enumerations = add_enums
                .iter()
                .map(crate::case::EnumSpec::build)
                .collect::<Result<_>>()?;
            for e in extend {
                let old = block_on(array.enumeration(&e.name))?;
                change
                    .extend_enumerations
                    .push((e.name.clone(), e.values(old.values.datatype)));
            }
            change.current_domain = expand.as_ref().map(|r| case.schema.ranges(r));
            block_on(evolve(&array, &change, &at(*t)))?;
        }
        Op::Meta { t, put, del } => {
            let mut entries: BTreeMap<String, Option<MetaValue>> = del.iter().map(|k| (k.clone(), None)).collect();
            for (key, (datatype, num, data)) in put {
                let datatype = hyperslab::Datatype::from_name(datatype)?;
                entries.insert(
                    key.clone(),
                    Some(MetaValue {
                        datatype,
                        num: *num,
                        data: data.0.clone(),
                    }),
                );
            }
            let entries: Vec<Entry> = entries.into_iter().map(|(key, value)| Entry { key, value }).collect();
            block_on(array.write_metadata(&entries, &at(*t)))?;
        }
        Op::Consolidate { mode: m, config } => {
            let mut options = ConsolidateOptions::new(mode(m)?);
            options.purge_deleted = config
                .get("sm.consolidation.purge_deleted_cells")
                .is_some_and(|v| v == "true");
            block_on(consolidate(&array, &options, &at(None)))?;
        }
        Op::Vacuum { mode: m } => {
            block_on(vacuum(&array, mode(m)?, false, &at(None)))?;
        }
    }
    Ok(())
}
