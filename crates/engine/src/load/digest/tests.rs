use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, ListArray, StringArray, new_null_array};
use arrow::datatypes::Int32Type;
use omnigraph_types::{BranchName, GraphId, LoadMode};
use proptest::prelude::{any, prop_assert_eq, prop_assert_ne, proptest};

use super::{ColumnDigest, DigestHead, DigestStream, load_digest};

fn digest_of(slices: &[ArrayRef]) -> String {
    let mut column = ColumnDigest::default();
    slices.iter().for_each(|slice| column.add(slice.as_ref()).unwrap());
    let head = DigestHead { graph: GraphId::default_for_test(), branch: &BranchName::Main, mode: LoadMode::Append };
    load_digest(head, [DigestStream { type_name: "P", columns: vec![("c", &column)] }].into_iter())
}

trait DefaultForTest {
    fn default_for_test() -> Self;
}

impl DefaultForTest for GraphId {
    fn default_for_test() -> Self {
        GraphId(ulid::Ulid::from_parts(1, 1))
    }
}

fn cut(array: &ArrayRef, at: usize) -> Vec<ArrayRef> {
    let at = at.min(array.len());
    vec![array.slice(0, at), array.slice(at, array.len() - at)]
}

proptest! {
    #[test]
    fn digest_does_not_depend_on_where_rows_are_cut(
        texts in proptest::collection::vec(proptest::option::of("[a-c]{0,3}"), 0..40),
        lists in proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<Option<i32>>(), 0..4)), 0..40),
        flags in proptest::collection::vec(any::<Option<bool>>(), 0..40),
        at in 0_usize..40,
    ) {
        let columns: [ArrayRef; 3] = [
            Arc::new(StringArray::from(texts)),
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
            Arc::new(BooleanArray::from(flags)),
        ];
        for array in columns {
            prop_assert_eq!(digest_of(std::slice::from_ref(&array)), digest_of(&cut(&array, at)));
        }
    }

    #[test]
    fn different_content_has_different_digests(
        left in proptest::collection::vec(proptest::option::of("[ab]{0,2}"), 0..6),
        right in proptest::collection::vec(proptest::option::of("[ab]{0,2}"), 0..6),
    ) {
        let (a, b): (ArrayRef, ArrayRef) = (Arc::new(StringArray::from(left.clone())), Arc::new(StringArray::from(right.clone())));
        if left == right {
            prop_assert_eq!(digest_of(&[a]), digest_of(&[b]));
        } else {
            prop_assert_ne!(digest_of(&[a]), digest_of(&[b]));
        }
    }
}

#[test]
fn a_column_left_out_equals_a_column_of_nulls() {
    let nulls = new_null_array(&arrow::datatypes::DataType::Int64, 5);
    let mut absent = ColumnDigest::default();
    absent.add_nulls(2);
    absent.add_nulls(3);
    let mut present = ColumnDigest::default();
    present.add(nulls.as_ref()).unwrap();
    present.add(&Int64Array::from(Vec::<i64>::new())).unwrap();
    let head = || DigestHead { graph: GraphId::default_for_test(), branch: &BranchName::Main, mode: LoadMode::Append };
    let of = |column| load_digest(head(), [DigestStream { type_name: "P", columns: vec![("c", column)] }].into_iter());
    assert_eq!(of(&absent), of(&present));
}
