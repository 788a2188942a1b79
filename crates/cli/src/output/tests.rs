use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray, TimestampMillisecondArray, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Int32Type};
use serde_json::json;

use super::*;

fn batch() -> RecordBatch {
    let node: ArrayRef = Arc::new(StructArray::from(vec![
        (
            Arc::new(Field::new("id", DataType::Utf8, false)),
            Arc::new(StringArray::from(vec!["OSL", "B\"O"])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("gates", DataType::Int64, true)),
            Arc::new(Int64Array::from(vec![Some(5), None])) as ArrayRef,
        ),
    ]));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), Some(2)]), None]);
    let time = TimestampMillisecondArray::from(vec![Some(0), None]).with_timezone("UTC");
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", Arc::new(StringArray::from(vec![Some("Oslo, Norway"), None]))),
        ("big", Arc::new(Int64Array::from(vec![9_007_199_254_740_993, -5]))),
        ("huge", Arc::new(UInt64Array::from(vec![u64::MAX, 9_007_199_254_740_991]))),
        ("share", Arc::new(Float32Array::from(vec![0.1, 1.0]))),
        ("mean", Arc::new(Float64Array::from(vec![f64::INFINITY, 1e21]))),
        ("open", Arc::new(BooleanArray::from(vec![true, false]))),
        ("day", Arc::new(Date32Array::from(vec![Some(19_723), None]))),
        ("at", Arc::new(time)),
        ("list", Arc::new(lists)),
        ("a", node),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn printed(output: Output, batches: &[RecordBatch]) -> String {
    let mut out = Vec::new();
    let mut printer = Printer::begin(output, batch().schema(), &mut out).unwrap();
    batches.iter().for_each(|batch| printer.batch(batch).unwrap());
    printer.end().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn json_keeps_every_digit_and_is_one_object() {
    let text = printed(Output::Json, &[batch()]);
    insta::assert_snapshot!(text, @r#"
    {"columns":["name","big","huge","share","mean","open","day","at","list","a"],"rows":[
    {"name":"Oslo, Norway","big":"9007199254740993","huge":"18446744073709551615","share":0.1,"mean":null,"open":true,"day":"2024-01-01","at":"1970-01-01T00:00:00.000Z","list":[1,2],"a":{"id":"OSL","gates":5}},
    {"name":null,"big":-5,"huge":9007199254740991,"share":1.0,"mean":1e+21,"open":false,"day":null,"at":null,"list":null,"a":{"id":"B\"O","gates":null}}
    ]}
    "#);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["rows"].as_array().unwrap().len(), 2);
}

#[test]
fn result_without_rows_still_has_its_columns() {
    assert_eq!(
        printed(Output::Json, &[]),
        "{\"columns\":[\"name\",\"big\",\"huge\",\"share\",\"mean\",\"open\",\"day\",\"at\",\"list\",\"a\"],\"rows\":[]}\n"
    );
    assert_eq!(printed(Output::Csv, &[]), "name,big,huge,share,mean,open,day,at,list,a\n");
}

#[test]
fn csv_quotes_what_needs_it_and_tells_null_from_empty() {
    insta::assert_snapshot!(printed(Output::Csv, &[batch()]), @r#"
    name,big,huge,share,mean,open,day,at,list,a
    "Oslo, Norway",9007199254740993,18446744073709551615,0.1,inf,true,2024-01-01,1970-01-01T00:00:00.000Z,"[1,2]","{""id"":""OSL"",""gates"":5}"
    ,-5,9007199254740991,1.0,1e+21,false,,,,"{""id"":""B\""O"",""gates"":null}"
    "#);
    assert_eq!(csv::line([Some(String::new()), None].into_iter()), "\"\",");
}

#[test]
fn table_aligns_numbers_and_shows_null() {
    let columns = batch().project(&[0, 1, 6]).unwrap();
    let mut out = Vec::new();
    let mut printer = Printer::begin(Output::Table, columns.schema(), &mut out).unwrap();
    printer.batch(&columns).unwrap();
    assert_eq!(printer.end().unwrap(), Printed { rows: 2, left_out: 0 });
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r"
    ┌──────────────┬──────────────────┬────────────┐
    │ name         ┆              big ┆ day        │
    ╞══════════════╪══════════════════╪════════════╡
    │ Oslo, Norway ┆ 9007199254740993 ┆ 2024-01-01 │
    │ null         ┆               -5 ┆ null       │
    └──────────────┴──────────────────┴────────────┘
    ");
}

#[test]
fn text_of_a_graph_cannot_move_the_cursor() {
    assert_eq!(value::printable("a\u{1b}[2Jb\nc\u{9b}é"), "a\\u{1b}[2Jb\\nc\\u{9b}é");
}

#[test]
fn list_and_record_are_printed_in_every_form() {
    let rows = [vec![json!("a"), json!(1)], vec![Value::Null, json!(["x", "y"])]];
    let list = |output| {
        let mut out = Vec::new();
        print_list(output, &["name", "n"], &rows, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(list(Output::Csv), "name,n\na,1\n,x y\n");
    let value: Value = serde_json::from_str(&list(Output::Json)).unwrap();
    assert_eq!(value["rows"][1]["n"], json!(["x", "y"]));
    assert!(list(Output::Table).contains("x y"));

    let mut out = Vec::new();
    let fields = [("storage_format", json!(1)), ("commit", Value::Null), ("head", json!("h"))];
    print_record(Output::Table, &fields, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "storage format  1\nhead            h\n");
}

#[test]
fn counts_are_grouped_by_thousands() {
    assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
}
