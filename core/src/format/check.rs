//! Checks whether an array can be created with a schema, and fills in what the schema leaves open.

use std::collections::HashSet;

use super::attribute::{Attribute, DataOrder};
use super::domain::Dimension;
use super::schema::{Layout, Schema};
use crate::datatype::{CellCount, Datatype, Physical};
use crate::error::{Error, Result};
use crate::filter::{self, PipelineTarget};
use crate::limits;
use crate::scalar::{Scalar, ScalarRange};

/// The most dimensions of a Hilbert curve: 63 bits with at least 3 bits for each dimension.
pub(crate) const HILBERT_DIMENSIONS_MAX: usize = 16;

impl Schema {
    /// Checks whether an array can be created with this schema.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] names the dimension, attribute or filter, and says what is allowed.
    pub fn check(&self) -> Result<()> {
        self.check_names()?;
        self.check_shape()?;
        for d in &self.dimensions {
            self.check_dimension(d)
                .map_err(|why| Error::invalid(format!("dimension '{}': {why}", d.name)))?;
            filter::check(self.dimension_filters(d), d.datatype, d.cell, PipelineTarget::Dimension)?;
        }
        for a in &self.attributes {
            self.check_attribute(a)
                .map_err(|why| Error::invalid(format!("attribute '{}': {why}", a.name)))?;
            filter::check(&a.filters, a.datatype, a.cell, PipelineTarget::Attribute)?;
        }
        filter::check(
            &self.offsets_filters,
            Datatype::Uint64,
            CellCount::ONE,
            PipelineTarget::Offsets,
        )?;
        filter::check(
            &self.validity_filters,
            Datatype::Uint8,
            CellCount::ONE,
            PipelineTarget::Validity,
        )?;
        self.check_current_domain()
    }

    /// Completes the schema for creation: a dimension without tile extent gets one tile that spans its domain. String
    /// dimensions and arrays in Hilbert order are left alone.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] if the domain holds every value of its type, so that no extent can span it.
    pub fn completed(mut self) -> Result<Self> {
        if self.cell_order == Layout::Hilbert {
            return Ok(self);
        }
        for d in &mut self.dimensions {
            if let (None, Some(domain)) = (&d.extent, &d.domain) {
                let extent = whole_extent(d.datatype, domain);
                d.extent = Some(extent.ok_or_else(|| Error::invalid(format!("dimension '{}': {TOO_WIDE}", d.name)))?);
            }
        }
        Ok(self)
    }

    fn check_names(&self) -> Result<()> {
        let fields = self
            .dimensions
            .iter()
            .map(|d| &d.name)
            .chain(self.attributes.iter().map(|a| &a.name));
        let mut seen = HashSet::new();
        for name in fields.chain(self.labels.iter().map(|l| &l.name)) {
            if name.len() as u64 > limits::NAME_BYTES_MAX {
                let what = "length of a field name in bytes (choose a shorter name)".into();
                return Err(Error::LimitExceeded {
                    what,
                    found: name.len() as u64,
                    limit: limits::NAME_BYTES_MAX,
                });
            }
            if !seen.insert(name.as_str()) {
                return Err(Error::invalid(format!(
                    "two fields are named '{name}'; dimensions, attributes and labels need distinct names"
                )));
            }
        }
        let mut names = HashSet::new();
        match self.enumerations.iter().find(|e| !names.insert(e.name.as_str())) {
            Some(e) => Err(Error::invalid(format!(
                "two enumerations are named '{}'; rename one",
                e.name
            ))),
            None => Ok(()),
        }
    }

    fn check_shape(&self) -> Result<()> {
        let fail = |why: &str| Err(Error::invalid(why));
        if self.dimensions.is_empty() {
            return fail("an array needs at least one dimension");
        }
        if !matches!(self.tile_order, Layout::RowMajor | Layout::ColMajor) {
            return fail("tiles are in row-major or col-major order; only cells may be in Hilbert order");
        }
        match self.cell_order {
            Layout::RowMajor | Layout::ColMajor => {}
            Layout::Hilbert if self.is_dense() => {
                return fail("only the cells of sparse arrays may be in Hilbert order");
            }
            Layout::Hilbert if self.dimensions.len() > HILBERT_DIMENSIONS_MAX => {
                return Err(Error::invalid(format!(
                    "Hilbert order supports up to {HILBERT_DIMENSIONS_MAX} dimensions"
                )));
            }
            Layout::Hilbert => {}
            Layout::Global | Layout::Unordered => return fail("cells are in row-major, col-major or Hilbert order"),
        }
        if self.is_dense() {
            if self.attributes.is_empty() {
                return fail("a dense array needs at least one attribute");
            }
            if self.allows_duplicates {
                return fail("dense arrays have one cell per coordinate; only sparse arrays may allow duplicates");
            }
        } else if self.capacity == 0 {
            return fail("the capacity of a sparse array must be at least 1 cell per tile");
        }
        let same = |d: &Dimension| Some(d.datatype) == self.dimensions.first().map(|d| d.datatype);
        match self.dimensions.iter().find(|d| self.is_dense() && !same(d)) {
            Some(d) => Err(Error::invalid(format!(
                "dimension '{}' is {}: all dimensions of a dense array must have the same type; sparse arrays may mix types",
                d.name, d.datatype
            ))),
            None => Ok(()),
        }
    }

    fn check_dimension(&self, d: &Dimension) -> Result<(), String> {
        let t = d.datatype;
        if t == Datatype::StringAscii {
            return match (self.is_dense(), d.cell, &d.domain, &d.extent) {
                (true, ..) => {
                    Err("string dimensions need a sparse array; dense arrays take integers, dates and times".into())
                }
                (_, CellCount::Var, None, None) => Ok(()),
                _ => Err("string dimensions have no domain, no tile extent, and variable length".into()),
            };
        }
        let number = t.is_integer() || t.is_temporal();
        if !(number || t.is_float()) || d.cell != CellCount::ONE {
            return Err(format!(
                "{t} cannot be a dimension; integers, floats, dates, times and string_ascii can, one value per cell"
            ));
        }
        if self.is_dense() && t.is_float() {
            return Err("float dimensions need a sparse array; dense arrays take integers, dates and times".into());
        }
        let domain = d
            .domain
            .as_ref()
            .ok_or("a domain is required: the smallest and the largest coordinate")?;
        let of_type = |s: &Scalar| s.physical() == Some(t.physical());
        if !of_type(&domain.lo) || !of_type(&domain.hi) || !d.extent.as_ref().is_none_or(of_type) {
            return Err(format!("the domain and the tile extent must be {t}"));
        }
        if [&domain.lo, &domain.hi]
            .into_iter()
            .filter_map(Scalar::as_f64)
            .any(|v| !v.is_finite())
        {
            return Err("the domain must be finite".into());
        }
        if domain.is_empty() {
            return Err("the domain ends before it starts".into());
        }
        if t.is_float() {
            check_float_extent(domain, d.extent.as_ref())
        } else {
            check_integer_extent(d, domain)
        }
    }

    fn check_attribute(&self, a: &Attribute) -> Result<(), String> {
        if a.name.starts_with("__") {
            return Err("names that start with two underscores are reserved".into());
        }
        if a.datatype == Datatype::Any && !a.cell.is_var() {
            return Err("'any' must have variable length".into());
        }
        match a.cell.cell_bytes(a.datatype) {
            Some(0) => return Err("a cell needs at least one value".into()),
            Some(n) if n != a.fill.len() => {
                return Err(format!("the fill value has {} bytes, but a cell has {n}", a.fill.len()));
            }
            None if a.fill.is_empty() || !a.fill.len().is_multiple_of(a.datatype.size()) => {
                return Err(format!(
                    "the fill value must be one or more values of {} bytes",
                    a.datatype.size()
                ));
            }
            _ => {}
        }
        if a.order != DataOrder::Unordered && !(self.is_dense() && self.dimensions.len() == 1) {
            return Err("only attributes of dense arrays with one dimension can be ordered".into());
        }
        let Some(name) = &a.enumeration else { return Ok(()) };
        // libtiledb allows enumerations on bool too.
        let counts = a.datatype.is_integer() || a.datatype == Datatype::Bool;
        if !counts || a.cell != CellCount::ONE {
            return Err("an attribute with an enumeration must hold one integer per cell".into());
        }
        if !self.enumerations.iter().any(|e| e.name == *name) {
            return Err(format!("there is no enumeration '{name}'"));
        }
        Ok(())
    }

    fn check_current_domain(&self) -> Result<()> {
        let Some(current) = &self.current_domain else {
            return Ok(());
        };
        if current.ranges.len() != self.dimensions.len() {
            return Err(Error::invalid("the current domain needs a range for each dimension"));
        }
        for (range, d) in current.ranges.iter().zip(&self.dimensions) {
            let kind = if d.cell.is_var() {
                None
            } else {
                Some(d.datatype.physical())
            };
            let fits = range.lo.physical() == kind && range.hi.physical() == kind && !range.is_empty();
            if !fits
                || !d
                    .domain
                    .as_ref()
                    .is_none_or(|domain| domain.contains(&range.lo) && domain.contains(&range.hi))
            {
                return Err(Error::invalid(format!(
                    "current domain: the range of dimension '{}' is not inside its domain",
                    d.name
                )));
            }
        }
        Ok(())
    }
}

const TOO_WIDE: &str = "the domain holds every value of its type; leave at least one out";

/// Number of values in an integer range.
fn width(domain: &ScalarRange) -> Option<i128> {
    Some(domain.hi.as_i128()? - domain.lo.as_i128()? + 1)
}

/// The largest value of the unsigned type of the same width.
fn unsigned_max(t: Datatype) -> i128 {
    (1 << (8 * t.size())) - 1
}

/// The largest value of this type.
fn greatest(t: Datatype) -> i128 {
    if is_signed(t) {
        unsigned_max(t) / 2
    } else {
        unsigned_max(t)
    }
}

fn is_signed(t: Datatype) -> bool {
    matches!(
        t.physical(),
        Physical::I8 | Physical::I16 | Physical::I32 | Physical::I64
    )
}

fn check_integer_extent(d: &Dimension, domain: &ScalarRange) -> Result<(), String> {
    let cells = width(domain)
        .filter(|&n| n <= unsigned_max(d.datatype))
        .ok_or(TOO_WIDE)?;
    let Some(extent) = d.extent_cells() else { return Ok(()) };
    let extent = i128::from(extent);
    // Like libtiledb: for signed types of up to 32 bits, the extent must fit the type unless one tile spans the whole
    // domain. 64-bit extents are compared as unsigned numbers.
    let most = if d.datatype.size() == 8 {
        cells
    } else {
        cells.min(greatest(d.datatype))
    };
    if extent == 0 || (extent > most && extent != cells) {
        return Err(format!(
            "the tile extent must be 1 to {most}, not {extent}; the domain has {cells} coordinates"
        ));
    }
    let tiles = (cells + extent - 1) / extent;
    let end = domain.lo.as_i128().unwrap_or(0) + tiles * extent - 1;
    // Narrower types cannot overflow: tile ends are computed in 64 bits.
    let widest = if is_signed(d.datatype) {
        i128::from(i64::MAX)
    } else {
        i128::from(u64::MAX)
    };
    if end > widest {
        return Err(format!(
            "the last tile would end at {end}, beyond {widest}; lower the end of the domain by a tile, or choose an extent that divides it"
        ));
    }
    Ok(())
}

fn check_float_extent(domain: &ScalarRange, extent: Option<&Scalar>) -> Result<(), String> {
    // Like libtiledb, which allows the width plus one, as for integers, in the precision of the type.
    let (width, most) = match (&domain.lo, &domain.hi) {
        (Scalar::F32(lo), Scalar::F32(hi)) => (f64::from(hi - lo), f64::from(hi - lo + 1.0)),
        (Scalar::F64(lo), Scalar::F64(hi)) => (hi - lo, hi - lo + 1.0),
        _ => (f64::NAN, f64::NAN),
    };
    match extent.and_then(Scalar::as_f64) {
        // libtiledb gives a domain of one value the extent 0.
        Some(e) if e > 0.0 && e <= most || (e == 0.0 && width == 0.0) => Ok(()),
        Some(e) => Err(format!("the tile extent must be above 0 and at most {most}, not {e}")),
        None => Ok(()),
    }
}

/// The extent that spans a domain. Signed types store it as the unsigned number with the same bits.
fn whole_extent(t: Datatype, domain: &ScalarRange) -> Option<Scalar> {
    match (&domain.lo, &domain.hi) {
        (Scalar::F32(lo), Scalar::F32(hi)) => Some(Scalar::F32(hi - lo)),
        (Scalar::F64(lo), Scalar::F64(hi)) => Some(Scalar::F64(hi - lo)),
        _ => {
            let cells = width(domain).filter(|n| (1..=unsigned_max(t)).contains(n))?;
            Scalar::from_le_bytes(t.physical(), cells.to_le_bytes().get(..t.size())?)
        }
    }
}

#[cfg(test)]
mod tests;
