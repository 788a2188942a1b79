use arrow::array::new_empty_array;
use omnigraph_lang::schema::{Schema, parse_schema};

use super::*;
use crate::views::Column;

/// Every type of the language, with its Arrow type as Arrow prints it.
fn table() -> Vec<(PropertyType, &'static str)> {
    vec![
        (PropertyType::Scalar(Scalar::String), "Utf8"),
        (PropertyType::Scalar(Scalar::Bool), "Boolean"),
        (PropertyType::Scalar(Scalar::I32), "Int32"),
        (PropertyType::Scalar(Scalar::I64), "Int64"),
        (PropertyType::Scalar(Scalar::U32), "UInt32"),
        (PropertyType::Scalar(Scalar::U64), "UInt64"),
        (PropertyType::Scalar(Scalar::F32), "Float32"),
        (PropertyType::Scalar(Scalar::F64), "Float64"),
        (PropertyType::Scalar(Scalar::Date), "Date32"),
        (PropertyType::Scalar(Scalar::DateTime), "Timestamp(ms, \"UTC\")"),
        (PropertyType::List(Scalar::DateTime), "List(Timestamp(ms, \"UTC\"))"),
        (PropertyType::List(Scalar::String), "List(Utf8)"),
        (PropertyType::Vector(3), "FixedSizeList(3 x Float32)"),
        (PropertyType::Vector(i32::MAX.unsigned_abs()), "FixedSizeList(2147483647 x Float32)"),
        (PropertyType::Blob, "LargeBinary"),
    ]
}

#[test]
fn every_language_type_has_one_arrow_type_and_reads_back() {
    let mut types = table();
    types.extend(Scalar::ALL.map(|scalar| (PropertyType::List(scalar), "")));
    for (ty, printed) in types {
        let arrow = arrow_type(&ty);
        assert_eq!(language_type(&arrow), Some(ty.clone()), "{arrow}");
        assert_eq!(describe(&arrow), ty.to_string());
        assert!(printed.is_empty() || arrow.to_string() == printed, "{ty}: {arrow}");
        // The views agree with the mapping. An empty column of the longest vector holds no items.
        assert!(Column::of(new_empty_array(&arrow).as_ref()).is_ok(), "{arrow}");
    }
}

#[test]
fn enum_is_stored_as_text() {
    let arrow = arrow_type(&PropertyType::Enum(vec!["a".to_owned()]));
    assert_eq!((&arrow, language_type(&arrow)), (&DataType::Utf8, Some(PropertyType::Scalar(Scalar::String))));
}

#[test]
fn foreign_arrow_types_have_no_language_type() {
    let item = |ty| Arc::new(Field::new("item", ty, true));
    let foreign = [
        DataType::LargeUtf8,
        DataType::Int16,
        DataType::Binary,
        DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Timestamp(TimeUnit::Millisecond, Some("Europe/Berlin".into())),
        DataType::List(item(DataType::List(item(DataType::Utf8)))),
        DataType::FixedSizeList(item(DataType::Float64), 2),
        DataType::Struct(Fields::empty()),
    ];
    for ty in foreign {
        assert_eq!(language_type(&ty), None, "{ty}");
        assert!(Column::of(new_empty_array(&ty).as_ref()).is_err(), "{ty}");
        assert_eq!(describe(&ty), ty.to_string());
    }
}

fn schema(text: &str) -> Schema {
    Schema::accept_first(&parse_schema(text).unwrap())
}

#[test]
fn table_has_ids_then_ends_then_properties_with_the_schemas_nullability() {
    let schema = schema("node P { k: String @key  age: I32? }\nedge Knows: P -> P { since: Date? }");
    let fields = |name: &str| {
        let table = table_schema(schema.type_by_name(name).unwrap()).unwrap();
        let field = |field: &Arc<Field>| (field.name().clone(), field.is_nullable());
        table.fields().iter().map(field).collect::<Vec<_>>()
    };
    let pair = |name: &str, nullable| (name.to_owned(), nullable);
    assert_eq!(fields("P"), [pair("id", false), pair("k", false), pair("age", true)]);
    let knows = fields("Knows");
    assert_eq!(knows, [pair("id", false), pair("src", false), pair("dst", false), pair("since", true)]);
    assert_eq!((&knows[ID].0[..], &knows[SRC].0[..], &knows[DST].0[..]), ("id", "src", "dst"));
}

#[test]
fn table_with_a_blob_is_refused_and_a_node_as_a_value_leaves_it_out() {
    let schema = schema("node P { name: String  photo: Blob? }");
    let def = schema.type_by_name("P").unwrap();
    let Err(ColumnsError::BlobStored { type_name, property }) = table_schema(def) else { panic!("it was stored") };
    assert_eq!((type_name.as_str(), property.as_str()), ("P", "photo"));
    let fields = entity_fields(def);
    assert_eq!(fields.iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["id", "name"]);
}
