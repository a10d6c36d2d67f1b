//! AnnData files (`.h5ad`), as `tiledbsoma.io.from_h5ad` writes them: a SOMA experiment.
//!
//! ```text
//! obs       ─▶  obs, a table             var           ─▶  ms/RNA/var
//! X         ─▶  ms/RNA/X/data, sparse    layers/<name> ─▶  ms/RNA/X/<name>
//! obsm …    ─▶  ms/RNA/obsm/<name>, …    raw           ─▶  ms/raw
//! uns       ─▶  ms/RNA/uns: single values as metadata, arrays and tables as arrays
//! ```

mod file;
mod frame;
mod matrix;
mod rows;
mod soma;
mod uns;

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::{Column, Datatype};

use self::file::File;
use self::frame::Frame;
use self::matrix::Matrix;
use self::uns::{Numbers, Texts};
use crate::{NewGroup, Options, Plan, Source};

/// The measurement of the main matrix, and that of `raw`.
const MAIN: &str = "ms/RNA";
const RAW: &str = "ms/raw";
/// Groups of matrices, in the file and in a measurement.
const MATRICES: [(&str, &str); 5] = [
    ("layers", "X"),
    ("obsm", "obsm"),
    ("varm", "varm"),
    ("obsp", "obsp"),
    ("varp", "varp"),
];
/// The most values of `uns` that become metadata.
const VALUES_MAX: usize = 1 << 12;

/// Opens an AnnData file.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Box<dyn Source>> {
    let file = File::open(path, options)?;
    ensure!(
        file.is_group("obs") && file.is_group("var"),
        "this is not an AnnData file, or anndata before 0.7 wrote it; open it with anndata, and write it again"
    );
    let mut import = Import {
        file: &file,
        plan: Plan::default(),
        rows: Vec::new(),
    };
    import.experiment()?;
    let Import { mut plan, rows, .. } = import;
    plan.notes.extend(file.notes().iter().cloned());
    Ok(Box::new(Anndata { plan, rows }))
}

/// An AnnData file as a source of arrays.
struct Anndata {
    plan: Plan,
    /// The cells of each array.
    rows: Vec<Rows>,
}

/// The cells of an array, and how far they were read.
enum Rows {
    Frame(Frame),
    Matrix(Matrix),
    Numbers(Numbers),
    Texts(Texts),
}

impl Source for Anndata {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn read_box(&mut self, array: usize, ranges: &[Range<u64>]) -> Result<Vec<(String, Column)>> {
        match self.rows.get(array) {
            Some(Rows::Numbers(numbers)) => numbers.read(ranges),
            _ => bail!("the array is sparse"),
        }
    }

    fn read_rows(&mut self, array: usize, rows: usize) -> Result<Option<Vec<(String, Column)>>> {
        match self.rows.get_mut(array).context("there is no such array")? {
            Rows::Frame(frame) => frame.read(rows.max(1) as u64),
            Rows::Matrix(matrix) => matrix.read(rows.max(1) as u64),
            Rows::Texts(texts) => texts.read(rows.max(1) as u64),
            Rows::Numbers(_) => bail!("the array is dense"),
        }
    }
}

/// The plan of an import while it grows.
struct Import<'a> {
    file: &'a File,
    plan: Plan,
    rows: Vec<Rows>,
}

impl Import<'_> {
    fn experiment(&mut self) -> Result<()> {
        self.group("", "SOMAExperiment");
        self.frame("obs", "obs", "obs_id")?;
        self.group("ms", "SOMACollection");
        self.group(MAIN, "SOMAMeasurement");
        self.frame("var", &format!("{MAIN}/var"), "var_id")?;
        self.group(&format!("{MAIN}/X"), "SOMACollection");
        self.matrix("X", &format!("{MAIN}/X/data"))?;
        for (from, to) in MATRICES {
            let names = self.file.members(from);
            let to = format!("{MAIN}/{to}");
            if !names.is_empty() && from != "layers" {
                self.group(&to, "SOMACollection");
            }
            for name in names {
                self.matrix(&format!("{from}/{name}"), &format!("{to}/{name}"))?;
            }
        }
        if self.file.is_group("raw") {
            self.group(RAW, "SOMAMeasurement");
            self.frame("raw/var", &format!("{RAW}/var"), "var_id")?;
            self.group(&format!("{RAW}/X"), "SOMACollection");
            self.matrix("raw/X", &format!("{RAW}/X/data"))?;
            if self.file.is_group("raw/varm") && !self.file.members("raw/varm").is_empty() {
                self.left_out("raw/varm", "SOMA has no place for it");
            }
        }
        if self.file.is_group("uns") {
            self.values("uns", &format!("{MAIN}/uns"))?;
        }
        Ok(())
    }

    fn group(&mut self, path: &str, kind: &str) {
        let mut metadata = soma::metadata(kind);
        if path.is_empty() {
            metadata.push(soma::text("dataset_type", "soma"));
        }
        self.plan.groups.push(NewGroup {
            path: path.to_owned(),
            metadata,
        });
    }

    fn left_out(&mut self, path: &str, why: &str) {
        self.plan.notes.push(format!("'{path}' is left out: {why}"));
    }

    fn frame(&mut self, from: &str, to: &str, key: &str) -> Result<()> {
        let (frame, notes) = Frame::new(self.file, from, key).with_context(|| format!("cannot read '{from}'"))?;
        self.plan.notes.extend(notes);
        self.plan.arrays.push(frame.array(to));
        self.rows.push(Rows::Frame(frame));
        Ok(())
    }

    /// A matrix, if the file has it and it can be read.
    fn matrix(&mut self, from: &str, to: &str) -> Result<()> {
        if !self.file.is_group(from) && self.file.values(from).is_none() {
            return Ok(());
        }
        match Matrix::new(self.file, from) {
            Ok(matrix) => {
                self.plan.arrays.push(matrix.array(to));
                self.rows.push(Rows::Matrix(matrix));
            }
            Err(why) => self.left_out(from, &format!("{why:#}")),
        }
        Ok(())
    }

    /// The single values of a group become metadata, arrays become arrays, and groups within it become groups.
    fn values(&mut self, from: &str, to: &str) -> Result<()> {
        self.group(to, "SOMACollection");
        let at = self.plan.groups.len() - 1;
        let mut found: Vec<Entry> = vec![soma::text("soma_tiledbsoma_type", "uns")];
        let mut others = Vec::new();
        for name in self.file.members(from) {
            let path = format!("{from}/{name}");
            let is_plain = self.file.text(&path, "encoding-type").is_none_or(|kind| kind == "dict");
            if self.file.is_group(&path) && is_plain {
                self.values(&path, &format!("{to}/{name}"))?;
                continue;
            }
            match self
                .file
                .values(&path)
                .filter(|v| v.shape().is_empty() && found.len() < VALUES_MAX)
            {
                Some(values) => found.push(Entry {
                    value: Some(single(&values.read(&[])?)),
                    key: name,
                }),
                None => others.push(name),
            }
        }
        if let Some(group) = self.plan.groups.get_mut(at) {
            group.metadata.extend(found);
        }
        for name in others {
            let path = format!("{from}/{name}");
            if let Err(why) = self.array(&path, &format!("{to}/{name}")) {
                self.left_out(&path, &format!("{why:#}"));
            }
        }
        Ok(())
    }

    /// An array or a table of `uns`.
    fn array(&mut self, from: &str, to: &str) -> Result<()> {
        if self.file.is_group(from) {
            let encoding = self.file.text(from, "encoding-type");
            let encoding = encoding.as_deref().unwrap_or("without a name");
            ensure!(encoding == "dataframe", "its encoding {encoding} is not supported");
            return self.frame(from, to, "index");
        }
        let values = self.file.values(from).context("its type is not supported")?;
        let axes = values.shape().len();
        let (array, rows) = match values.datatype {
            Datatype::StringUtf8 => {
                let texts = Texts::new(self.file, from, axes)?;
                (texts.array(to), Rows::Texts(texts))
            }
            _ => {
                let numbers = Numbers::new(self.file, from, axes)?;
                (numbers.array(to), Rows::Numbers(numbers))
            }
        };
        self.plan.arrays.push(array);
        self.rows.push(rows);
        Ok(())
    }
}

fn single(column: &Column) -> MetaValue {
    match column.datatype {
        Datatype::StringUtf8 => MetaValue::text(&String::from_utf8_lossy(column.cell(0))),
        datatype => MetaValue::bytes(datatype, &column.data),
    }
}
