//! Random arrays, conditions and deletes. A query must find the rows that an independent evaluator selects. A delete
//! must leave the others, here and in libtiledb, before a merge and after. Some attributes have enumerations.
//! `HYPERSLAB_CONDITIONS` sets the number of arrays (default 120).

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Evolution, Mode, consolidate, count_deleted, delete, evolve, vacuum};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Enumeration, EnumerationRef, Layout, Schema};
use hyperslab::{
    Array, Batch, CellCount, Cells, Column, Condition, Context, CreateOptions, Datatype, Query, WriteOptions,
};
use hyperslab_tests::{fresh, python};

use super::setting;
use model::{NULLABLE, Random, Row, Value, labels, random_test, value_of};

mod model;

/// Prints the numbers of the rows that libtiledb finds in each array of a folder.
const LIBTILEDB: &str = "
import os, sys, tiledb
for name in sorted(os.listdir(sys.argv[1]), key=int):
    with tiledb.open(os.path.join(sys.argv[1], name)) as array:
        found = array.query(attrs=['id'], dims=False)[:]['id']
    print(name, *sorted(int(v) for v in found))
";

/// The values of an attribute's enumeration.
fn enumeration(a: &Attribute) -> Option<Enumeration> {
    let (labels, ordered) = labels(a.enumeration.as_deref()?)?;
    let known = &labels[..3];
    let values = match a.name.as_str() {
        "k" => Column::from_values(Datatype::Int32, &[30, -10, 20]),
        _ => Column::from_cells(Datatype::StringUtf8, known.iter().map(|text| text.trim_matches('\''))),
    };
    Some(Enumeration {
        name: a.name.clone(),
        file: String::new(),
        ordered,
        values,
    })
}

/// Attributes that may be added later.
fn later(r: &mut Random) -> Vec<Attribute> {
    let new = |name, datatype, cell| Attribute::new(name, datatype, cell);
    let nullable = |a| Attribute { nullable: true, ..a };
    let enumerated = |a: Attribute| Attribute {
        enumeration: Some(a.name.clone()),
        ..a
    };
    let mut m = new("m", Datatype::Int64, CellCount::ONE);
    m.fill = 5_i64.to_le_bytes().to_vec();
    let mut f = new("f", Datatype::Float64, CellCount::ONE);
    f.fill = r.pick(&[1.5_f64, f64::NAN, 0.0]).to_le_bytes().to_vec();
    vec![
        m,
        f,
        nullable(new("n", Datatype::Int32, CellCount::ONE)),
        nullable(new("s", Datatype::StringUtf8, CellCount::Var)),
        new("t", Datatype::DatetimeDay, CellCount::ONE),
        enumerated(Attribute {
            fill: vec![r.pick(&[1, 255])],
            ..new("e", Datatype::Uint8, CellCount::ONE)
        }),
        enumerated(nullable(new("o", Datatype::Int16, CellCount::ONE))),
        enumerated(nullable(new("k", Datatype::Int64, CellCount::ONE))),
    ]
}

fn column(name: &str, values: &[Value]) -> Column {
    let int = |v: &Value| if let Value::Int(v) = v { *v } else { 0 };
    let day = |v: &Value| if let Value::Day(v) = v { *v } else { 0 };
    let float = |v: &Value| if let Value::Float(v) = v { *v } else { 0.0 };
    let text = |v: &Value| {
        if let Value::Text(v) = v {
            v.clone()
        } else {
            String::new()
        }
    };
    let validity = || values.iter().map(|v| u8::from(*v != Value::Null)).collect();
    let narrow = || Vec::from_iter(values.iter().map(|v| int(v) as i32));
    match name {
        "f" => Column::from_values(Datatype::Float64, &Vec::from_iter(values.iter().map(float))),
        "t" => Column::from_values(Datatype::DatetimeDay, &Vec::from_iter(values.iter().map(day))),
        "s" => Column::from_cells(Datatype::StringUtf8, values.iter().map(text)).with_validity(validity()),
        "w" => Column::from_cells(Datatype::StringAscii, values.iter().map(text)),
        "n" => Column::from_values(Datatype::Int32, &narrow()).with_validity(validity()),
        "e" => Column::from_values(Datatype::Uint8, &Vec::from_iter(values.iter().map(|v| int(v) as u8))),
        "o" => Column::from_values(Datatype::Int16, &Vec::from_iter(values.iter().map(|v| int(v) as i16)))
            .with_validity(validity()),
        "k" => Column::from_values(Datatype::Int64, &Vec::from_iter(values.iter().map(int))).with_validity(validity()),
        "y" | "a" => Column::from_values(Datatype::Int32, &narrow()),
        _ => Column::from_values(Datatype::Int64, &Vec::from_iter(values.iter().map(int))),
    }
}

fn rows_of(batch: &Batch) -> Vec<Row> {
    let value = |name: &str, c: &Column, i: usize| {
        if c.is_null(i) {
            return Value::Null;
        }
        let cell = c.cell(i);
        let wide = || i64::from_le_bytes(cell.try_into().unwrap());
        match name {
            "f" => Value::Float(f64::from_le_bytes(cell.try_into().unwrap())),
            "s" | "w" => Value::Text(String::from_utf8(cell.to_vec()).unwrap()),
            "t" => Value::Day(wide()),
            "e" => Value::Int(cell[0].into()),
            "o" => Value::Int(i16::from_le_bytes(cell.try_into().unwrap()).into()),
            _ if cell.len() == 4 => Value::Int(i32::from_le_bytes(cell.try_into().unwrap()).into()),
            _ => Value::Int(wide()),
        }
    };
    let row = |i| batch.columns.iter().map(|(n, c)| (n.clone(), value(n, c, i))).collect();
    (0..usize::try_from(batch.cells).unwrap()).map(row).collect()
}

fn id_of(row: &Row) -> i64 {
    match row.iter().find(|(name, _)| name == "id") {
        Some((_, Value::Int(id))) => *id,
        _ => unreachable!("every row has a number"),
    }
}

/// An array that changes every millisecond.
struct Life {
    context: Context,
    name: String,
    now: u64,
    ids: i64,
}

impl Life {
    fn array(&self) -> Array {
        block_on(Array::open(&self.context, &self.name, &Default::default())).unwrap()
    }

    fn tick(&mut self) -> WriteOptions {
        self.now += 10;
        let mut seed = [7; 32];
        seed[..8].copy_from_slice(&self.now.to_be_bytes());
        WriteOptions {
            timestamp_ms: self.now,
            seed,
            sync: false,
        }
    }

    fn write(&mut self, r: &mut Random) -> Result<()> {
        let (options, array) = (self.tick(), self.array());
        let schema = array.schema();
        let fields = schema.dimensions.iter().map(|d| d.name.clone());
        let fields: Vec<String> = fields.chain(schema.attributes.iter().map(|a| a.name.clone())).collect();
        let mut places = BTreeSet::new();
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for _ in 0..1 + r.below(12) {
            self.ids += 1;
            let value = |name: &String| match name.as_str() {
                "id" => Value::Int(self.ids),
                name if NULLABLE.contains(&name) && r.one_in(3) => Value::Null,
                _ => value_of(name, r),
            };
            let row: Vec<Value> = fields.iter().map(value).collect();
            if places.insert(format!("{:?}", &row[..schema.dimensions.len()])) {
                rows.push(row);
            }
        }
        let column = |(i, name): (usize, &String)| {
            let values: Vec<Value> = rows.iter().map(|row| row[i].clone()).collect();
            (name.clone(), column(name, &values))
        };
        let cells = Cells {
            region: None,
            layout: Layout::Unordered,
            columns: fields.iter().enumerate().map(column).collect(),
        };
        block_on(array.write(cells, &options))?;
        Ok(())
    }

    fn merge(&mut self, r: &mut Random) -> Result<()> {
        let before = self.ids()?;
        let options = self.tick();
        let mut what = ConsolidateOptions::new(Mode::Fragments);
        what.purge_deleted = r.one_in(3);
        block_on(consolidate(&self.array(), &what, &options))?;
        if r.one_in(2) {
            block_on(vacuum(&self.array(), Mode::Fragments, false, &options))?;
        }
        ensure!(self.ids()? == before, "a merge changes {before:?} to {:?}", self.ids()?);
        Ok(())
    }

    /// The numbers of the rows, rising.
    fn ids(&self) -> Result<Vec<i64>> {
        let mut ids: Vec<i64> = self.rows(None)?.iter().map(id_of).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn rows(&self, condition: Option<&str>) -> Result<Vec<Row>> {
        let condition = condition.map(str::parse::<Condition>).transpose()?;
        let query = Query {
            condition,
            ..Query::default()
        };
        Ok(rows_of(&block_on(self.array().read(&query))?))
    }

    /// Deletes by a random condition. Returns whether the delete could be stored.
    fn delete(&mut self, r: &mut Random) -> Result<bool> {
        let array = self.array();
        let schema = array.schema();
        let fields = schema.dimensions.iter().map(|d| d.name.clone());
        let fields: Vec<String> = fields.chain(schema.attributes.iter().map(|a| a.name.clone())).collect();
        let test = random_test(&fields, 2, r);
        let text = test.text();
        let all = self.rows(None)?;
        let expected = |meets: bool| -> BTreeSet<i64> {
            let wanted = all.iter().filter(|row| test.holds(row, false) == meets);
            wanted.map(id_of).collect()
        };
        let found = |rows: Vec<Row>| rows.iter().map(id_of).collect::<BTreeSet<i64>>();
        ensure!(found(self.rows(Some(&text))?) == expected(true), "query: {text}");
        let (options, condition) = (self.tick(), text.parse::<Condition>()?);
        let counts = block_on(count_deleted(&array, &condition, &options));
        if let Err(e) = block_on(delete(&array, &condition, &options)) {
            let told = e.to_string();
            ensure!(
                schema.allows_duplicates && told.contains("would remove"),
                "{text}: {told}"
            );
            ensure!(self.rows(None)?.len() == all.len(), "refused: {text}");
            return Ok(false);
        }
        let (counts, hits) = (counts?, expected(true).len() as u64);
        ensure!(counts.values().sum::<u64>() == hits, "{text}: {counts:?}, not {hits}");
        let left = found(self.rows(None)?);
        ensure!(
            left == expected(false),
            "delete: {text}: {left:?}, not {:?}",
            expected(false)
        );
        Ok(true)
    }
}

/// An array's first schema, the enumerations in it, and the attributes that come later.
fn schema(r: &mut Random) -> (Schema, Vec<Enumeration>, Vec<Attribute>) {
    let narrow = |name| Dimension::new(name, Datatype::Int32, 0_i32, 9_i32, 4_i32);
    let dims = match r.below(3) {
        0 => vec![Dimension::new("x", Datatype::Int64, 0_i64, 9_i64, 3_i64)],
        1 => vec![narrow("y"), Dimension::new("x", Datatype::Int64, 0_i64, 9_i64, 3_i64)],
        _ => vec![Dimension::string("w"), narrow("y")],
    };
    let mut first = vec![
        Attribute::new("id", Datatype::Int64, CellCount::ONE),
        Attribute::new("a", Datatype::Int32, CellCount::ONE),
    ];
    let (now, added): (Vec<_>, Vec<_>) = later(r).into_iter().partition(|_| r.one_in(3));
    first.extend(now);
    let mut schema = Schema::new(ArrayType::Sparse, dims, first);
    schema.capacity = r.pick(&[2, 5, 100]);
    schema.allows_duplicates = r.one_in(3);
    let enumerations: Vec<Enumeration> = schema.attributes.iter().filter_map(enumeration).collect();
    let named = |e: &Enumeration| EnumerationRef {
        name: e.name.clone(),
        file: String::new(),
    };
    schema.enumerations = enumerations.iter().map(named).collect();
    (schema, enumerations, added)
}

/// Runs one random history. Returns the numbers of the remaining rows, and how many deletes were refused.
fn live(context: &Context, number: usize) -> Result<(Vec<i64>, usize)> {
    let r = &mut Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1));
    let (schema, enumerations, added) = schema(r);
    let name = number.to_string();
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [3; 32],
        key: None,
    };
    block_on(Array::create(context, &name, &schema, &enumerations, &options))?;
    let mut life = Life {
        context: context.clone(),
        name,
        now: 10,
        ids: 0,
    };
    for _ in 0..1 + r.below(2) {
        life.write(r)?;
    }
    let change = Evolution {
        add_enumerations: added.iter().filter_map(enumeration).collect(),
        add: added,
        ..Evolution::default()
    };
    let options = life.tick();
    if !change.add.is_empty() {
        block_on(evolve(&life.array(), &change, &options))?;
    }
    let mut refused = 0;
    for _ in 0..2 + r.below(5) {
        match r.below(5) {
            0 | 1 => life.write(r)?,
            2 if r.one_in(2) => life.merge(r)?,
            _ => refused += usize::from(!life.delete(r)?),
        }
    }
    refused += usize::from(!life.delete(r)?);
    if r.one_in(2) {
        life.merge(r)?;
    }
    Ok((life.ids()?, refused))
}

fn libtiledb(folder: &Path) -> Result<Vec<Vec<i64>>> {
    let out = Command::new(python()).arg("-c").arg(LIBTILEDB).arg(folder).output()?;
    ensure!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout)?;
    let row = |line: &str| line.split(' ').skip(1).map(|v| Ok(v.parse()?)).collect();
    text.lines().map(row).collect()
}

#[test]
fn a_delete_removes_what_a_query_finds_and_nothing_else() {
    let folder = fresh("conditions");
    let context = Context::local(&folder);
    let count = setting("HYPERSLAB_CONDITIONS", 120);
    let lives = (0..count).map(|number| live(&context, number).with_context(|| format!("array {number}")));
    let (ids, refused): (Vec<_>, Vec<_>) = lives.collect::<Result<Vec<_>>>().unwrap().into_iter().unzip();
    let refused: usize = refused.iter().sum();
    println!("conditions: {count} arrays, {refused} deletes refused");
    let theirs = libtiledb(&folder).unwrap();
    assert_eq!(theirs.len(), count);
    for (number, (ours, theirs)) in ids.iter().zip(&theirs).enumerate() {
        assert_eq!(theirs, ours, "array {number} as libtiledb reads it");
    }
}
