use std::fs::File;
use std::io::Cursor;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Float64Type, Int32Type, Int64Type, Schema, TimeUnit, UInt64Type};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;

use super::records::RecordRule;
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
    ReadOptions { columns: ColumnChoice::default(), null_values: Vec::new(), delimiter: None, batch_rows: 2 }
}

fn read_csv(text: &str, of: &TypeColumns, options: &ReadOptions) -> Result<Vec<RecordBatch>, InputError> {
    csv_file::read(Cursor::new(text.as_bytes().to_vec()), Path::new("a.csv"), b',', of, options)?.batches.collect()
}

fn one_column(data_type: DataType, cells: &[&str]) -> Result<ArrayRef, InputError> {
    let of = TypeColumns {
        name: "T".to_owned(),
        schema: Arc::new(Schema::new(vec![Field::new("iata", DataType::Utf8, true), Field::new("x", data_type, true)])),
    };
    let quoted = cells.iter().map(|cell| match cell.is_empty() {
        true => "k,\n".to_owned(),
        false => format!("k,\"{}\"\n", cell.replace('"', "\"\"")),
    });
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
fn wrong_cell_is_named_by_file_line_and_column() {
    let error = read_csv("iata,gates\na,1\nb,2\nc,many\n", &airport(), &options()).unwrap_err();
    insta::assert_snapshot!(error, @r#"a.csv, line 4, column "gates": "many" is not I64: a whole number from -2^63 to 2^63-1"#);
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
    let returns = read_csv("iata,name\rOSL,x\r", &airport(), &options());
    assert!(matches!(returns, Err(InputError::Record { line: 1, rule: RecordRule::ReturnAlone, .. })));
    assert!(matches!(read_csv("\n\n", &airport(), &options()), Err(InputError::HeaderMissing { .. })));
    assert_eq!(read_csv("iata\n", &airport(), &options()).unwrap().len(), 0);
}

#[test]
fn row_with_more_cells_than_the_header_is_refused() {
    let error = read_csv("iata,gates\na,1,2\n", &airport(), &options()).unwrap_err();
    insta::assert_snapshot!(error, @"a.csv, line 2: the record has 3 cells, and the header has 2");
}

#[test]
fn empty_cell_is_null_and_a_quoted_one_is_the_empty_text() {
    let batches = read_csv("iata,state\nOSL,\"\"\nBGO,\n", &airport(), &options()).unwrap();
    assert_eq!(batches[0].column(1).as_string::<i32>().iter().collect::<Vec<_>>(), [Some(""), None]);
    let both = ReadOptions { null_values: vec![String::new()], ..options() };
    assert_eq!(read_csv("iata,state\nOSL,\"\"\nBGO,\n", &airport(), &both).unwrap()[0].column(1).null_count(), 2);
    let error = read_csv("iata,gates\nOSL,\"\"\n", &airport(), &options()).unwrap_err();
    insta::assert_snapshot!(error, @r#"a.csv, line 2, column "gates": "" is not I64: a whole number from -2^63 to 2^63-1; an empty cell without quotes is null, and --null-values '' makes this one null"#);
}

#[test]
fn errors_name_lines_of_the_file() {
    let line = |text: &str| match read_csv(text, &airport(), &options()).unwrap_err() {
        InputError::Record { line, .. } | InputError::Cell { line, .. } => line,
        other => panic!("{other}"),
    };
    assert_eq!(line("iata,gates\na,1\nb\nc,3\n"), 3);
    assert_eq!(line("iata,gates\n\"a\n\n\",1\nb,many\n"), 5);
    assert_eq!(line("iata,gates\n\"a\n\n\",many\n"), 4);
    assert_eq!(line("iata,gates\n\n\na,many\n"), 4);
}

#[test]
fn row_of_a_load_leads_back_to_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "iata,gates\n\"a\n\n\",1\n\nb,2\nc,3\n").unwrap();
    assert_eq!(lines_of(&path, b',', &[1, 2, 3, 4]), [2, 6, 7]);
    assert_eq!(lines_of(&path, b',', &[2]), [6]);
    assert!(lines_of(&folder.path().join("none.csv"), b',', &[1]).is_empty());
}

#[test]
fn item_of_a_list_is_taken_as_it_is_written_or_refused() {
    let item = |data_type| DataType::List(Arc::new(Field::new("item", data_type, true)));
    for (data_type, cell) in [
        (DataType::Utf8, "[1.50]"),
        (DataType::Utf8, "[true]"),
        (DataType::Int64, "[1.0]"),
        (DataType::Float64, "[\"1.5\"]"),
        (DataType::Boolean, "[\"true\"]"),
        (DataType::Utf8, "[null]"),
    ] {
        let read = one_column(item(data_type.clone()), &[cell]);
        assert!(matches!(read, Err(InputError::Cell { line: 2, .. })), "{data_type} {cell}");
    }
    let large = one_column(item(DataType::Int64), &["[9007199254740993, \"9007199254740995\"]"]).unwrap();
    assert_eq!(
        large.as_list::<i32>().value(0).as_primitive::<Int64Type>().values(),
        &[9_007_199_254_740_993, 9_007_199_254_740_995]
    );
}

#[test]
fn time_finer_than_a_millisecond_is_refused_unless_its_rest_is_zero() {
    let zone = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    assert!(one_column(zone.clone(), &["2024-01-01T00:00:00.123000Z"]).is_ok());
    let error = one_column(zone, &["2024-01-01T00:00:00.123456Z"]).unwrap_err();
    assert!(matches!(&error, InputError::Cell { line: 2, value, .. } if value.contains("123456")), "{error}");
}

#[test]
fn other_delimiter_is_suspected_and_taken() {
    let error = read_csv("iata;gates\na;1\n", &airport(), &options()).unwrap_err();
    insta::assert_snapshot!(error, @r#"a.csv: the header line "iata;gates" has no ',': if its columns are separated by ';', add --delimiter ';'"#);
    assert_eq!(error.misuse(), Misuse::CommandLine);
    let tabs = read_csv("iata\tgates\na\t1\n", &airport(), &options()).unwrap_err();
    assert!(tabs.to_string().ends_with("add --delimiter $'\\t'"), "{tabs}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "iata;gates\na,b;1\n").unwrap();
    let semicolons = ReadOptions { delimiter: Some(b';'), ..options() };
    let table = open(&[path], Format::Csv, &airport(), &semicolons, &Arc::default()).unwrap();
    let batch = table.batches.map(Result::unwrap).next().unwrap();
    assert_eq!(batch.column(0).as_string::<i32>().value(0), "a,b");
}

#[test]
fn hint_quotes_what_a_shell_would_change() {
    let error = read_csv("iata, state\na,1\n", &airport(), &options()).unwrap_err();
    insta::assert_snapshot!(error, @r#"a.csv: column " state" is not in Airport, whose columns are id, iata, state, latitude, gates; use --rename ' state'=<one of them>, or --skip-column ' state'"#);
}

#[test]
fn compressed_text_is_read_whatever_its_name_and_to_its_end() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    // Two members one after another are one text.
    let bytes = [gzip("iata,gates\na,1\n"), gzip("b,2\n")].concat();
    for name in ["a.csv.gz", "b.csv"] {
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(Format::of(&path).unwrap(), Format::Csv);
        let meter = Arc::new(Meter::default());
        let table = open(std::slice::from_ref(&path), Format::Csv, &airport(), &options(), &meter).unwrap();
        let rows: usize = table.batches.map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!((rows, meter.bytes()), (2, bytes.len() as u64), "{name}");
    }
    let cut = folder.path().join("cut.csv.gz");
    std::fs::write(&cut, &bytes[..bytes.len() - 4]).unwrap();
    let opened = open(std::slice::from_ref(&cut), Format::Csv, &airport(), &options(), &Arc::default());
    let read = opened.and_then(|table| table.batches.collect::<Result<Vec<_>, _>>());
    assert!(matches!(read, Err(InputError::Read { .. })), "{read:?}");
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
        assert!(matches!(read, Err(InputError::Cell { line: 2, .. })), "{data_type} {cell}");
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
    assert!(matches!(wrong, Err(InputError::Cell { line: 3, .. })), "{wrong:?}");

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
    assert_eq!(meter.place(3), Some(Place { file: paths[0].clone(), row: 3, line: None }));
    assert_eq!(meter.place(4), Some(Place { file: paths[1].clone(), row: 1, line: None }));
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

fn parquet(path: &Path, batch: &RecordBatch) {
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn dictionary(texts: Vec<&str>) -> ArrayRef {
    Arc::new(texts.into_iter().collect::<arrow::array::DictionaryArray<Int32Type>>())
}

#[test]
fn files_that_load_alone_load_together_as_the_declared_types() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.parquet", "b.parquet"].map(|name| folder.path().join(name));
    let decimals = arrow::array::Decimal128Array::from(vec![12]).with_precision_and_scale(38, 0).unwrap();
    let plain: ArrayRef = Arc::new(StringArray::from(vec!["OSL"]));
    parquet(
        &paths[0],
        &RecordBatch::try_from_iter([("iata", plain), ("gates", Arc::new(decimals) as ArrayRef)]).unwrap(),
    );
    let gates: ArrayRef = Arc::new(Int64Array::from(vec![7]));
    parquet(&paths[1], &RecordBatch::try_from_iter([("gates", gates), ("iata", dictionary(vec!["BGO"]))]).unwrap());

    let table = open(&paths, Format::Parquet, &airport(), &options(), &Arc::default()).unwrap();
    let batches: Vec<RecordBatch> = table.batches.collect::<Result<_, _>>().unwrap();
    assert!(batches.iter().all(|batch| batch.schema() == table.schema));
    let read: Vec<(&str, i64)> = batches
        .iter()
        .map(|batch| {
            (batch.column(0).as_string::<i32>().value(0), batch.column(1).as_primitive::<Int64Type>().value(0))
        })
        .collect();
    assert_eq!(read, [("OSL", 12), ("BGO", 7)]);

    let fraction = arrow::array::Decimal128Array::from(vec![1_250]).with_precision_and_scale(38, 2).unwrap();
    let plain: ArrayRef = Arc::new(StringArray::from(vec!["OSL"]));
    parquet(
        &paths[0],
        &RecordBatch::try_from_iter([("iata", plain), ("gates", Arc::new(fraction) as ArrayRef)]).unwrap(),
    );
    let table = open(&paths, Format::Parquet, &airport(), &options(), &Arc::default()).unwrap();
    let error = table.batches.collect::<Result<Vec<_>, _>>().unwrap_err();
    assert!(
        matches!(&error, InputError::Value { file, row: Some(1), column, .. } if *file == paths[0] && column == "gates"),
        "{error}"
    );
}

/// A file with one column of the old timestamps: days since the Julian epoch and nanoseconds.
fn int96_file(path: &Path, values: &[(u32, u64)]) {
    use parquet::data_type::{Int96, Int96Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let schema = Arc::new(parse_message_type("message m { required int96 at; }").unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let of = |&(day, nanoseconds): &(u32, u64)| {
        let mut value = Int96::new();
        value.set_data((nanoseconds & 0xffff_ffff) as u32, (nanoseconds >> 32) as u32, day);
        value
    };
    let values: Vec<Int96> = values.iter().map(of).collect();
    column.typed::<Int96Type>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn old_timestamps_of_parquet_keep_every_year_and_no_part_of_a_millisecond() {
    use arrow::datatypes::TimestampMillisecondType;
    let zone = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let of = TypeColumns { name: "T".to_owned(), schema: Arc::new(Schema::new(vec![Field::new("at", zone, true)])) };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    // 1970-01-01 is Julian day 2440588; 0001-01-01 and 9999-12-31 are far beyond what nanoseconds in 64 bits hold.
    let (first, last) = (2_440_588 - 719_162, 2_440_588 + 2_932_896);
    int96_file(&path, &[(first, 0), (last, 86_399_999_000_000), (2_440_588, 1_000_000)]);
    let table = open(std::slice::from_ref(&path), Format::Parquet, &of, &options(), &Arc::default()).unwrap();
    let times: Vec<String> = table
        .batches
        .flat_map(|batch| batch.unwrap().column(0).as_primitive::<TimestampMillisecondType>().values().to_vec())
        .map(omnigraph_lang::date::format_datetime)
        .collect();
    assert_eq!(times, ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "1970-01-01T00:00:00.001Z"]);

    int96_file(&path, &[(last, 0), (first, 0), (first, 1_000)]);
    let table = open(&[path], Format::Parquet, &of, &options(), &Arc::default()).unwrap();
    let error = table.batches.collect::<Result<Vec<_>, _>>().unwrap_err();
    assert!(matches!(&error, InputError::Value { row: Some(3), column, .. } if column == "at"), "{error}");
}

#[test]
fn damaged_file_is_an_error_wherever_the_damage_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    parquet(&path, &sample());
    let whole = std::fs::read(&path).unwrap();
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0xff;
        std::fs::write(&path, &damaged).unwrap();
        // Some bytes are padding or statistics; what matters is that every outcome is a value.
        let opened = open(std::slice::from_ref(&path), Format::Parquet, &airport(), &skip_junk(), &Arc::default());
        let _ = opened.and_then(|table| table.batches.collect::<Result<Vec<_>, _>>());
    }
}
