//! Reads numpy arrays block by block: an .npy, or the arrays of an .npz that hold its cells.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use anyhow::{Context as _, Result};
use hyperslab::schema::Layout;
use zip::ZipArchive;

use super::bounds::{check_columns, unfolded_max};
use super::npy::Head;
use super::{Named, Shape, Table, Values, npy, npz};

/// A file of arrays with the same shape.
#[derive(Debug)]
pub(crate) struct Grid {
    file: File,
    arrays: Vec<Member>,
    shape: Shape,
}

/// An array of an archive, and the archive at its own position.
pub(super) type OpenMember<'a> = (&'a Member, ZipArchive<BufReader<At<'a>>>);

/// An array of a [`Grid`].
#[derive(Debug)]
pub(super) struct Member {
    name: String,
    /// Its index in the archive; `None` if it is the whole file.
    index: Option<usize>,
    head: Head,
}

impl Grid {
    /// Reads the headers of the arrays in `file`. Returns a table of columns without cells, and the reader of the
    /// cells.
    pub(crate) fn look(file: File, zipped: bool) -> Result<(Table, Self)> {
        let mut any = u64::MAX;
        let (table, arrays) = if zipped {
            members(&file)?
        } else {
            let head = Head::read(&mut BufReader::new(At::start(&file)), &mut any)?;
            let member = Member {
                name: String::new(),
                index: None,
                head,
            };
            (seen(&member.head)?, vec![member])
        };
        let shape = table.shape.clone().context("there is no array of cells in it")?;
        Ok((table, Self { file, arrays, shape }))
    }

    /// The lengths of the blocks of at most `bytes` bytes into which [`boxes`] cuts the cells.
    pub(crate) fn block(&self, bytes: u64) -> Vec<u64> {
        let width = self.width().max(1);
        Cut::new(&self.shape, bytes / width).sides(&self.shape)
    }

    /// The lengths of the axes, and the order of the cells.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The numbers of cells and bytes.
    pub(super) fn size(&self) -> (u64, u64) {
        let cells = self.arrays.first().map_or(0, |m| m.head.cells);
        (cells, cells.saturating_mul(self.width()))
    }

    /// Bytes of a cell of all arrays.
    fn width(&self) -> u64 {
        self.arrays.iter().map(|m| m.head.width).sum()
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for member in &self.arrays {
            names.extend(member.columns(&mut io::empty(), 0)?.into_iter().map(|c| c.name));
        }
        Ok(names)
    }

    /// The table with all cells.
    pub(super) fn table(&self) -> Result<Table> {
        let input = BufReader::with_capacity(1 << 20, At::start(&self.file));
        match self.arrays.first() {
            Some(Member { index: None, .. }) => npy::read(Box::new(input)),
            _ => npz::read(input, self.file.metadata()?.len()),
        }
    }

    /// The archive of each array in an archive, so that all arrays can be read at the same time.
    pub(super) fn archives(&self) -> Result<Vec<OpenMember<'_>>> {
        let members = self.arrays.iter().filter(|m| m.index.is_some());
        let opened = members.map(|member| {
            let archive = ZipArchive::new(BufReader::new(At::start(&self.file)))?;
            Ok((member, archive))
        });
        opened.collect()
    }

    /// The arrays that have `wanted` columns, each at its first cell.
    pub(super) fn inputs<'a: 'b, 'b>(
        &'a self,
        archives: &'b mut [OpenMember<'a>],
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<(&'a Member, Box<dyn Read + 'b>)>> {
        let mut inputs: Vec<(&Member, Box<dyn Read + 'b>)> = Vec::new();
        for (member, archive) in archives {
            let columns = member.columns(&mut io::empty(), 0)?;
            if columns.iter().any(|c| c.name.is_empty() || wanted(&c.name)) {
                inputs.push((member, Box::new(archive.by_index(member.index.unwrap_or(0))?)));
            }
        }
        for member in self.arrays.iter().filter(|m| m.index.is_none()) {
            inputs.push((member, Box::new(BufReader::new(At::start(&self.file)))));
        }
        let mut any = u64::MAX;
        for (_, input) in &mut inputs {
            Head::read(input, &mut any)?;
        }
        Ok(inputs)
    }
}

impl Member {
    /// Reads the next `cells` cells as columns.
    pub(super) fn columns(&self, input: &mut dyn Read, cells: u64) -> Result<Vec<Named>> {
        let columns = self.head.columns(input, cells)?.into_iter().map(|c| Named {
            name: match self.index {
                Some(_) => npz::join(&self.name, &c.name),
                None => c.name,
            },
            values: c.values,
        });
        Ok(columns.collect())
    }
}

/// The arrays of an archive. Reads only the headers of arrays of cells, but all of the lists.
fn members(file: &File) -> Result<(Table, Vec<Member>)> {
    let mut left = unfolded_max(usize::try_from(file.metadata()?.len())?);
    let mut zip = ZipArchive::new(BufReader::new(At::start(file))).context("this is not an .npz file")?;
    check_columns(zip.len())?;
    let mut all = Vec::new();
    for i in 0..zip.len() {
        let mut input = zip.by_index(i).context("this .npz file is damaged")?;
        let Some(name) = input.name().strip_suffix(".npy").map(str::to_owned) else {
            continue;
        };
        let head = Head::read(&mut input, &mut left).with_context(|| format!("array '{name}'"))?;
        all.push((i, name, head));
    }
    let most = all
        .iter()
        .map(|(_, _, head)| head.shape.lengths.len())
        .max()
        .unwrap_or(0);
    let (mut tables, mut arrays) = (Vec::new(), Vec::new());
    for (i, name, head) in all {
        if head.shape.lengths.len() < most {
            let input = Box::new(zip.by_index(i)?);
            // Its size was checked with its header.
            let list = npy::read_within(input, &mut { u64::MAX }).with_context(|| format!("array '{name}'"))?;
            tables.push((name, list));
            continue;
        }
        tables.push((name.clone(), seen(&head)?));
        arrays.push(Member {
            name,
            index: Some(i),
            head,
        });
    }
    Ok((npz::merge(tables)?, arrays))
}

/// A table of the columns of an array, without its cells.
fn seen(head: &Head) -> Result<Table> {
    let cells = usize::try_from(head.cells)?;
    let columns = head.columns(&mut io::empty(), 0)?.into_iter().map(|c| Named {
        values: match c.values {
            Values::Plain(column) => Values::Typed(column, cells),
            other => other,
        },
        ..c
    });
    Ok(Table {
        columns: columns.collect(),
        shape: Some(head.shape.clone()),
        ..Table::default()
    })
}

/// How the cells of a file are cut into blocks. A block is one cell wide along the axes before `at`, and whole along
/// the axes after it.
struct Cut {
    /// The axes, slowest first.
    axes: Vec<usize>,
    /// The index in `axes` of the axis that is cut.
    at: usize,
    /// The most cells of a block along that axis.
    most: u64,
}

impl Cut {
    /// Cuts `shape` into the largest blocks of at most `cells` cells.
    fn new(shape: &Shape, cells: u64) -> Self {
        let mut axes: Vec<usize> = (0..shape.lengths.len()).collect();
        if shape.layout == Layout::ColMajor {
            axes.reverse();
        }
        let length = |axis: &usize| shape.lengths.get(*axis).copied().unwrap_or(1);
        let inner = |k: usize| axes.iter().skip(k + 1).map(length).product::<u64>().max(1);
        let at = (0..axes.len()).find(|k| inner(*k) <= cells.max(1)).unwrap_or(0);
        let most = (cells / inner(at)).max(1);
        Self { axes, at, most }
    }

    /// The lengths of a block.
    fn sides(&self, shape: &Shape) -> Vec<u64> {
        let mut sides = shape.lengths.clone();
        for (k, axis) in self.axes.iter().enumerate().take(self.at + 1) {
            if let Some(side) = sides.get_mut(*axis) {
                *side = (*side).min(if k < self.at { 1 } else { self.most });
            }
        }
        sides
    }
}

/// Boxes of at most `cells` cells that cover all cells, in the order of the file.
pub(crate) fn boxes(shape: &Shape, cells: u64, extents: &[u64]) -> impl Iterator<Item = Vec<(u64, u64)>> {
    let Cut { axes, at, most } = Cut::new(shape, cells);
    let length = |axis: &usize| shape.lengths.get(*axis).copied().unwrap_or(1);
    let cut_axis = axes.get(at).copied().unwrap_or(0);
    let extent = extents.get(cut_axis).copied().unwrap_or(1).max(1);
    let step = if most > extent { most - most % extent } else { most };
    let per_line = length(&cut_axis).div_ceil(step);
    let lines: u64 = axes.iter().take(at).map(length).product();
    let lengths = shape.lengths.clone();
    (0..lines * per_line).map(move |n| {
        let mut ranges: Vec<(u64, u64)> = lengths.iter().map(|n| (0, *n)).collect();
        let mut line = n / per_line;
        for axis in axes.iter().take(at).rev() {
            if let (Some(range), Some(n)) = (ranges.get_mut(*axis), lengths.get(*axis)) {
                *range = (line % n, line % n + 1);
                line /= n;
            }
        }
        if let Some(range) = ranges.get_mut(cut_axis) {
            let start = n % per_line * step;
            *range = (start, (start + step).min(range.1));
        }
        ranges
    })
}

/// Reads a shared file from its own position.
pub(super) struct At<'a> {
    file: &'a File,
    at: u64,
}

impl<'a> At<'a> {
    fn start(file: &'a File) -> Self {
        Self { file, at: 0 }
    }
}

impl Read for At<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let n = std::os::unix::fs::FileExt::read_at(self.file, out, self.at)?;
        #[cfg(windows)]
        let n = std::os::windows::fs::FileExt::seek_read(self.file, out, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for At<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(n) => Some(n),
            SeekFrom::Current(n) => self.at.checked_add_signed(n),
            SeekFrom::End(n) => self.file.metadata()?.len().checked_add_signed(n),
        };
        self.at = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The boxes cover every cell once, in the order of the file, and do not exceed their size.
    #[test]
    fn boxes_hold_all_cells_in_the_order_of_the_file() {
        let lengths = [4_u64, 5, 6];
        for layout in [Layout::RowMajor, Layout::ColMajor] {
            let shape = Shape {
                lengths: lengths.to_vec(),
                layout,
            };
            let place = |[a, b, c]: [u64; 3]| match layout {
                Layout::ColMajor => a + 4 * (b + 5 * c),
                _ => (a * 5 + b) * 6 + c,
            };
            for cells in [0, 1, 2, 5, 6, 7, 13, 30, 61, 120, 1000] {
                let sides: u64 = Cut::new(&shape, cells).sides(&shape).iter().product();
                assert!(sides <= cells.max(1), "{cells}: {sides}");
                let mut next = 0;
                for ranges in boxes(&shape, cells, &[2, 2, 2]) {
                    let size: u64 = ranges.iter().map(|(a, b)| b - a).product();
                    assert!(size >= 1 && size <= cells.max(1), "{cells}: {ranges:?}");
                    let first = [ranges[0].0, ranges[1].0, ranges[2].0];
                    let last = [ranges[0].1 - 1, ranges[1].1 - 1, ranges[2].1 - 1];
                    assert_eq!(
                        (place(first), place(last)),
                        (next, next + size - 1),
                        "{cells}: {ranges:?}"
                    );
                    next += size;
                }
                assert_eq!(next, 120, "{cells} {layout:?}");
            }
        }
    }
}
