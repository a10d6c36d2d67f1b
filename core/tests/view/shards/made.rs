//! Arrays on disk, and a reader of the Zarr hierarchy in their view.

use std::path::PathBuf;

use hyperslab::Query;
use hyperslab::internals::filter::{TileFormat, decode_tile};
use hyperslab::internals::format::tile::TileWriter;
use hyperslab::schema::{Filter, Pipeline};
use hyperslab::view::Node;
use serde_json::Value;
use tempfile::TempDir;

use crate::*;

/// A dense array `a` on disk with one attribute `v`, and its view.
pub(super) struct Made {
    pub(super) folder: TempDir,
    pub(super) context: Context,
    pub(super) view: View,
}

impl Made {
    /// Creates the array from the length and tile extent of each dimension. Dimensions start at 3.
    pub(super) fn new(dims: &[(i64, i64)], attribute: Attribute) -> Self {
        let dims = dims
            .iter()
            .enumerate()
            .map(|(i, (n, extent))| Dimension::new(&format!("d{i}"), Datatype::Int64, 3_i64, 2 + n, *extent));
        Self::of(
            &Schema::new(ArrayType::Dense, dims.collect(), vec![attribute]),
            &created(),
        )
    }

    pub(super) fn of(schema: &Schema, options: &CreateOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let context = Context::local(folder.path());
        block_on(Array::create(&context, "a", schema, &[], options)).unwrap();
        let source = Source {
            context: context.clone(),
            url: String::new(),
            path: "a".into(),
            options: OpenOptions {
                key: options.key.clone(),
                ..OpenOptions::default()
            },
            name: "a".into(),
        };
        let view = View::new(source, NOW_MS);
        Self { folder, context, view }
    }

    pub(super) fn array(&self, end_ms: u64) -> Array {
        let options = OpenOptions {
            window: Window::at(end_ms),
            key: None,
        };
        block_on(Array::open(&self.context, "a", &options)).unwrap()
    }

    /// Writes the cells of a box, repeating `values`.
    pub(super) fn write(&self, time_ms: u64, ranges: &[(i64, i64)], values: &Column) {
        let cells = ranges.iter().map(|(a, b)| (b - a + 1) as usize).product::<usize>();
        let bytes = values.data.len();
        let data = values.data.iter().copied().cycle();
        let width = values.cell.cell_bytes(values.datatype).unwrap();
        assert_eq!(bytes % width, 0);
        let column = Column {
            data: data.take(cells * width).collect(),
            ..values.clone()
        };
        let cells = Cells {
            region: Some(ranges.iter().map(|(a, b)| ScalarRange::new(*a, *b)).collect()),
            layout: Layout::RowMajor,
            columns: vec![("v".into(), column)],
        };
        write(&self.context, "a", time_ms, cells);
        self.view.refresh(NOW_MS);
    }

    pub(super) fn node(&self, path: &str) -> Node {
        block_on(self.view.lookup(path))
            .unwrap()
            .unwrap_or_else(|| panic!("{path} does not exist"))
    }

    /// Reads all cells through Zarr below `prefix`, following its metadata.
    pub(super) fn zarr(&self, prefix: &str) -> Vec<u8> {
        let meta: Value = serde_json::from_slice(&file(&self.view, &format!("{prefix}zarr/v/zarr.json"))).unwrap();
        let (shape, chunk) = (
            numbers(&meta["shape"]),
            numbers(&meta["chunk_grid"]["configuration"]["chunk_shape"]),
        );
        let array = self.array(0);
        let attribute = &array.schema().attributes[0];
        let width = attribute.datatype.size();
        let fill = &attribute.fill[..width];
        let total: usize = shape.iter().product();
        let mut out = fill.repeat(total);
        let grid: Vec<usize> = shape.iter().zip(&chunk).map(|(n, c)| n.div_ceil(*c)).collect();
        for key in boxes(&grid) {
            let path = format!("{prefix}zarr/v/c/{}", text(&key));
            let Some(node) = block_on(self.view.lookup(&path)).unwrap() else {
                continue;
            };
            let bytes = block_on(self.view.read(&node, 0..u64::MAX)).unwrap();
            assert_eq!(
                node.kind,
                NodeKind::File {
                    size: bytes.len() as u64
                },
                "{path}"
            );
            let cells = unsharded(&meta["codecs"], &chunk, width, &bytes);
            for (at, cell) in boxes(&chunk).zip(cells.chunks(width)) {
                let place: Vec<usize> = (0..key.len()).map(|d| key[d] * chunk[d] + at[d]).collect();
                if place.iter().zip(&shape).all(|(p, n)| p < n) {
                    let i = place.iter().zip(&shape).fold(0, |i, (p, n)| i * n + p);
                    out[i * width..(i + 1) * width].copy_from_slice(cell);
                }
            }
        }
        out
    }

    pub(super) fn read(&self, end_ms: u64) -> Vec<u8> {
        let batch = block_on(self.array(end_ms).read(&Query::default())).unwrap();
        batch.columns[0].1.data.clone()
    }

    /// A view with empty caches.
    pub(super) fn again(&self) -> View {
        let source = Source {
            context: Context::local(self.folder.path()),
            ..self.view.source().clone()
        };
        View::new(source, NOW_MS)
    }

    /// The only data file.
    pub(super) fn data_file(&self) -> PathBuf {
        let fragments = self.folder.path().join("a/__fragments");
        let fragment = std::fs::read_dir(fragments).unwrap().next().unwrap().unwrap();
        fragment.path().join("a0.tdb")
    }
}

pub(super) fn attribute(datatype: Datatype, filters: Vec<Filter>) -> Attribute {
    let mut a = Attribute::new("v", datatype, CellCount::ONE);
    a.filters = Pipeline::new(filters);
    a
}

pub(super) const ZSTD: Filter = Filter::Zstd { level: 3 };

pub(super) fn numbers(list: &Value) -> Vec<usize> {
    let list = list.as_array().unwrap().iter();
    list.map(|n| n.as_u64().unwrap() as usize).collect()
}

pub(super) fn text(key: &[usize]) -> String {
    let key: Vec<String> = key.iter().map(usize::to_string).collect();
    key.join("/")
}

/// All indexes in a box of this shape, row by row.
pub(super) fn boxes(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let (shape, total) = (shape.to_vec(), shape.iter().product::<usize>());
    (0..total).map(move |mut i| {
        let mut place = vec![0; shape.len()];
        for (p, n) in place.iter_mut().zip(&shape).rev() {
            (*p, i) = (i % n, i / n);
        }
        place
    })
}

/// The byte range of each inner chunk, from the end of a shard.
pub(super) fn index(shard: &[u8], chunks: usize) -> Vec<Range<usize>> {
    let numbers = shard[shard.len() - 4 - 16 * chunks..shard.len() - 4].chunks_exact(8);
    let numbers: Vec<usize> = numbers
        .map(|b| u64::from_le_bytes(b.try_into().unwrap()) as usize)
        .collect();
    numbers.chunks(2).map(|n| n[0]..n[0] + n[1]).collect()
}

/// The cells of an inner chunk, decoded by the codecs in `sharding_indexed`.
pub(super) fn unpacked(codecs: &Value, packed: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let filter = match codecs.get(1).map(|c| c["name"].as_str().unwrap()) {
        None => return (packed.len() == bytes).then(|| packed.to_vec()),
        Some("zstd") => ZSTD,
        Some(other) => panic!("{other}"),
    };
    let header = [0, 1, bytes as u32, packed.len() as u32].map(u32::to_le_bytes).concat();
    let mut tile = TileWriter::with_capacity(0);
    tile.push(bytes, &[header], packed).unwrap();
    let format = TileFormat::new(Datatype::Uint8, CellCount::ONE);
    decode_tile(&tile.finish(), &Pipeline::new(vec![filter]), &format, bytes as u64).ok()
}

/// The cells of a chunk, which may be a shard.
pub(super) fn unsharded(codecs: &Value, chunk: &[usize], width: usize, bytes: &[u8]) -> Vec<u8> {
    if codecs[0]["name"] == "bytes" {
        return bytes.to_vec();
    }
    let sharding = &codecs[0]["configuration"];
    let inner = numbers(&sharding["chunk_shape"]);
    let grid: Vec<usize> = chunk.iter().zip(&inner).map(|(c, i)| c / i).collect();
    let places = index(bytes, grid.iter().product());
    let mut out = vec![0; chunk.iter().product::<usize>() * width];
    for (of_grid, place) in boxes(&grid).zip(places) {
        let plain = inner.iter().product::<usize>() * width;
        let cells = unpacked(&sharding["codecs"], &bytes[place], plain).unwrap();
        for (at, cell) in boxes(&inner).zip(cells.chunks(width)) {
            let i = (0..chunk.len()).fold(0, |i, d| i * chunk[d] + of_grid[d] * inner[d] + at[d]);
            out[i * width..(i + 1) * width].copy_from_slice(cell);
        }
    }
    out
}

pub(super) fn fact(node: &Node) -> String {
    let found = node.facts.iter().find(|(name, _)| *name == "shard");
    found.map(|(_, fact)| fact.clone()).unwrap_or_default()
}
