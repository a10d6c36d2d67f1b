use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Date32Array, Float64Array, Int64Array, LargeStringArray, ListArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field as ArrowField};

use super::{FieldType, Form, Role, Table};
use crate::column::{Column, typed};
use crate::datatype::{CellCount, Datatype};
use crate::format::attribute::Attribute;
use crate::format::enumeration::Enumeration;
use crate::format::field::Field;

fn field(datatype: Datatype, cell: CellCount) -> FieldType {
    Field::attribute(&Attribute::new("a", datatype, cell), 0).into()
}

fn nullable(mut field: FieldType) -> FieldType {
    field.nullable = true;
    field
}

fn raw(field: FieldType) -> FieldType {
    FieldType {
        form: Form::Raw,
        ..field
    }
}

/// Converts to Arrow and back, using only the Arrow field and array.
#[track_caller]
fn round_trip(field: &FieldType, column: &Column) -> ArrayRef {
    let dictionary = field.dictionary().unwrap();
    let array = field.array(column, 0..column.len(), dictionary.as_ref()).unwrap();
    assert_eq!(array.data_type(), field.arrow_field().data_type());
    let mut back = FieldType::infer(&field.arrow_field()).unwrap();
    assert_eq!(
        (back.datatype, back.cell, back.role),
        (field.datatype, field.cell, field.role)
    );
    back.enumeration.clone_from(&field.enumeration);
    back.fill.clone_from(&field.fill);
    back.nullable = field.nullable;
    let back = back.column(&array).unwrap();
    back.check("a").unwrap();
    assert_eq!((back.len(), &back.validity), (column.len(), &column.validity));
    for i in (0..column.len()).filter(|i| !column.is_null(*i)) {
        assert_eq!(back.cell(i), column.cell(i), "cell {i} of {field:?}");
    }
    array
}

#[test]
fn every_datatype_and_cell_count_round_trips() {
    for datatype in Datatype::ALL.iter().copied() {
        let data: Vec<u8> = (0..12 * datatype.size())
            .map(|i| {
                if datatype == Datatype::Bool {
                    1
                } else if i % datatype.size() == 0 {
                    65
                } else {
                    0
                }
            })
            .collect();
        for cell in [CellCount::ONE, CellCount::Fixed(3), CellCount::Var] {
            let w = datatype.size() as u64;
            let offsets = cell.is_var().then(|| vec![0, 0, 5 * w, 12 * w]);
            let column = Column {
                datatype,
                cell,
                data: data.clone(),
                offsets,
                validity: None,
            };
            let field = field(datatype, cell);
            assert!(field.is_natural(&column));
            round_trip(&field, &column);
            let nullable = nullable(field);
            let validity = (0..column.len()).map(|i| u8::from(i != 1)).collect();
            let array = round_trip(&nullable, &column.with_validity(validity));
            assert!(array.is_null(1) && array.null_count() == 1);
        }
    }
}

#[test]
fn the_column_of_an_unnamed_field_has_a_name() {
    let named = |name: &str| FieldType::from(Field::new(name, Datatype::Int8, CellCount::ONE));
    let table = Table::new(vec![named(""), named("data"), named("b")], true).unwrap();
    let names: Vec<&str> = table.schema().fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["data_", "data", "b"]);
    let back = table.schema().fields().iter().map(|f| FieldType::infer(f).unwrap());
    let back: Vec<String> = back.map(|f| f.field.name).collect();
    assert_eq!(back, ["", "data", "b"]);
}

#[test]
fn a_range_of_cells_can_be_exported() {
    let column = Column {
        offsets: Some(vec![0, 4, 12, 12, 16]),
        ..Column::from_values(Datatype::Int32, &[1_i32, 2, 3, 4])
    };
    let column = Column {
        cell: CellCount::Var,
        ..column
    };
    let array = field(Datatype::Int32, CellCount::Var)
        .array(&column, 1..3, None)
        .unwrap();
    let list = array.as_list::<i32>();
    assert_eq!(list.value(0).as_primitive::<Int32Type>().values(), &[2, 3]);
    assert_eq!(list.value(1).len(), 0);
}

#[test]
fn dates_use_the_next_finer_unit_of_arrow() {
    for (datatype, ticks, arrow, counted) in [
        (Datatype::DatetimeYear, 54_i64, "Date32", 19_723_i64),
        (Datatype::DatetimeMonth, -1, "Date32", -31),
        (Datatype::DatetimeMonth, 649, "Date32", 19_754),
        (Datatype::DatetimeWeek, -2, "Date32", -14),
        (Datatype::DatetimeDay, 18_321, "Date32", 18_321),
        (Datatype::DatetimeHr, -5, "Timestamp(s)", -18_000),
        (Datatype::DatetimeMin, 7, "Timestamp(s)", 420),
        (Datatype::DatetimeNs, 7, "Timestamp(ns)", 7),
        (Datatype::DatetimeAs, 7, "Int64", 7),
        (Datatype::TimeHr, 3, "Duration(s)", 10_800),
        (Datatype::TimeMs, 3, "Duration(ms)", 3),
        (Datatype::TimePs, 3, "Int64", 3),
    ] {
        let column = Column::from_values(datatype, &[ticks]);
        let array = round_trip(&field(datatype, CellCount::ONE), &column);
        assert_eq!(array.data_type().to_string(), arrow);
        let found = match array.as_primitive_opt::<Date32Type>() {
            Some(days) => days.value(0).into(),
            None => typed::<i64>(array.to_data().buffers()[0].as_slice())[0],
        };
        assert_eq!(found, counted, "{datatype}");
    }
}

#[test]
fn not_a_time_is_null_in_arrow_and_comes_back() {
    for datatype in Datatype::ALL.iter().copied().filter(|t| t.is_temporal()) {
        let values = [1, i64::MIN, 2, i64::MIN];
        let one = round_trip(
            &field(datatype, CellCount::ONE),
            &Column::from_values(datatype, &values),
        );
        assert!(one.is_null(1) && one.null_count() == 2, "{datatype}");
        let pair = field(datatype, CellCount::Fixed(2));
        let pairs = Column {
            cell: pair.cell,
            ..Column::from_values(datatype, &values)
        };
        let list = round_trip(&pair, &pairs);
        let list = list.as_fixed_size_list();
        assert_eq!((list.null_count(), list.values().null_count()), (0, 2), "{datatype}");
        // Dimensions do not accept nulls.
        let mut dimension = field(datatype, CellCount::ONE);
        dimension.role = Some(Role::Dimension);
        assert!(dimension.column(&one).unwrap_err().to_string().contains("is null"));
    }
}

#[test]
fn dates_outside_the_range_of_arrow_need_raw_form() {
    for (datatype, last) in [
        (Datatype::DatetimeDay, i64::from(i32::MAX)),
        (Datatype::DatetimeWeek, i64::from(i32::MAX) / 7),
        (Datatype::DatetimeYear, 5_879_609),
        (Datatype::DatetimeMin, i64::MAX / 60),
        (Datatype::TimeHr, i64::MAX / 3_600),
    ] {
        let natural = field(datatype, CellCount::ONE);
        assert!(natural.may_need_raw());
        round_trip(&natural, &Column::from_values(datatype, &[last]));
        let beyond = Column::from_values(datatype, &[0, last + 2, i64::MIN]);
        assert!(!natural.is_natural(&beyond), "{datatype}");
        let error = natural.array(&beyond, 0..3, None).unwrap_err().to_string();
        assert!(error.contains("cell 1") && error.contains(".csv"), "{error}");
        let raw = raw(natural);
        let array = round_trip(&raw, &beyond);
        assert_eq!((array.data_type(), array.null_count()), (&DataType::Int64, 1));
        // The value of a null cell does not matter.
        let mut null = beyond.with_validity(vec![1, 0, 1]);
        null.data.truncate(16);
        null.validity = Some(vec![1, 0]);
        let nullable = nullable(field(datatype, CellCount::ONE));
        assert!(nullable.is_natural(&null));
        round_trip(&nullable, &null);
    }
    assert!(!field(Datatype::DatetimeMs, CellCount::ONE).may_need_raw());
}

#[test]
fn strings_that_are_not_text_need_raw_form() {
    for (datatype, bytes) in [
        (Datatype::StringUtf8, vec![0xff]),
        (Datatype::Char, vec![0x80, 0x80]),
        (Datatype::StringUtf16, vec![0x00, 0xd8]),
        (Datatype::StringUtf32, vec![0, 0, 0x11, 0]),
    ] {
        let column = Column::from_cells(datatype, [vec![], bytes]);
        let natural = field(datatype, CellCount::Var);
        assert!(!natural.is_natural(&column));
        assert!(natural.array(&column, 0..2, None).is_err());
        let raw = raw(natural);
        assert_eq!(*round_trip(&raw, &column).data_type(), DataType::Binary);
    }
}

#[test]
fn wide_strings_become_utf8() {
    let text: Vec<u8> = "né🌍".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let array = round_trip(
        &field(Datatype::StringUtf16, CellCount::Var),
        &Column::from_cells(Datatype::StringUtf16, [text]),
    );
    assert_eq!(array.as_string::<i32>().value(0), "né🌍");
}

#[test]
fn fixed_strings_lose_and_regain_their_padding() {
    let column = Column {
        cell: CellCount::Fixed(3),
        ..Column::from_values(Datatype::Char, b"ab\0\0\0\0xyz")
    };
    let array = round_trip(&field(Datatype::Char, CellCount::Fixed(3)), &column);
    assert_eq!(
        array.as_string::<i32>().iter().flatten().collect::<Vec<_>>(),
        ["ab", "", "xyz"]
    );
    // The raw form keeps the padding.
    let raw = raw(field(Datatype::Char, CellCount::Fixed(3)));
    let array = round_trip(&raw, &column);
    assert_eq!(array.as_binary::<i32>().value(0), b"ab\0");
}

fn animals() -> FieldType {
    let values = Column::from_cells(Datatype::StringUtf8, ["cat", "dog"]);
    let e = Enumeration {
        name: "animals".into(),
        file: String::new(),
        ordered: false,
        values,
    };
    let mut field = field(Datatype::Int32, CellCount::ONE);
    field.enumeration = Some(Arc::new(e));
    field
}

#[test]
fn enumerations_become_dictionaries_and_unknown_indices_nulls() {
    let column = Column::from_values(Datatype::Int32, &[1_i32, 0, i32::MIN]);
    let array = round_trip(&animals(), &column);
    let dictionary = array.as_dictionary::<Int32Type>();
    assert_eq!(dictionary.values().as_string::<i32>().value(1), "dog");
    assert!(array.is_null(2) && !array.is_null(0));
    // pandas stores -1 for a missing category, even in nullable attributes.
    for nullable in [false, true] {
        let field = if nullable { self::nullable(animals()) } else { animals() };
        let mut column = Column::from_values(Datatype::Int32, &[-1_i32, 0]);
        column.validity = nullable.then(|| vec![1, 1]);
        assert!(field.is_natural(&column));
        let array = field
            .array(&column, 0..2, field.dictionary().unwrap().as_ref())
            .unwrap();
        assert!(array.is_null(0) && !array.is_null(1));
    }
}

#[test]
fn an_index_without_a_value_needs_raw_form() {
    let column = Column::from_values(Datatype::Int32, &[1_i32, 7]);
    assert!(!animals().is_natural(&column));
    let raw = raw(animals());
    assert_eq!(*round_trip(&raw, &column).data_type(), DataType::Int32);
}

#[test]
fn enumerated_values_are_found_by_value_not_by_position() {
    let array: ArrayRef = Arc::new(arrow_array::DictionaryArray::<Int64Type>::from_iter([
        "dog", "cat", "dog",
    ]));
    assert_eq!(*animals().column(&array).unwrap().values::<i32>().unwrap(), [1, 0, 1]);
    let array: ArrayRef = Arc::new(LargeStringArray::from(vec!["cow"]));
    let error = animals().column(&array).unwrap_err().to_string();
    assert!(error.contains("enumeration 'animals'"), "{error}");
}

#[test]
fn a_null_among_the_values_of_a_dictionary_is_a_null_cell() {
    let values: ArrayRef = Arc::new(LargeStringArray::from(vec![Some("dog"), None]));
    let keys = Int64Array::from(vec![Some(0), Some(1), None]);
    let array: ArrayRef = Arc::new(arrow_array::DictionaryArray::new(keys, values));
    let text = nullable(field(Datatype::StringUtf8, CellCount::Var));
    for field in [text, nullable(animals())] {
        let column = field.column(&array).unwrap();
        assert_eq!(column.validity, Some(vec![1, 0, 0]));
    }
    let column = animals().column(&array).unwrap();
    assert_eq!(*column.values::<i32>().unwrap(), [1, i32::MIN, i32::MIN]);
}

#[test]
fn numbers_of_another_type_must_fit_exactly() {
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![1, 200]));
    assert_eq!(
        field(Datatype::Uint8, CellCount::ONE).column(&wide).unwrap().data,
        [1, 200]
    );
    let error = field(Datatype::Int8, CellCount::ONE)
        .column(&wide)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "field 'a': cell 1 does not fit int8");
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![2.0, 2.5]));
    assert!(field(Datatype::Int32, CellCount::ONE).column(&floats).is_err());
    assert_eq!(
        *field(Datatype::Float32, CellCount::ONE)
            .column(&floats)
            .unwrap()
            .values::<f32>()
            .unwrap(),
        [2.0, 2.5]
    );
}

#[test]
fn dates_in_another_unit_must_fit_exactly() {
    let days: ArrayRef = Arc::new(Date32Array::from(vec![31, 59]));
    let of = |t| Ok::<_, crate::Error>(field(t, CellCount::ONE).column(&days)?.values::<i64>()?.to_vec());
    assert_eq!(of(Datatype::DatetimeMonth).unwrap(), [1, 2]);
    assert_eq!(of(Datatype::DatetimeHr).unwrap(), [744, 1416]);
    let error = of(Datatype::DatetimeYear).unwrap_err().to_string();
    assert_eq!(error, "field 'a': cell 0 is not a whole datetime_year");
    let ns: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![3_000_000]));
    assert_eq!(
        *field(Datatype::DatetimeMs, CellCount::ONE)
            .column(&ns)
            .unwrap()
            .values::<i64>()
            .unwrap(),
        [3]
    );
    assert!(field(Datatype::DatetimeSec, CellCount::ONE).column(&ns).is_err());
}

#[test]
fn nulls_need_a_nullable_field() {
    let array: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let error = field(Datatype::Int64, CellCount::ONE)
        .column(&array)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "field 'a': cell 1 is null, but the field is not nullable");
}

#[test]
fn nulls_within_a_cell_are_refused() {
    let lists = |rows: Vec<Option<Vec<Option<i32>>>>| -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows))
    };
    let mut field = field(Datatype::Int32, CellCount::Var);
    field.nullable = true;
    let whole = field
        .column(&lists(vec![Some(vec![Some(1), Some(2)]), None, Some(vec![])]))
        .unwrap();
    assert_eq!(whole.values::<i32>().unwrap()[..], [1, 2]);
    let error = field
        .column(&lists(vec![Some(vec![Some(1)]), Some(vec![None, Some(2)])]))
        .unwrap_err();
    assert!(error.to_string().contains("cell 1 contains a null"), "{error}");
}

#[test]
fn foreign_fields_get_the_nearest_type() {
    let of = |t| FieldType::infer(&ArrowField::new("x", t, true)).map(|f| (f.datatype, f.cell, f.role));
    assert_eq!(
        of(DataType::LargeUtf8).unwrap(),
        (Datatype::StringUtf8, CellCount::Var, None::<Role>)
    );
    assert_eq!(
        of(DataType::FixedSizeBinary(4)).unwrap(),
        (Datatype::Blob, CellCount::Fixed(4), None)
    );
    assert_eq!(
        of(DataType::Date32).unwrap(),
        (Datatype::DatetimeDay, CellCount::ONE, None)
    );
    assert!(of(DataType::Decimal128(3, 1)).is_err());
}
