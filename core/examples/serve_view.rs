//! Serves slices of an array as files over HTTP: `slices/temp@0:2,1:3.csv`, `.npy`, `.json` and others.
//!
//! Run with `cargo run --example serve_view`, then open the address that it prints. The server answers one request at a
//! time, to show how little a protocol needs to do: look a path up, and send the file's bytes or the folder's names.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::view::{NodeKind, View};
use hyperslab::{Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Window, WriteOptions};

/// The longest request that is read, in bytes.
const REQUEST_BYTES_MAX: u64 = 8 << 10;
/// The largest part of a file in memory, in bytes.
const PART_BYTES: u64 = 1 << 20;

#[allow(dead_code, reason = "the tests call `serve`")]
fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("http://{}/slices/temp@0:2,1:3.csv", listener.local_addr()?);
    serve(&listener, usize::MAX)
}

/// Answers this many requests.
pub(crate) fn serve(listener: &TcpListener, requests: usize) -> Result<(), Box<dyn Error>> {
    let view = View::of_array(&temperatures()?, "temperatures".to_owned());
    for stream in listener.incoming().take(requests) {
        // A client that goes away or sends nothing is not the server's problem.
        if let Err(e) = stream.and_then(|stream| answer(&view, stream)) {
            eprintln!("{e}");
        }
    }
    Ok(())
}

/// Reads a request and sends the file or folder that it names.
fn answer(view: &View, mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut lines = BufReader::new((&stream).take(REQUEST_BYTES_MAX)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // The headers end with an empty line.
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}

    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let node = match block_on(view.lookup(path)) {
        Ok(Some(node)) => node,
        Ok(None) => return write!(stream, "HTTP/1.1 404 Not Found\r\n\r\nthere is no file {path}\n"),
        Err(e) => return write!(stream, "HTTP/1.1 400 Bad Request\r\n\r\n{e}\n"),
    };
    match node.kind {
        // A link leads to a folder.
        NodeKind::Dir | NodeKind::Link => {
            let names = block_on(view.list(path)).map_err(io::Error::other)?;
            write!(stream, "HTTP/1.1 200 OK\r\n\r\n")?;
            names.iter().try_for_each(|entry| writeln!(stream, "{}", entry.name))
        }
        // The size is known before a cell is read.
        NodeKind::File { size } => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")?;
            (0..size).step_by(PART_BYTES as usize).try_for_each(|at| {
                let part = block_on(view.read(&node, at..size.min(at + PART_BYTES)));
                stream.write_all(&part.map_err(io::Error::other)?)
            })
        }
    }
}

/// Temperatures of 4 x 6 cells in memory.
fn temperatures() -> Result<Array, Box<dyn Error>> {
    let context = Context::memory();
    let y = Dimension::new("y", Datatype::Int32, 0, 3, 2);
    let x = Dimension::new("x", Datatype::Int32, 0, 5, 3);
    let temp = Attribute::new("temp", Datatype::Float32, CellCount::ONE);
    let schema = Schema::new(ArrayType::Dense, vec![y, x], vec![temp]);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "grid", &schema, &[], &options))?;
    let array = block_on(Array::open(&context, "grid", &OpenOptions::default()))?;
    let values: Vec<f32> = (0..24_u8).map(|i| f32::from(i) / 2.0).collect();
    let cells = Cells {
        region: None,
        layout: Layout::RowMajor,
        columns: vec![("temp".into(), Column::from_values(Datatype::Float32, &values))],
    };
    let write = WriteOptions {
        timestamp_ms: 1000,
        seed: [2; 32],
        sync: false,
    };
    block_on(array.write(cells, &write))?;
    Ok(block_on(array.at(Window::ALL))?)
}
