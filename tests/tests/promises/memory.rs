//! Consolidation, export and import keep to their memory budgets. The arrays are ten and five times as large as the
//! budget. The peak memory of the program is measured by the system. `HYPERSLAB_MEMORY_MIB` sets the budget (default
//! 32; 64 for exports and imports).

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, ScalarRange, WriteOptions,
};
use hyperslab_tests::{fresh, program, python};

use super::setting;

const FRAGMENTS: u64 = 10;

fn schema(dense: bool, columns: u64) -> Schema {
    let rows = Dimension::new("y", Datatype::Uint64, 0_u64, FRAGMENTS * 512 - 1, 64_u64);
    let columns = Dimension::new("x", Datatype::Uint64, 0_u64, columns - 1, 64_u64);
    let value = Attribute::new("v", Datatype::Uint64, CellCount::ONE);
    let kind = if dense { ArrayType::Dense } else { ArrayType::Sparse };
    Schema::new(kind, vec![rows, columns], vec![value])
}

/// Writes ten fragments, each about as large as the budget. Returns the bytes of all cells.
fn fill(folder: &Path, dense: bool, budget: u64) -> u64 {
    let cell_bytes = if dense { 8 } else { 24 };
    let columns = budget / (512 * cell_bytes);
    let context = Context::local(folder);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "array", &schema(dense, columns), &[], &options)).unwrap();
    let mut state = 88_172_645_463_325_252_u64;
    for i in 0..FRAGMENTS {
        let array = block_on(Array::open(&context, "array", &OpenOptions::default())).unwrap();
        let cells = 512 * columns;
        let values: Vec<u64> = (0..cells)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            })
            .collect();
        let mut all = vec![("v".into(), Column::from_values(Datatype::Uint64, &values))];
        // Rows of the sparse fragments alternate, so that every merged tile has cells of all fragments.
        let y = |row: u64| if dense { i * 512 + row } else { row * FRAGMENTS + i };
        if !dense {
            let of =
                |f: &dyn Fn(u64) -> u64| Column::from_values(Datatype::Uint64, &(0..cells).map(f).collect::<Vec<_>>());
            all.push(("y".into(), of(&|c| y(c / columns))));
            all.push(("x".into(), of(&|c| c % columns)));
        }
        let cells = Cells {
            region: dense.then(|| vec![ScalarRange::new(y(0), y(511)), ScalarRange::new(0_u64, columns - 1)]),
            layout: if dense { Layout::RowMajor } else { Layout::Unordered },
            columns: all,
        };
        let options = WriteOptions {
            timestamp_ms: 10 + i,
            seed: [i as u8; 32],
            sync: false,
        };
        block_on(array.write(cells, &options)).unwrap();
    }
    FRAGMENTS * 512 * columns * cell_bytes
}

/// The peak memory of the process, in KiB.
fn high_water(process: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// The peak memory, in MiB, of this command on the array in `folder`.
fn peak(folder: &Path, command: &[&str], budget_mib: usize) -> usize {
    peak_with(folder, command, budget_mib, None)
}

/// The peak memory, in MiB, of this command with a file on standard input.
fn peak_with(folder: &Path, command: &[&str], budget_mib: usize, stdin: Option<File>) -> usize {
    let mut child = Command::new(program())
        .args(command)
        .args(["--memory", &format!("{budget_mib}MiB")])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stdin(stdin.map_or_else(Stdio::null, Stdio::from))
        .spawn()
        .unwrap();
    let mut peak = 0;
    let status = loop {
        peak = high_water(child.id()).unwrap_or(peak).max(peak);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success());
    peak / 1024
}

#[test]
fn consolidation_of_ten_times_the_budget_stays_within_it() {
    let budget = setting("HYPERSLAB_MEMORY_MIB", 32);
    for dense in [false, true] {
        let folder = fresh(if dense { "memory-dense" } else { "memory-sparse" });
        let bytes = fill(&folder, dense, (budget as u64) << 20);
        let peak = peak(&folder, &["consolidate", "array"], budget);
        let kind = if dense { "dense" } else { "sparse" };
        println!(
            "memory: {kind}, {} MiB, a budget of {budget} MiB: peak {peak} MiB",
            bytes >> 20
        );
        assert!(bytes >> 20 >= 9 * budget as u64, "{bytes} bytes is too small an array");
        let context = Context::local(&folder);
        let array = block_on(Array::open(&context, "array", &OpenOptions::default())).unwrap();
        assert_eq!(array.fragments().len(), 1, "all fragments became one");
        assert!(peak <= budget, "{kind}: {peak} MiB");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn export_of_five_times_the_budget_stays_within_it() {
    let budget = setting("HYPERSLAB_MEMORY_MIB", 64);
    for dense in [false, true] {
        let folder = fresh(if dense {
            "memory-export-dense"
        } else {
            "memory-export-sparse"
        });
        let bytes = fill(&folder, dense, (budget as u64) << 19);
        assert!(bytes >> 19 >= 9 * budget as u64, "{bytes} bytes is too small an array");
        let kind = if dense { "dense" } else { "sparse" };
        // Text export is slow, so export only a part of the array.
        for (format, part) in [
            ("npy", "all"),
            ("arrow", "all"),
            ("csv", "y=0:1024"),
            ("jsonl", "y=0:512"),
        ] {
            let command = ["export", "array", "-", "--format", format, "--select", part];
            let peak = peak(&folder, &command, budget);
            println!("memory: {kind} as {format}, a budget of {budget} MiB: peak {peak} MiB");
            assert!(peak <= budget, "{kind} as {format}: {peak} MiB");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// Writes a table of scattered points of at least this many bytes. Returns the number of rows.
fn table(file: &Path, bytes: u64) -> u64 {
    let mut out = BufWriter::new(File::create(file).unwrap());
    writeln!(out, "id,lon,lat,when,name,value").unwrap();
    let (mut rows, mut written) = (0_u64, 0);
    while written < bytes {
        let mixed = rows.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let row = format!(
            "{rows},{}.{:03},{}.25,2020-01-{:02}T00:00:{:02},station {},{}.5\n",
            mixed % 180,
            mixed % 997,
            mixed % 90,
            mixed % 28 + 1,
            mixed % 60,
            mixed % 1000,
            mixed % 100_000
        );
        out.write_all(row.as_bytes()).unwrap();
        written += row.len() as u64;
        rows += 1;
    }
    out.flush().unwrap();
    rows
}

#[test]
fn import_of_more_than_the_budget_stays_within_it() {
    let budget = setting("HYPERSLAB_MEMORY_MIB", 64);
    let folder = fresh("memory-import");
    let rows = table(&folder.join("in.csv"), (budget as u64) << 20);
    let sparse = ["--sparse", "--dims", "lon,lat", "--timestamp", "5"];
    for (array, input, options) in [
        ("rows", "in.csv", ["--timestamp", "5"].as_slice()),
        ("points", "-", sparse.as_slice()),
    ] {
        let mut command = vec!["import", input, array, "--format", "csv"];
        command.extend(options);
        let stdin = (input == "-").then(|| File::open(folder.join("in.csv")).unwrap());
        let peak = peak_with(&folder, &command, budget, stdin);
        println!("memory: import of {rows} rows into {array}, a budget of {budget} MiB: peak {peak} MiB");
        assert!(peak <= budget, "{array}: {peak} MiB");
        let context = Context::local(&folder);
        let array = block_on(Array::open(&context, array, &OpenOptions::default())).unwrap();
        let [fragment] = array.fragments() else {
            panic!("{} fragments", array.fragments().len())
        };
        assert_eq!((fragment.start_ms, fragment.end_ms, fragment.cells), (5, 5, rows));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn import_of_large_arrays_stays_within_the_budget() {
    let budget = setting("HYPERSLAB_MEMORY_MIB", 64);
    let folder = fresh("memory-import-arrays");
    let script = "
import sys, numpy, pyarrow
cells = numpy.arange(int(sys.argv[1]) << 17, dtype='int64').reshape(256, -1)
numpy.save('a.npy', cells)
numpy.savez_compressed('a.npz', v=cells, w=cells.astype('int8'))
table = pyarrow.table({'v': cells.ravel(), 'k': pyarrow.array(['a', 'b'] * (cells.size // 2)).dictionary_encode()})
with pyarrow.ipc.new_file('a.arrow', table.schema) as out:
    out.write_table(table, max_chunksize=65536)
";
    let made = Command::new(python())
        .args(["-c", script, &budget.to_string()])
        .current_dir(&folder)
        .status()
        .unwrap();
    assert!(made.success());
    for input in ["a.npy", "a.npz", "a.arrow"] {
        let array = input.replace('.', "-");
        let peak = peak(&folder, &["import", input, &array, "--timestamp", "5"], budget);
        println!("memory: import of {input}, a budget of {budget} MiB: peak {peak} MiB");
        assert!(peak <= budget, "{input}: {peak} MiB");
        let context = Context::local(&folder);
        let array = block_on(Array::open(&context, &array, &OpenOptions::default())).unwrap();
        assert_eq!(array.fragments().len(), 1, "{input}");
        let batch = block_on(array.read(&Query::default())).unwrap();
        let values = &batch
            .columns
            .iter()
            .find(|(_, c)| c.datatype == Datatype::Int64)
            .unwrap()
            .1;
        let rising = values.data.chunks_exact(8).zip(0_i64..);
        assert!(rising.into_iter().all(|(v, i)| v == i.to_le_bytes()), "{input}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Makes sparse cells: x.npz, r.npy and x.arrow with the same three columns.
const SPARSE: &str = "
import sys, numpy, pyarrow
cells = int(sys.argv[1]) << 16
order = numpy.random.default_rng(1).permutation(cells)
x, y = (order % 4096).astype('int64'), (order // 4096).astype('int64')
v = order.astype('float64')
numpy.savez_compressed('x.npz', x=x, y=y, v=v)
record = numpy.empty(cells, dtype=[('x', 'i8'), ('y', 'i8'), ('v', 'f8')])
record['x'], record['y'], record['v'] = x, y, v
numpy.save('r.npy', record)
table = pyarrow.table({'x': x, 'y': y, 'v': v})
with pyarrow.ipc.new_file('x.arrow', table.schema) as out:
    out.write_table(table, max_chunksize=65536)
numpy.save('dense.npy', numpy.arange(cells * 2, dtype='int64').reshape(256, -1))
";

fn make_sparse(folder: &Path, budget: usize) -> u64 {
    let made = Command::new(python())
        .args(["-c", SPARSE, &budget.to_string()])
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(made.success());
    (budget as u64) << 16
}

/// Opens an array that must have one fragment, whose number of cells it returns.
fn only_fragment(folder: &Path, array: &str) -> u64 {
    let array = block_on(Array::open(&Context::local(folder), array, &OpenOptions::default())).unwrap();
    let [fragment] = array.fragments() else {
        panic!("{} fragments", array.fragments().len())
    };
    fragment.cells
}

#[test]
fn sparse_imports_of_large_arrays_stay_within_the_budget() {
    let budget = setting("HYPERSLAB_MEMORY_MIB", 64);
    let folder = fresh("memory-import-sparse");
    let cells = make_sparse(&folder, budget);
    for input in ["x.npz", "r.npy", "x.arrow"] {
        let array = input.replace('.', "-");
        let command = ["import", input, &array, "--sparse", "--dims", "x,y", "--timestamp", "5"];
        let peak = peak(&folder, &command, budget);
        println!("memory: sparse import of {input}, a budget of {budget} MiB: peak {peak} MiB");
        assert!(peak <= budget, "{input}: {peak} MiB");
        assert_eq!(only_fragment(&folder, &array), cells, "{input}");
        check_cells(&folder, &array, cells);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Checks that each cell of an array made from [`SPARSE`] has its value.
fn check_cells(folder: &Path, array: &str, cells: u64) {
    let array = block_on(Array::open(&Context::local(folder), array, &OpenOptions::default())).unwrap();
    let batch = block_on(array.read(&Query::default())).unwrap();
    assert_eq!(batch.cells, cells);
    let of = |name: &str| batch.column(name).unwrap();
    let (x, y) = (of("x").values::<i64>().unwrap(), of("y").values::<i64>().unwrap());
    let v = of("v").values::<f64>().unwrap();
    let right = |i: usize| (y[i] * 4096 + x[i]) as f64 == v[i];
    assert!((0..v.len()).all(right));
}

#[test]
fn a_write_of_more_than_the_budget_stays_within_it() {
    let budget = setting("HYPERSLAB_MEMORY_MIB", 64);
    let folder = fresh("memory-write");
    let cells = make_sparse(&folder, budget);
    let context = Context::local(&folder);
    let dimension = |name: &str, n: u64| Dimension::new(name, Datatype::Int64, 0_i64, n as i64 - 1, 64_i64);
    let points = Schema::new(
        ArrayType::Sparse,
        vec![dimension("x", 4096), dimension("y", 1 << 16)],
        vec![Attribute::new("v", Datatype::Float64, CellCount::ONE)],
    );
    let grid = Schema::new(
        ArrayType::Dense,
        vec![dimension("i", 256), dimension("j", cells * 2 / 256)],
        vec![Attribute::new("v", Datatype::Int64, CellCount::ONE)],
    );
    for (input, schema) in [
        ("x.npz", &points),
        ("r.npy", &points),
        ("x.arrow", &points),
        ("dense.npy", &grid),
    ] {
        let array = input.replace('.', "-");
        let options = CreateOptions {
            timestamp_ms: 1,
            seed: [1; 32],
            key: None,
        };
        block_on(Array::create(&context, &array, schema, &[], &options)).unwrap();
        let peak = peak(&folder, &["write", &array, input], budget);
        println!("memory: write of {input}, a budget of {budget} MiB: peak {peak} MiB");
        assert!(peak <= budget, "{input}: {peak} MiB");
        if schema.is_dense() {
            assert_eq!(only_fragment(&folder, &array), cells * 2);
        } else {
            assert_eq!(only_fragment(&folder, &array), cells);
            check_cells(&folder, &array, cells);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
