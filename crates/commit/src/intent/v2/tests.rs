//! The golden file of format 2, and what is read of bytes that are no intent of this program.

use super::*;

/// Written once, by the first program of this format: a program that cannot pass has another format.
const GOLDEN: &str = include_str!("../../../../../tests/data/format/v2/intent.json");

fn branch() -> BranchId {
    "0FQJFZEK3FSGNYBQ2F9HP16Q45".parse().unwrap()
}

const VERSION: GraphVersion = GraphVersion(9);

fn read(text: &str) -> Result<Intent, NotAnIntent> {
    Intent::from_bytes(text.as_bytes(), branch(), VERSION)
}

#[test]
fn intent_is_written_as_it_was_read() {
    let intent = read(GOLDEN).unwrap();
    assert_eq!(String::from_utf8(intent.to_bytes().unwrap().to_vec()).unwrap(), GOLDEN.trim_end());
    assert_eq!((intent.writer.as_str(), intent.base, intent.aborts), ("load", GraphVersion(8), 1));
    assert_eq!(intent.effects[0].transactions.len(), 2);
    assert_eq!(intent.token.tables.len(), 2);
    assert!(intent.publication.operations.iter().all(|entry| intent.is_for(entry.operation_id)));
}

#[test]
fn kind_that_is_not_known_is_a_newer_servers() {
    let replaced = [
        ("\"publication\":{\"kind\":\"commit\"", "\"publication\":{\"kind\":\"vacuum\""),
        ("\"change\":\"pin\"", "\"change\":\"pin_of_pins\""),
        ("\"precondition\":\"no_other_branches\"", "\"precondition\":\"no_wind\""),
        ("{\"by\":\"own\"", "{\"by\":\"vote\""),
        ("{\"format\":2,", "{\"format\":3,"),
    ];
    for (known, unknown) in replaced {
        assert!(GOLDEN.contains(known), "{known}");
        let found = read(&GOLDEN.replacen(known, unknown, 1));
        assert!(matches!(&found, Err(NotAnIntent::Newer(newer)) if newer.version == VERSION), "{unknown}: {found:?}");
    }
}

#[test]
fn anything_else_is_unreadable() {
    let replaced = [
        ("{\"format\":2,", "{\"format\":1,"),
        ("\"base\":8", "\"base\":9"),
        ("\"base\":8", "\"base\":18446744073709551615"),
        ("\"actor\"", "\"author\""),
        ("\"aborts\":1", "\"aborts\":\"1\""),
        ("\"branch_id\":\"0FQJFZEK3FSGNYBQ2F9HP16Q45\"", "\"branch_id\":\"0FQJFZEK3FSGNYBQ2F9HP16Q46\""),
    ];
    for (sound, damaged) in replaced {
        assert!(GOLDEN.contains(sound), "{sound}");
        let found = read(&GOLDEN.replacen(sound, damaged, 1));
        assert!(matches!(&found, Err(NotAnIntent::Unreadable(_))), "{damaged}: {found:?}");
    }
    assert!(matches!(read(&GOLDEN[..GOLDEN.len() / 2]), Err(NotAnIntent::Unreadable(_))));
}
