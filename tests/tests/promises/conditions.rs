//! Random arrays, conditions and deletes. A query must find the rows that an independent evaluator selects. A delete
//! must leave the others, here and in libtiledb. `HYPERSLAB_CONDITIONS` sets the number of arrays (default 120).

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use hyperslab::array::{CreateOptions, create};
use hyperslab::blocking::block_on;
use hyperslab::format::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::maintain::{ConsolidateOptions, Evolution, Mode, consolidate, count_deleted, delete, evolve, vacuum};
use hyperslab::{Array, Batch, CellCount, Cells, Column, Condition, Context, Datatype, Query, WriteOptions};
use hyperslab_tests::{fresh, python};

use super::setting;

/// Prints the numbers of the rows that libtiledb finds in each array of a folder.
const LIBTILEDB: &str = "
import os, sys, tiledb
for name in sorted(os.listdir(sys.argv[1]), key=int):
    with tiledb.open(os.path.join(sys.argv[1], name)) as array:
        found = array.query(attrs=['id'], dims=False)[:]['id']
    print(name, *sorted(int(v) for v in found))
";

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()].clone()
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
    /// Days since 1970. The least number is NaT.
    Day(i64),
}

#[derive(Debug, Clone)]
enum Test {
    Compare(String, &'static str, Value),
    In(String, Vec<Value>),
    IsNull(String),
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
}

type Row = Vec<(String, Value)>;

const DAYS: [i64; 5] = [i64::MIN, -1, 0, 3, 20];

fn written(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => format!("{v:?}").to_lowercase(),
        Value::Text(v) => format!("'{v}'"),
        Value::Day(i64::MIN) => "'NaT'".into(),
        Value::Day(-1) => "'1969-12-31'".into(),
        Value::Day(v) => format!("'1970-01-{:02}'", v + 1),
    }
}

impl Test {
    fn text(&self) -> String {
        let joined = |all: &[Self], word: &str| {
            let all: Vec<String> = all.iter().map(|t| format!("({})", t.text())).collect();
            all.join(word)
        };
        match self {
            Self::Compare(field, op, v) => format!("{field} {op} {}", written(v)),
            Self::In(field, all) => {
                let all: Vec<String> = all.iter().map(written).collect();
                format!("{field} in ({})", all.join(", "))
            }
            Self::IsNull(field) => format!("{field} is null"),
            Self::Not(inner) => format!("not ({})", inner.text()),
            Self::And(all) => joined(all, " and "),
            Self::Or(all) => joined(all, " or "),
        }
    }

    /// Whether a row meets the condition, or its negation if `negated` is set.
    fn holds(&self, row: &Row, negated: bool) -> bool {
        let value = |field: &str| row.iter().find(|(name, _)| name == field).map(|(_, v)| v).unwrap();
        match self {
            Self::Compare(field, op, v) => {
                let opposite = [("<", ">="), ("<=", ">"), ("==", "!=")];
                let turned = opposite
                    .iter()
                    .find_map(|(a, b)| if a == op { Some(*b) } else { (b == op).then_some(*a) });
                compares(value(field), if negated { turned.unwrap() } else { op }, v)
            }
            Self::In(field, all) => {
                let v = value(field);
                let none = |v: &Value| matches!(v, Value::Day(i64::MIN)) || matches!(v, Value::Float(f) if f.is_nan());
                let same = |a: &Value| compares(v, "==", a) || none(a) && none(v);
                *v != Value::Null && all.iter().any(same) != negated
            }
            Self::IsNull(field) => (*value(field) == Value::Null) != negated,
            Self::Not(inner) => inner.holds(row, !negated),
            Self::And(all) if negated => all.iter().any(|t| t.holds(row, true)),
            Self::Or(all) if negated => all.iter().all(|t| t.holds(row, true)),
            Self::And(all) => all.iter().all(|t| t.holds(row, false)),
            Self::Or(all) => all.iter().any(|t| t.holds(row, false)),
        }
    }
}

/// A null meets no comparison. NaN and NaT meet only `!=`.
fn compares(a: &Value, op: &str, b: &Value) -> bool {
    let order = match (a, b) {
        (Value::Null, _) => return false,
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Text(a), Value::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::Day(a), Value::Day(b)) => Some(a.cmp(b)).filter(|_| *a != i64::MIN && *b != i64::MIN),
        _ => unreachable!("values of one field"),
    };
    let Some(order) = order else { return op == "!=" };
    match op {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        "==" => order.is_eq(),
        _ => order.is_ne(),
    }
}

fn value_of(name: &str, r: &mut Random) -> Value {
    match name {
        "f" => Value::Float(r.pick(&[f64::NAN, -f64::NAN, -0.0, 0.0, 1.5, -2.0, f64::INFINITY])),
        "s" | "w" => Value::Text(r.pick(&["", "a", "ab", "b", "c"]).into()),
        "t" => Value::Day(r.pick(&DAYS)),
        _ => Value::Int(r.below(8) as i64),
    }
}

fn random_test(names: &[String], depth: u32, r: &mut Random) -> Test {
    if depth > 0 && !r.one_in(3) {
        let all = (0..2 + r.below(2)).map(|_| random_test(names, depth - 1, r)).collect();
        return match r.below(5) {
            0 => Test::Not(Box::new(random_test(names, depth - 1, r))),
            1 | 2 => Test::And(all),
            _ => Test::Or(all),
        };
    }
    let name = r.pick(names);
    match r.below(6) {
        0 => Test::In(name.clone(), (0..1 + r.below(3)).map(|_| value_of(&name, r)).collect()),
        1 if matches!(name.as_str(), "n" | "s") => Test::IsNull(name),
        _ => {
            let value = value_of(&name, r);
            Test::Compare(name, r.pick(&["<", "<=", ">", ">=", "==", "!="]), value)
        }
    }
}

/// Attributes that may be added later.
fn later(r: &mut Random) -> Vec<Attribute> {
    let new = |name, datatype, cell| Attribute::new(name, datatype, cell);
    let nullable = |a| Attribute { nullable: true, ..a };
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
                "n" | "s" if r.one_in(3) => Value::Null,
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
        let options = self.tick();
        let what = ConsolidateOptions::new(Mode::Fragments);
        block_on(consolidate(&self.array(), &what, &options))?;
        if r.one_in(2) {
            block_on(vacuum(&self.array(), Mode::Fragments, false, &options))?;
        }
        Ok(())
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

fn schema(r: &mut Random) -> (Schema, Vec<Attribute>) {
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
    (schema, added)
}

/// Runs one random history. Returns the numbers of the remaining rows, and how many deletes were refused.
fn live(context: &Context, number: usize) -> Result<(Vec<i64>, usize)> {
    let r = &mut Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1));
    let (schema, added) = schema(r);
    let name = number.to_string();
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [3; 32],
        key: None,
    };
    block_on(create(context, &name, &schema, &[], &options))?;
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
    let mut ids: Vec<i64> = life.rows(None)?.iter().map(id_of).collect();
    ids.sort_unstable();
    Ok((ids, refused))
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
