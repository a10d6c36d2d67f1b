//! Conditions, and which rows meet them, without the engine.

/// Attributes whose cells may be null.
pub(super) const NULLABLE: [&str; 4] = ["n", "s", "o", "k"];

pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()].clone()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
    /// Days since 1970. The least number is NaT.
    Day(i64),
    /// What a condition calls a value of an enumeration, and the code that cells have for it, if it is known.
    Label(&'static str, Option<i64>),
}

/// Attributes with enumerations: their labels as conditions write them, the last of which is unknown, and whether these
/// have an order. Cells of `o` and `k` may be null.
const LABELS: [(&str, [&str; 4], bool); 3] = [
    ("e", ["'red'", "'green'", "'blue'", "'grey'"], false),
    ("o", ["'l'", "'m'", "'s'", "'xl'"], true),
    ("k", ["30", "-10", "20", "25"], false),
];

pub(super) fn labels(field: &str) -> Option<([&'static str; 4], bool)> {
    let found = LABELS.iter().find(|(name, ..)| *name == field);
    found.map(|(_, labels, ordered)| (*labels, *ordered))
}

#[derive(Debug, Clone)]
pub(super) enum Test {
    Compare(String, &'static str, Value),
    In(String, Vec<Value>),
    IsNull(String),
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
}

pub(super) type Row = Vec<(String, Value)>;

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
        Value::Label(text, _) => (*text).into(),
    }
}

impl Test {
    pub(super) fn text(&self) -> String {
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
    pub(super) fn holds(&self, row: &Row, negated: bool) -> bool {
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

/// A null meets no comparison. NaN, NaT and unknown labels meet only `!=`.
fn compares(a: &Value, op: &str, b: &Value) -> bool {
    let order = match (a, b) {
        (Value::Null, _) => return false,
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Text(a), Value::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::Int(code), Value::Label(_, of)) => of.map(|of| code.cmp(&of)),
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

/// A value to compare with.
fn asked(name: &str, r: &mut Random) -> Value {
    let Some((labels, _)) = labels(name) else {
        return value_of(name, r);
    };
    let i = r.below(4) as usize;
    Value::Label(labels[i], (i < 3).then_some(i as i64))
}

/// A value of a cell. Codes below 0 are beyond the enumeration, and so is 255, the fill value of `e`.
pub(super) fn value_of(name: &str, r: &mut Random) -> Value {
    match name {
        "e" => Value::Int(r.below(3) as i64),
        "o" => Value::Int(r.pick(&[0, 1, 2, -1, -7])),
        "k" => Value::Int(r.pick(&[0, 1, 2, -1])),
        "f" => Value::Float(r.pick(&[f64::NAN, -f64::NAN, -0.0, 0.0, 1.5, -2.0, f64::INFINITY])),
        "s" | "w" => Value::Text(r.pick(&["", "a", "ab", "b", "c"]).into()),
        "t" => Value::Day(r.pick(&DAYS)),
        _ => Value::Int(r.below(8) as i64),
    }
}

pub(super) fn random_test(names: &[String], depth: u32, r: &mut Random) -> Test {
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
        0 => Test::In(name.clone(), (0..1 + r.below(3)).map(|_| asked(&name, r)).collect()),
        1 if NULLABLE.contains(&name.as_str()) => Test::IsNull(name),
        _ => {
            let value = asked(&name, r);
            let ordered = labels(&name).is_none_or(|(_, ordered)| ordered);
            let ops: &[_] = if ordered {
                &["<", "<=", ">", ">=", "==", "!="]
            } else {
                &["==", "!="]
            };
            Test::Compare(name, r.pick(ops), value)
        }
    }
}
