//! Items as rows of a table and as JSON.

use hyperslab::CellCount;
use hyperslab::schema::Attribute;
use serde_json::{Value, json};

use super::item::{Item, LEFTOVER, Stray, Summary};
use crate::{show, sizes};

impl Summary {
    /// `344 × 403`, or `9 cells by x, y`.
    fn extent(&self, kind: &str) -> String {
        match &self.shape {
            Some(lengths) => lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(" × "),
            None if kind == "dense" => String::new(),
            None => format!("{} cells by {}", self.cells, self.dimensions.join(", ")),
        }
    }

    fn fields(&self) -> String {
        let attributes: Vec<_> = self.attributes.iter().map(show::attribute).collect();
        format!(
            "{}  ({}, {})",
            show::shorten(&attributes.join(", "), 100),
            sizes::show(self.bytes),
            show::count(self.fragments as u64, "fragment") + &self.deletes()
        )
    }

    /// A note that the count includes deleted cells.
    fn deletes(&self) -> String {
        match self.deletes {
            0 => String::new(),
            n => format!(", {} not subtracted", show::count(n as u64, "delete")),
        }
    }

    fn json(&self) -> Value {
        let attribute = |a: &Attribute| {
            let cell = match a.cell {
                CellCount::Fixed(n) => json!(n),
                CellCount::Var => json!("var"),
            };
            json!({"name": a.name, "type": a.datatype.to_string(), "cell": cell, "nullable": a.nullable})
        };
        json!({
            "shape": self.shape,
            "dimensions": self.dimensions,
            "attributes": self.attributes.iter().map(attribute).collect::<Vec<_>>(),
            "cells": self.cells,
            "bytes": self.bytes,
            "fragments": self.fragments,
            "deletes": self.deletes,
        })
    }
}

impl Item {
    pub(super) fn row(&self, name: &str) -> Vec<String> {
        let circle = self.circle.then_some("it is this group, or one above it");
        let circle = circle.or(self.repeated.then_some("its members are shown above"));
        let stray = self.stray.map(|stray| match stray {
            Stray::NoMember => "no member of the group",
            Stray::InArray => "inside an array, whose readers do not see it; move it out",
        });
        let left = (self.kind == LEFTOVER).then_some("of a killed command; the next import or create here removes it");
        let stray = stray.or(left);
        let remarks = [self.problem.as_deref().or(circle), stray].into_iter().flatten();
        let remarks = remarks.map(|remark| format!("({remark})"));
        let array = self.array.as_ref();
        let fields: Vec<String> = array.map(Summary::fields).into_iter().chain(remarks).collect();
        vec![
            name.to_owned(),
            self.kind.to_owned(),
            array.map_or_else(String::new, |a| a.extent(self.kind)),
            fields.join("  "),
        ]
    }

    pub(super) fn branches(&self, indent: &str, rows: &mut Vec<Vec<String>>) {
        for (i, child) in self.children().iter().enumerate() {
            let last = i + 1 == self.children().len();
            rows.push(child.row(&format!("{indent}{} {}", if last { "└─" } else { "├─" }, child.name)));
            child.branches(&format!("{indent}{}  ", if last { " " } else { "│" }), rows);
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut value = json!({"name": self.name, "type": self.kind});
        if let Some(map) = value.as_object_mut() {
            if let Some(Value::Object(array)) = self.array.as_ref().map(Summary::json) {
                map.extend(array);
            }
            if let Some(problem) = &self.problem {
                map.insert("error".into(), problem.clone().into());
            }
            if self.circle {
                map.insert("circle".into(), true.into());
            }
            if self.repeated {
                map.insert("repeated".into(), true.into());
            }
            if self.stray == Some(Stray::NoMember) {
                map.insert("member".into(), false.into());
            }
            if let Some(children) = &self.children {
                map.insert("children".into(), children.iter().map(Self::json).collect());
            }
        }
        value
    }
}
