use std::fs::File;
use std::io::Cursor;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Float64Type, Int32Type, Int64Type, Schema, TimeUnit, UInt64Type};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;

use super::*;

fn airport() -> TypeColumns {
    let fields = vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("iata", DataType::Utf8, false),
        Field::new("state", DataType::Utf8, true),
        Field::new("latitude", DataType::Float64, true),
        Field::new("gates", DataType::Int64, true),
    ];
    TypeColumns { name: "Airport".to_owned(), schema: Arc::new(Schema::new(fields)) }
}

fn options() -> ReadOptions {
    ReadOptions { columns: ColumnChoice::default(), null_values: Vec::new(), batch_rows: 2 }
}

fn read_csv(text: &str, of: &TypeColumns, options: &ReadOptions) -> Result<Vec<RecordBatch>, InputError> {
    csv_file::read(Cursor::new(text.as_bytes().to_vec()), Path::new("a.csv"), b',', of, options)?.batches.collect()
}

fn one_column(data_type: DataType, cells: &[&str]) -> Result<ArrayRef, InputError> {
    let of = TypeColumns {
        name: "T".to_owned(),
        schema: Arc::new(Schema::new(vec![Field::new("iata", DataType::Utf8, true), Field::new("x", data_type, true)])),
    };
    let quoted = cells.iter().map(|cell| format!("k,\"{}\"\n", cell.replace('"', "\"\"")));
    let text = format!("iata,x\n{}", quoted.collect::<String>());
    let options = ReadOptions { batch_rows: 100, ..options() };
    Ok(Arc::clone(read_csv(&text, &of, &options)?[0].column_by_name("x").unwrap()))
}

#[test]
fn csv_is_read_as_the_declared_types_in_the_declared_order() {
    let batches = read_csv("gates,iata,latitude\n5,OSL,60.2\n,BGO,\n7,TRD,-1e2\n", &airport(), &options()).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [2, 1]);
    let names: Vec<&String> = batches[0].schema_ref().fields().iter().map(|field| field.name()).collect();
    assert_eq!(names, ["iata", "latitude", "gates"]);
    assert_eq!(batches[0].column(2).as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(5), None]);
    assert_eq!(batches[1].column(1).as_primitive::<Float64Type>().value(0), -100.0);
}

#[test]
fn text_that_other_programs_take_for_null_stays_text() {
    let batches = read_csv("iata,state\nOSL,NA\nBGO,\n", &airport(), &options()).unwrap();
    assert_eq!(batches[0].column(1).as_string::<i32>().iter().collect::<Vec<_>>(), [Some("NA"), None]);
    let null_values = ReadOptions { null_values: vec!["NA".to_owned()], ..options() };
    let batches = read_csv("iata,state\nOSL,NA\nBGO,\n", &airport(), &null_values).unwrap();
    assert_eq!(batches[0].column(1).null_count(), 2);
}

#[test]
fn quoted_cells_and_a_byte_order_mark_are_understood() {
    let text = "\u{feff}\"iata\",\"sta\"\"te\"\n\"a,\nb\",\"say \"\"x\"\"\"\n";
    let renames = vec![Rename { from: "sta\"te".to_owned(), to: "state".to_owned() }];
    let choice = ReadOptions { columns: ColumnChoice { renames, ..ColumnChoice::default() }, ..options() };
    let batches = read_csv(text, &airport(), &choice).unwrap();
    assert_eq!(batches[0].column(0).as_string::<i32>().value(0), "a,\nb");
    assert_eq!(batches[0].column(1).as_string::<i32>().value(0), "say \"x\"");
}

#[test]
fn wrong_cell_is_told_with_file_row_and_column() {
    let error = read_csv("iata,gates\na,1\nb,2\nc,many\n", &airport(), &options()).unwrap_err();
    insta::assert_snapshot!(error, @r#"a.csv, row 3 below the header, column "gates": "many" is not I64: a whole number from -2^63 to 2^63-1"#);
    assert_eq!(error.misuse(), Misuse::Data);
}

#[test]
fn column_that_the_type_does_not_have_is_refused_with_the_way_out() {
    let error = read_csv("iata,elevation\na,1\n", &airport(), &options()).unwrap_err();
    insta::assert_snapshot!(error, @r#"a.csv: column "elevation" is not in Airport, whose columns are id, iata, state, latitude, gates; use --rename elevation=<one of them>, or --skip-column elevation"#);
    assert_eq!(error.misuse(), Misuse::CommandLine);
}

#[test]
fn columns_are_renamed_selected_and_skipped_by_the_files_names() {
    let choice = |renames: &[(&str, &str)], select: &[&str], skip: &[&str]| ReadOptions {
        columns: ColumnChoice {
            renames: renames.iter().map(|(from, to)| Rename { from: (*from).into(), to: (*to).into() }).collect(),
            select: select.iter().map(|name| (*name).to_owned()).collect(),
            skip: skip.iter().map(|name| (*name).to_owned()).collect(),
        },
        ..options()
    };
    let names = |options: &ReadOptions| -> Result<Vec<String>, InputError> {
        let batches = read_csv("code,iata,junk\na,b,c\n", &airport(), options)?;
        Ok(batches[0].schema_ref().fields().iter().map(|field| field.name().clone()).collect())
    };
    assert_eq!(names(&choice(&[("code", "state")], &[], &["junk"])).unwrap(), ["iata", "state"]);
    assert_eq!(names(&choice(&[("code", "iata")], &["code"], &[])).unwrap(), ["iata"]);
    assert!(matches!(
        names(&choice(&[("code", "iata")], &[], &["junk"])),
        Err(InputError::ColumnTwice { property, .. }) if property == "iata"
    ));
    assert!(matches!(
        names(&choice(&[], &[], &["nope"])),
        Err(InputError::ColumnMissing { option: "--skip-column", .. })
    ));
    assert!(matches!(names(&choice(&[], &["junk"], &["junk"])), Err(InputError::NoColumns { .. })));
}

#[test]
fn file_without_a_header_is_refused() {
    assert!(matches!(read_csv("", &airport(), &options()), Err(InputError::HeaderMissing { .. })));
    assert!(matches!(read_csv("iata,name\rOSL,x\r", &airport(), &options()), Err(InputError::LineEnds { .. })));
    assert!(matches!(read_csv("\n\n", &airport(), &options()), Err(InputError::HeaderMissing { .. })));
    assert_eq!(read_csv("iata\n", &airport(), &options()).unwrap().len(), 0);
}

#[test]
fn row_with_more_cells_than_the_header_is_refused() {
    let error = read_csv("iata,gates\na,1,2\n", &airport(), &options()).unwrap_err();
    assert!(matches!(error, InputError::Malformed { .. }), "{error}");
}

#[test]
fn numbers_keep_their_whole_range_and_nothing_beyond() {
    let largest = one_column(DataType::UInt64, &["18446744073709551615", "0"]).unwrap();
    assert_eq!(largest.as_primitive::<UInt64Type>().value(0), u64::MAX);
    for (data_type, cell) in [
        (DataType::UInt64, "18446744073709551616"),
        (DataType::Int32, "2147483648"),
        (DataType::Int64, "1.0"),
        (DataType::Int64, "+1"),
        (DataType::Int64, " 1"),
        (DataType::Float64, "NaN"),
        (DataType::Float64, "1e999"),
        (DataType::Float32, "1e39"),
        (DataType::Boolean, "yes"),
        (DataType::Date32, "2024-02-30"),
    ] {
        let read = one_column(data_type.clone(), &[cell]);
        assert!(matches!(read, Err(InputError::Cell { row: 1, .. })), "{data_type} {cell}");
    }
}

#[test]
fn lists_vectors_blobs_and_times_are_read_from_text() {
    let item = Arc::new(Field::new("item", DataType::Int32, true));
    let lists = one_column(DataType::List(Arc::clone(&item)), &["[1, 2]", "", "[]"]).unwrap();
    let lists = lists.as_list::<i32>();
    assert_eq!(lists.value(0).as_primitive::<Int32Type>().values(), &[1, 2]);
    assert!(lists.is_null(1) && lists.value(2).is_empty());
    let wrong = one_column(DataType::List(item), &["[1]", "[2, \"x\"]"]);
    assert!(matches!(wrong, Err(InputError::Cell { row: 2, .. })), "{wrong:?}");

    let number = Arc::new(Field::new("item", DataType::Float32, true));
    let vectors = one_column(DataType::FixedSizeList(Arc::clone(&number), 2), &["[0.5, 1]", ""]).unwrap();
    assert_eq!((vectors.len(), vectors.null_count()), (2, 1));
    let short = one_column(DataType::FixedSizeList(number, 2), &["[1]"]);
    assert!(matches!(short, Err(InputError::Cell { .. })));

    let blobs = one_column(DataType::LargeBinary, &["base64:AQI=", "base64:"]).unwrap();
    assert_eq!((blobs.as_binary::<i64>().value(0), blobs.as_binary::<i64>().value(1)), (&[1_u8, 2][..], &[][..]));

    let zone = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let times = one_column(zone.clone(), &["2024-01-01T00:30:00+01:00"]).unwrap();
    assert_eq!((times.data_type(), times.len()), (&zone, 1));
}

fn sample() -> RecordBatch {
    let columns: [(&str, ArrayRef); 3] = [
        ("gates", Arc::new(Int64Array::from(vec![Some(5), None, Some(7)]))),
        ("junk", Arc::new(Int64Array::from(vec![0, 0, 0]))),
        ("iata", Arc::new(StringArray::from(vec!["OSL", "BGO", "TRD"]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn skip_junk() -> ReadOptions {
    ReadOptions { columns: ColumnChoice { skip: vec!["junk".to_owned()], ..ColumnChoice::default() }, ..options() }
}

#[test]
fn parquet_and_arrow_files_yield_the_taken_columns_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let batch = sample();
    let paths = ["a.parquet", "a.arrow", "a.arrows"].map(|name| folder.path().join(name));
    let mut parquet = ArrowWriter::try_new(File::create(&paths[0]).unwrap(), batch.schema(), None).unwrap();
    parquet.write(&batch).unwrap();
    parquet.close().unwrap();
    let mut file = FileWriter::try_new(File::create(&paths[1]).unwrap(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    file.finish().unwrap();
    let mut stream = StreamWriter::try_new(File::create(&paths[2]).unwrap(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    stream.finish().unwrap();

    for path in paths {
        let meter = Arc::new(Meter::default());
        let format = Format::of(&path).unwrap();
        let table = open(std::slice::from_ref(&path), format, &airport(), &skip_junk(), &meter).unwrap();
        let batches: Vec<RecordBatch> = table.batches.collect::<Result<_, _>>().unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [2, 1], "{}", path.display());
        assert!(batches.iter().all(|batch| batch.schema() == table.schema));
        assert_eq!(batches[0].column_by_name("iata").unwrap().as_string::<i32>().value(1), "BGO");
        assert_eq!(batches[1].column_by_name("gates").unwrap().as_primitive::<Int64Type>().value(0), 7);
        assert_eq!(meter.rows(), 3);
        assert!(meter.bytes() > 0, "{}", path.display());
    }
}

#[test]
fn rows_of_several_files_lead_back_to_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], "iata,gates\nA,1\nB,2\nC,3\n").unwrap();
    std::fs::write(&paths[1], "gates,iata\n4,D\n5,E\n").unwrap();
    let meter = Arc::new(Meter::default());
    let table = open(&paths, Format::Csv, &airport(), &options(), &meter).unwrap();
    let rows: usize = table.batches.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 5);
    assert_eq!(meter.place(3), Some(Place { file: paths[0].clone(), row: 3 }));
    assert_eq!(meter.place(4), Some(Place { file: paths[1].clone(), row: 1 }));
}

#[test]
fn files_with_other_columns_are_refused_before_a_row_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], "iata,gates\nA,1\n").unwrap();
    for other in ["iata\nB\n", "iata,gates,state\nB,1,x\n", "iata,state\nB,x\n"] {
        std::fs::write(&paths[1], other).unwrap();
        let meter = Arc::new(Meter::default());
        let opened = open(&paths, Format::Csv, &airport(), &options(), &meter);
        assert!(matches!(opened, Err(InputError::FilesDiffer { .. })), "{other}");
        assert_eq!(meter.rows(), 0);
    }
}

#[test]
fn format_follows_from_the_name_and_is_one_for_all() {
    assert_eq!(Format::of(Path::new("x/A.CSV")).unwrap(), Format::Csv);
    assert_eq!(Format::of(Path::new("a.jsonl")).unwrap(), Format::Ndjson);
    assert!(matches!(Format::of(Path::new("-")), Err(InputError::FormatUnknown { .. })));
    let mixed = ["a.csv", "b.parquet"].map(PathBuf::from);
    assert!(matches!(Format::of_all(&mixed), Err(InputError::FormatsMixed { .. })));
}

#[test]
fn standard_input_stands_alone() {
    assert!(matches!(check_files(&["-", "a.csv"].map(PathBuf::from)), Err(InputError::StandardInputNotAlone)));
    assert!(check_files(&[PathBuf::from("-")]).is_ok());
}
