//! Options in the names of slices: `all+as=float32+fill=nan.npy`. Does no I/O.
//!
//! ```text
//! name   := selection {"+" option} "." extension
//! option := "order=" ("C" | "F") | "fill=" number | "as=" type | "limit=" count | "where=" condition
//!         | "range=" low ":" high | "cmap=" name | "coordinates=" ("values" | "index")
//! ```
//!
//! An option starts at a `+` before letters and `=`, outside quotes. `%2B` is a plus sign in a name. Values are
//! percent-decoded, so `%2F` is a slash.

use super::encode::Colors;
use super::selection::positions;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::format::schema::Layout;
use crate::query::Condition;
use crate::suggest;
use crate::vfs::path::{has_valid_escapes, percent_decode};

/// All options, in canonical order.
const KEYS: [&str; 8] = ["as", "cmap", "coordinates", "fill", "limit", "order", "range", "where"];

/// The options in a file name, after its selection.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    /// The order of the cells: row-major or column-major.
    pub(super) order: Layout,
    /// The value of null and unwritten cells, as written.
    pub(super) fill: Option<String>,
    /// The type of the values.
    pub(super) cast: Option<Datatype>,
    /// The largest number of cells.
    pub(super) limit: Option<u64>,
    /// Selects cells by their stored numbers, once the array's description is known.
    pub(super) condition: Option<Condition>,
    /// Whether the coordinates of a dense array are the values along its axes.
    pub(super) axis_values: Option<bool>,
    /// The colors of an image.
    pub(super) colors: Colors,
    /// The canonical spelling of all options; empty without options.
    pub(super) text: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Layout::RowMajor,
            fill: None,
            cast: None,
            limit: None,
            condition: None,
            axis_values: None,
            colors: Colors::default(),
            text: String::new(),
        }
    }
}

/// Splits a name without its extension into the selection and the options.
///
/// # Errors
/// [`Error::InvalidArgument`] with what to write instead.
pub(super) fn split(name: &str) -> Result<(&str, Options)> {
    let starts: Vec<usize> = positions(name, starts_option).collect();
    let part = |from: usize, to: usize| name.get(from..to).unwrap_or_default();
    let selection = part(0, starts.first().copied().unwrap_or(name.len()));
    let ends = starts.iter().skip(1).copied().chain([name.len()]);
    let mut options = Options::default();
    let mut written: Vec<(&str, String)> = Vec::new();
    for (start, end) in starts.iter().zip(ends) {
        let option = part(start + 1, end);
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        if written.iter().any(|(k, _)| *k == key) {
            return Err(Error::invalid(format!(
                "the option '{key}' is given twice; give it once"
            )));
        }
        options.set(key, &decoded(value)?)?;
        written.push((key, value.to_owned()));
    }
    for key in KEYS {
        for (_, value) in written.iter().filter(|(k, _)| *k == key) {
            options.text.extend(["+", key, "=", value]);
        }
    }
    Ok((selection, options))
}

/// Whether an option starts here.
fn starts_option(rest: &str) -> bool {
    let key = rest.strip_prefix('+').and_then(|rest| rest.split_once('='));
    key.is_some_and(|(key, _)| !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase()))
}

fn decoded(value: &str) -> Result<String> {
    let text = percent_decode(value).filter(|_| has_valid_escapes(value));
    text.ok_or_else(|| Error::invalid(format!("'{value}': write %25 for a percent sign")))
}

impl Options {
    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let wrong = |write: &str| Err(Error::invalid(format!("'{key}={value}' is not valid; write {write}")));
        match key {
            "order" => match value {
                "C" => self.order = Layout::RowMajor,
                "F" => self.order = Layout::ColMajor,
                _ => return wrong("order=C (row-major) or order=F (column-major)"),
            },
            "fill" if value.is_empty() => return wrong("a number, such as fill=-1 or fill=nan"),
            "fill" => self.fill = Some(value.to_owned()),
            "as" => {
                let numbers = Datatype::ALL.iter().filter(|t| t.is_integer() || t.is_float());
                let known: Vec<&str> = numbers.map(|t| t.name()).collect();
                let named = known.contains(&value).then(|| Datatype::from_name(value)).transpose()?;
                self.cast =
                    Some(named.ok_or_else(|| Error::invalid(suggest::unknown("type of numbers", value, &known)))?);
            }
            "limit" => match value.parse() {
                Ok(limit) => self.limit = Some(limit),
                Err(_) => return wrong("a number of cells, such as limit=100"),
            },
            "where" => {
                let condition = value.parse();
                self.condition = Some(condition.map_err(|e| Error::invalid(format!("'{key}={value}': {e}")))?);
            }
            "coordinates" => match value {
                "values" => self.axis_values = Some(true),
                "index" => self.axis_values = Some(false),
                _ => return wrong("coordinates=values or coordinates=index"),
            },
            "range" => self.colors.set_range(value)?,
            "cmap" => self.colors.set_map(value)?,
            _ => return Err(Error::invalid(suggest::unknown("option", key, &KEYS))),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_the_selection_in_any_order() {
        let (selection, options) = split("a@0:10,'x+as=y'+limit=5+as=float32+where=place == 'a+fill=b%2Fc'").unwrap();
        assert_eq!(selection, "a@0:10,'x+as=y'");
        assert_eq!((options.cast, options.limit), (Some(Datatype::Float32), Some(5)));
        assert_eq!(options.condition, Some("place == 'a+fill=b/c'".parse().unwrap()));
        assert_eq!(options.text, "+as=float32+limit=5+where=place == 'a+fill=b%2Fc'");
        let (_, other) = split("all+where=place == 'a+fill=b%2Fc'+limit=5+as=float32").unwrap();
        assert_eq!(other, options);
        // Plus signs of numbers and offsets from UTC are not options.
        for name in ["1e+5:2e+5", "2020-01-01T00+01:00", "all"] {
            assert_eq!(split(name).unwrap(), (name, Options::default()));
        }
    }

    #[test]
    fn wrong_options_say_what_to_write() {
        for (name, words) in [
            ("all+limt=5", "did you mean 'limit'?"),
            ("all+as=flot32", "did you mean 'float32'?"),
            ("all+as=char", "there is no type of numbers 'char'"),
            ("all+cmap=virids", "did you mean 'viridis'?"),
            ("all+order=row", "write order=C"),
            ("all+limit=-1", "write a number of cells"),
            ("all+range=5:5", "give the lowest and the highest value"),
            ("all+fill=", "write a number"),
            ("all+coordinates=both", "write coordinates=values or coordinates=index"),
            ("all+limit=1+limit=2", "given twice"),
            ("all+where=a >", "where=a >"),
            ("all+where=a%2", "write %25"),
        ] {
            let why = split(name).unwrap_err().to_string();
            assert!(why.contains(words), "{name}: {why}");
        }
    }
}
