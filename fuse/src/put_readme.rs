//! What `put/` of an array takes: its README, and the attribute `expected`.

use std::fmt::Write as _;

use hyperslab::Array;
use hyperslab::blocking::block_on;
use hyperslab::internals::view::selection::shown_name;
use hyperslab::schema::Schema;
use hyperslab::view::{NodeKind, View};
use hyperslab_cli::put::Destination;

/// The README of the folder.
pub(crate) fn readme(array: &Array) -> String {
    let schema = array.schema();
    let mut out = String::from("# put: writing to this array\n\n");
    if schema.is_dense() {
        dense(schema, &mut out);
    } else {
        sparse(schema, &mut out);
    }
    out.push_str(
        "\nEach file becomes one fragment when it is closed, and is readable in `slices/` at once. If a write fails, the \
         program gets an error, and the attribute `user.hyperslab.error` of this folder has the reason.\n\n\
         Files with temporary names such as `.x.npy.AbCdEf` and `x.csv.part` are written when they are renamed. Files \
         cannot be changed in place. A written file is not listed; removing its name does not remove its cells.\n",
    );
    out
}

fn dense(schema: &Schema, out: &mut String) {
    let example = Destination::new("all.npy", schema);
    let all = example.as_ref().ok().and_then(Destination::selection).unwrap_or("all");
    let names: Vec<_> = schema.attributes.iter().map(|a| shown_name(&a.name, schema)).collect();
    let dimensions: Vec<_> = schema.dimensions.iter().map(|d| d.name.as_str()).collect();
    let _ = write!(
        out,
        "Write a file whose name selects a box, in the grammar of `slices/`: `{all}.npy`. `all` is the whole domain, and an \
         omitted end is the end of the domain. The axes are {}.\n\n\
         The file needs every attribute ({}), and the shape and the types of the box:\n\n\
         - `.npy`: an array of this shape; a structured array for several attributes\n\
         - `.npz`: one array for each attribute\n\
         - `.csv`, `.tsv`, `.arrow`, `.parquet`: one row for each cell of the box in row-major order, or with the coordinates in \
         columns\n\n",
        dimensions.join(", "),
        names.join(", "),
    );
    let _ = write!(
        out,
        "```sh\ncp x.npy 'put/{all}.npy'\npython3 -c 'import numpy; numpy.save(\"put/{all}.npy\", array)'\n```\n\n\
         To see what a name takes, look it up and read the attribute `user.hyperslab.expected` of this folder.\n",
    );
}

fn sparse(schema: &Schema, out: &mut String) {
    let dimensions = schema.dimensions.iter().map(|d| d.name.clone());
    let attributes = schema
        .attributes
        .iter()
        .map(|a| shown_name(&a.name, schema).into_owned());
    let columns: Vec<String> = dimensions.chain(attributes).collect();
    let _ = write!(
        out,
        "Write a file of rows under any name with the extension `.csv`, `.tsv`, `.arrow`, `.parquet`, `.npy` (a structured array) or \
         `.npz`. It needs these columns: {}.\n\n```sh\ncp rows.csv put/\n```\n",
        columns.join(", "),
    );
}

/// The expected shape and types of the file `asked`, or of a file of all cells.
pub(crate) fn expected(view: &View, array_path: &str, array: &Array, asked: Option<&str>) -> String {
    let name = asked.unwrap_or("all.npy");
    let destination = match block_on(Destination::of(name, array)) {
        Ok(destination) => destination,
        Err(why) => return format!("{name}: {why:#}"),
    };
    let Some(selection) = destination.selection() else {
        let columns: Vec<&str> = array.schema().dimensions.iter().map(|d| d.name.as_str()).collect();
        return format!("{name}: rows with the columns {}, …; see README.md", columns.join(", "));
    };
    let path = format!("{array_path}/slices/{selection}.npy");
    let Ok(Some(slice)) = block_on(view.lookup(&path)) else {
        return format!("{name}: the cells {selection}");
    };
    let fact = |key: &str| {
        slice
            .facts
            .iter()
            .find(|(k, _)| *k == key)
            .map_or("", |(_, v)| v.as_str())
    };
    let size = match slice.kind {
        NodeKind::File { size } => size,
        NodeKind::Dir | NodeKind::Link => 0,
    };
    format!(
        "{name}: shape {}, dtype {}, {size} bytes as .npy",
        fact("shape"),
        fact("dtype")
    )
}
