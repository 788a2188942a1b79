//! What is written is read back as the same.

use proptest::prelude::*;

use super::samples::{self, Dice, VERSION};
use crate::format::v2::{self, decode_lineage, decode_registers, decode_state, encode_lineage, encode_registers};
use crate::newer::Reading;

proptest! {
    #[test]
    fn state_is_read_as_it_was_written(seed in any::<u64>()) {
        let state = samples::state(&mut Dice::new(seed));
        let read = decode_state(&[v2::encode_state(&state).unwrap()], VERSION).unwrap();
        prop_assert_eq!(read, state);
    }

    #[test]
    fn base_and_history_are_read_as_they_were_written(seed in any::<u64>()) {
        let state = samples::state(&mut Dice::new(seed));
        let base = decode_registers(&[encode_registers(&state).unwrap()], VERSION).unwrap();
        prop_assert_eq!((base.tables, base.branches, base.newer), (state.tables, state.branches, None));
        let history = encode_lineage(&state.commits, &state.publications).unwrap();
        let history = decode_lineage(&[history], VERSION).unwrap();
        prop_assert_eq!((history.commits, history.publications, history.newer), (state.commits, state.publications, None));
    }

    #[test]
    fn publication_is_read_as_it_was_written(seed in any::<u64>()) {
        let publication = samples::publication(&mut Dice::new(seed));
        let text = serde_json::to_string(&v2::Publication::from(&publication)).unwrap();
        let read = serde_json::from_str::<v2::Publication>(&text).unwrap().read().unwrap();
        prop_assert_eq!(read, Reading::Known(publication));
    }
}
