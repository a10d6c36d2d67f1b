use super::*;
use crate::array::sections::{load_all, load_index};
use crate::array::{Array, CreateOptions, OpenOptions};
use crate::blocking::block_on;
use crate::format::schema::{ArrayType, Attribute, Dimension, Layout};
use crate::{CellCount, Cells, Column, Context, Datatype, WriteOptions};

fn array(context: &Context, cells: u64) -> Array {
    let x = Dimension::new("x", Datatype::Int64, -1000_i64, 1000_i64, 7_i64);
    let dimensions = vec![Dimension::string("s"), x];
    let mut text = Attribute::new("t", Datatype::StringUtf8, CellCount::Var);
    text.nullable = true;
    let mut schema = Schema::new(ArrayType::Sparse, dimensions, vec![text]);
    schema.capacity = 4;
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(context, "a", &schema, &[], &options)).unwrap();
    let open = || block_on(Array::open(context, "a", &OpenOptions::default())).unwrap();
    let names: Vec<String> = (0..cells).map(|i| format!("name {}", i * 7 % 5)).collect();
    let columns = vec![
        ("s".to_owned(), Column::from_cells(Datatype::StringAscii, &names)),
        (
            "x".to_owned(),
            Column::from_values(
                Datatype::Int64,
                &(0..cells as i64).map(|i| 30 - 13 * i).collect::<Vec<_>>(),
            ),
        ),
        (
            "t".to_owned(),
            Column {
                validity: Some((0..cells).map(|i| (i % 2) as u8).collect()),
                ..Column::from_cells(Datatype::StringUtf8, &names)
            },
        ),
    ];
    let cells = Cells {
        region: None,
        layout: Layout::Unordered,
        columns,
    };
    let options = WriteOptions {
        timestamp_ms: 2,
        seed: [2; 32],
        sync: false,
    };
    block_on(open().write(cells, &options)).unwrap();
    open()
}

#[test]
fn the_implied_index_of_a_single_tile_matches_its_files() {
    for (cells, implied) in [(3, true), (4, true), (5, false)] {
        let context = Context::memory();
        let short = array(&context, cells);
        let long = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
        let wanted = |array: &Array| {
            let fragment = &array.fragments()[0];
            let mut sections = fragment.sections(&fragment.stored_fields());
            sections.push(Section::RTree);
            vec![(Arc::clone(fragment), sections)]
        };
        block_on(load_index(&short, &wanted(&short))).unwrap();
        block_on(load_all(&long, &wanted(&long))).unwrap();
        let (short, long) = (&short.fragments()[0], &long.fragments()[0]);
        assert_eq!((short.index.rtree(), short.tiles == 1), (long.index.rtree(), implied));
        assert_eq!(is_set(&short.index.lists().tile_offsets, 0), !implied);
        let lists = long.index.lists();
        let size = |list, slot| long.footer.lists.at(list, slot).unwrap();
        for slot in 0..long.slots.len() {
            for tile in (0..long.tiles).filter(|_| is_set(&lists.tile_offsets, slot)) {
                let bytes = size(List::FileSizes, slot);
                let stored = range(&lists.tile_offsets, slot, tile, bytes).unwrap();
                assert_eq!(short.index.fixed_range(slot, tile, bytes), Ok(stored));
            }
        }
        let (text, bytes) = (0, size(List::VarFileSizes, 0));
        let stored = range(&lists.var_offsets, text, 0, bytes).unwrap();
        assert_eq!(short.index.var_range(text, 0, bytes), Ok(stored));
        let bytes = size(List::ValidityFileSizes, 0);
        let stored = range(&lists.validity_offsets, text, 0, bytes).unwrap();
        assert_eq!(short.index.validity_range(text, 0, bytes), Ok(stored));
    }
}

#[test]
fn a_section_of_unknown_end_is_not_at_hand() {
    let context = Context::memory();
    let array = array(&context, 5);
    let footer = &array.fragments()[0].index.footer;
    let index = Index::new(Arc::clone(footer), None, vec![(10, Bytes::from_static(b"0123456789"))]);
    let at_hand = |start, end| {
        index.at_hand(&Missing {
            section: Section::RTree,
            start,
            end,
        })
    };
    assert_eq!(at_hand(12, Some(15)), Some(Bytes::from_static(b"234")));
    assert_eq!(at_hand(12, Some(20)), Some(Bytes::from_static(b"23456789")));
    assert_eq!(at_hand(20, None), None, "the piece ends where the section starts");
    assert_eq!(at_hand(12, None), None, "the section may go on after the piece");
}
