//! A dataset in a few lines for people.

use std::fmt::Write as _;

use crate::calendar::{self, TimeUnit};
use crate::datatype::Datatype;

use super::model::{Application, Axis, Channel, Coordinates, Crs, Dataset, Regular, Table, Variable, VariableRole};

/// The most lines of one kind.
const LINES_MAX: usize = 12;
/// The longest text in a line, in characters.
const TEXT_MAX: usize = 80;

impl Dataset {
    /// The dataset in lines for people, each with its kind: `variable`, `axis`, `levels` and so on. Empty for an array of
    /// which only the schema is known. At most a dozen lines of each kind.
    pub fn summary(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let placed = |a: &Axis| !matches!(a.coordinates, Coordinates::Index | Coordinates::Dimension);
        let is_placed = self.variables.iter().flat_map(|v| &v.axes).any(placed);
        let is_plain = self.application == Application::Bare && self.children.is_empty() && !is_placed;
        if !is_plain {
            let version = self
                .version
                .as_ref()
                .map_or_else(String::new, |v| format!(", version {v}"));
            let title = self
                .title
                .as_ref()
                .map_or_else(String::new, |t| format!(": {}", short(t)));
            let known = match self.application {
                Application::Bare if is_placed => "cells with coordinates",
                Application::Bare => "members of no single application",
                known => known.title(),
            };
            lines.push(("holds", format!("{known}{}{title}", short(&version))));
            self.describe(&mut lines);
        }
        capped(&mut lines, "inside", inside(&self.children, 0));
        capped(
            &mut lines,
            "note",
            self.notes.iter().map(|n| n.replace('\n', " ")).collect(),
        );
        lines
    }

    fn describe(&self, lines: &mut Vec<(&'static str, String)>) {
        let data = |v: &&Variable| v.role == VariableRole::Data;
        capped(
            lines,
            "variable",
            self.variables.iter().filter(data).map(variable).collect(),
        );
        let others = self.variables.iter().filter(|v| !data(v));
        let others: Vec<&str> = others.map(|v| v.name.as_str()).collect();
        if !others.is_empty() {
            let names: Vec<String> = others.iter().take(LINES_MAX).map(|n| short(n)).collect();
            let more = if others.len() > LINES_MAX { ", …" } else { "" };
            lines.push(("coordinates", format!("{}{more}", names.join(", "))));
        }
        let mut axes: Vec<String> = Vec::new();
        for axis in self
            .variables
            .iter()
            .filter(data)
            .flat_map(|v| &v.axes)
            .filter_map(axis)
        {
            if !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        capped(lines, "axis", axes);
        capped(lines, "crs", self.crs.iter().map(crs).collect());
        if !self.levels.is_empty() {
            let shapes: Vec<String> = self.levels.iter().take(LINES_MAX).map(|l| times(&l.shape)).collect();
            lines.push(("levels", format!("{}: {}", self.levels.len(), shapes.join(", "))));
        }
        capped(lines, "channel", self.channels.iter().map(channel).collect());
        capped(lines, "table", self.tables.iter().map(table).collect());
        let embeddings = self.embeddings.iter().map(|e| {
            let count = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
            let of = e
                .table
                .as_ref()
                .map_or_else(String::new, |t| format!(" of {}", short(t)));
            format!(
                "{}: {} × {}{of}",
                short(&e.name),
                count(e.row_count),
                count(e.component_count)
            )
        });
        capped(lines, "embedding", embeddings.collect());
    }
}

/// Adds the first lines of one kind, and how many more there are.
fn capped(lines: &mut Vec<(&'static str, String)>, kind: &'static str, all: Vec<String>) {
    let more = all.len().saturating_sub(LINES_MAX);
    lines.extend(all.into_iter().take(LINES_MAX).map(|text| (kind, text)));
    if more > 0 {
        lines.push((kind, format!("and {more} more")));
    }
}

/// A line for each dataset inside, deeper ones indented.
fn inside(children: &[Dataset], depth: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for child in children {
        let counts = [
            (
                child.variables.iter().filter(|v| v.role == VariableRole::Data).count(),
                "variable",
            ),
            (child.tables.len(), "table"),
            (child.embeddings.len(), "embedding"),
            (child.levels.len(), "level"),
        ];
        let counts = counts.iter().filter(|(n, _)| *n > 0);
        let counts: Vec<String> = counts
            .map(|(n, what)| format!("{n} {what}{}", if *n == 1 { "" } else { "s" }))
            .collect();
        let counts = if counts.is_empty() {
            String::new()
        } else {
            format!(": {}", counts.join(", "))
        };
        lines.push(format!("{}{}{counts}", "  ".repeat(depth.min(8)), short(&child.name)));
        lines.extend(inside(&child.children, depth + 1));
    }
    lines
}

fn variable(v: &Variable) -> String {
    let mut text = short(&v.name);
    let axes: Vec<String> = v
        .axes
        .iter()
        .map(|a| format!("{} {}", short(&a.name), length(a)))
        .collect();
    if !axes.is_empty() {
        let _ = write!(text, " ({})", axes.join(", "));
    }
    let _ = write!(text, ", {}", v.datatype);
    if let Some(name) = v.long_name.as_ref().or(v.standard_name.as_ref()) {
        let _ = write!(text, ", {}", short(name));
    }
    if let Some(unit) = &v.unit {
        let _ = write!(text, " in {}", short(unit));
    }
    if let Some(packing) = v.packing {
        let _ = write!(
            text,
            ", packed: value = stored × {} + {}",
            packing.scale, packing.offset
        );
    }
    let missing: Vec<String> = v.missing.values.iter().take(4).map(|m| short(&plain(m))).collect();
    if !missing.is_empty() {
        let _ = write!(text, ", no data: {}", missing.join(", "));
    }
    text
}

fn length(axis: &Axis) -> String {
    axis.length.map_or_else(|| "?".to_owned(), |n| n.to_string())
}

/// An axis with its role and coordinates. `None` if nothing is known but its length.
fn axis(a: &Axis) -> Option<String> {
    let role = a.role.name();
    let mut text = short(&a.name);
    if role != "other" && !role.eq_ignore_ascii_case(&a.name) {
        let _ = write!(text, " ({role})");
    }
    let formula = match &a.coordinates {
        Coordinates::Regular(r) => Some(*r),
        Coordinates::Array { regular, .. } => *regular,
        _ => None,
    };
    let unit = a.unit.as_ref().map_or_else(String::new, |u| format!(" {}", short(u)));
    match (formula, &a.coordinates) {
        (Some(Regular { start, step }), _) => {
            let end = start + step * a.length.unwrap_or(1).saturating_sub(1) as f64;
            let shown = match dates(a, start, end) {
                Some(dates) => format!("{dates}, step {} {}", number(step), time_word(&unit)),
                None => format!("{} to {}{unit}, step {}", number(start), number(end), number(step)),
            };
            let _ = write!(text, ": {shown}");
        }
        (None, Coordinates::Array { path, .. }) => {
            let _ = write!(
                text,
                ": values of {}{}",
                short(path),
                if unit.is_empty() { unit } else { format!(" in{unit}") }
            );
        }
        _ if a.table.is_some() => {
            let _ = write!(text, ": rows of {}", short(a.table.as_deref().unwrap_or_default()));
        }
        _ => return None,
    }
    let calendar = a
        .calendar
        .as_ref()
        .filter(|c| *c != "standard" && !c.ends_with("gregorian"));
    if let Some(calendar) = calendar {
        let _ = write!(text, ", calendar {}", short(calendar));
    }
    Some(text)
}

/// Both ends of an axis of times such as `days since 2000-01-01`.
fn dates(a: &Axis, start: f64, end: f64) -> Option<String> {
    let unit = TimeUnit::parse(a.unit.as_ref()?, a.calendar.as_deref().unwrap_or("standard"))?;
    let date = |v: f64| {
        let text = calendar::text(unit.milliseconds(v), Datatype::DatetimeMs)?;
        Some(text.trim_end_matches(".000").trim_end_matches("T00:00:00").to_owned())
    };
    Some(format!("{} to {}", date(start)?, date(end)?))
}

/// `days` of `days since 2000-01-01`.
fn time_word(unit: &str) -> &str {
    unit.split_whitespace().next().unwrap_or_default()
}

/// A number with at most nine digits, without what a float32 rounds.
fn number(v: f64) -> String {
    let digits = 8 - v.abs().max(1.0).log10().floor().clamp(0.0, 8.0) as usize;
    let text = format!("{v:.digits$}");
    let trimmed = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    if trimmed == "0" && v != 0.0 || v.abs() >= 1e15 {
        format!("{v:e}")
    } else {
        trimmed.to_owned()
    }
}

fn crs(c: &Crs) -> String {
    let cf = || c.cf.get("grid_mapping_name").map(plain);
    let name = c.name.clone().or_else(cf).map(|n| short(&n));
    match (name, c.code.as_ref().map(|c| short(c))) {
        (Some(name), Some(code)) => format!("{name} ({code})"),
        (name, code) => name.or(code).unwrap_or_else(|| "without a name".to_owned()),
    }
}

fn channel(c: &Channel) -> String {
    let place = || c.index.map_or_else(|| short(&c.variable), |i| i.to_string());
    let mut text = c.name.as_ref().map_or_else(place, |n| short(n));
    if let Some(what) = &c.interpretation {
        let _ = write!(text, ", {}", short(what));
    }
    if let Some([r, g, b, _]) = c.color {
        let _ = write!(text, ", #{r:02x}{g:02x}{b:02x}");
    }
    if let Some([lo, hi]) = c.range {
        let _ = write!(text, ", {} to {}", number(lo), number(hi));
    }
    text
}

fn table(t: &Table) -> String {
    let name = if t.name.is_empty() {
        String::new()
    } else {
        format!("{}: ", short(&t.name))
    };
    let rows = t.rows.map_or_else(String::new, |n| format!("{n} rows, "));
    let mut text = format!("{name}{rows}{} columns", t.columns.len());
    if !t.key.is_empty() {
        let key: Vec<String> = t.key.iter().take(4).map(|k| short(k)).collect();
        let _ = write!(text, ", by {}", key.join(", "));
    }
    if let Some(geometry) = &t.geometry {
        let kind = geometry
            .kind
            .as_ref()
            .map_or_else(|| "geometries".to_owned(), |k| short(k));
        let _ = write!(text, ", {kind} in {}", short(&geometry.column));
    } else if !t.points.is_empty() {
        let _ = write!(
            text,
            ", points at {}",
            t.points.iter().map(|p| short(p)).collect::<Vec<_>>().join(", ")
        );
    }
    text
}

fn times(shape: &[u64]) -> String {
    let all: Vec<String> = shape.iter().map(u64::to_string).collect();
    all.join("×")
}

fn plain(json: &serde_json::Value) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// At most [`TEXT_MAX`] characters on one line.
fn short(text: &str) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    match line.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_show_no_rounding_of_float32() {
        let shown = [0.1_f32, -179.95, 45.0].map(|v| number(f64::from(v)));
        assert_eq!(shown, ["0.1", "-179.949997", "45"].map(str::to_owned));
        assert_eq!(number(4_999_995.0), "4999995");
        assert_eq!(number(0.000_000_000_1), "1e-10");
        assert_eq!((number(0.0), number(1e300)), ("0".into(), "1e300".into()));
    }

    #[test]
    fn a_plain_array_needs_no_summary() {
        assert!(Dataset::default().summary().is_empty());
        let names = (0..20).map(|i| Dataset {
            name: format!("a{i}"),
            ..Dataset::default()
        });
        let group = Dataset {
            children: names.collect(),
            ..Dataset::default()
        };
        assert_eq!(group.summary().len(), 1 + LINES_MAX + 1);
        assert_eq!(group.summary().last(), Some(&("inside", "and 8 more".to_owned())));
    }
}
