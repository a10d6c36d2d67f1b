//! Bands of rows, with a number and a text in every cell: the writes of an array with many fragments.

use hyperslab::schema::Layout;
use hyperslab::{Cells, Column, Datatype, ScalarRange};

/// Band `i` of an array of bands with `rows` rows and `columns` columns.
pub(crate) fn band(dense: bool, i: u64, [rows, columns]: [u64; 2]) -> Cells {
    let cells = rows * columns;
    let numbers =
        |f: &dyn Fn(u64) -> u64| Column::from_values(Datatype::Uint64, &(0..cells).map(f).collect::<Vec<_>>());
    let texts: Vec<String> = (0..cells).map(|c| format!("{i} {c}")).collect();
    let mut named = vec![
        ("v".to_owned(), numbers(&|c| i * 1000 + c)),
        ("s".to_owned(), Column::from_cells(Datatype::StringAscii, &texts)),
    ];
    if !dense {
        named.push(("y".to_owned(), numbers(&|c| i * rows + c / columns)));
        named.push(("x".to_owned(), numbers(&|c| c % columns)));
    }
    Cells {
        region: dense.then(|| boxed(i, i, [rows, columns])),
        layout: if dense { Layout::RowMajor } else { Layout::Unordered },
        columns: named,
    }
}

/// The box of bands `first` to `last`.
pub(crate) fn boxed(first: u64, last: u64, [rows, columns]: [u64; 2]) -> Vec<ScalarRange> {
    vec![
        ScalarRange::new(first * rows, last * rows + rows - 1),
        ScalarRange::new(0_u64, columns - 1),
    ]
}
