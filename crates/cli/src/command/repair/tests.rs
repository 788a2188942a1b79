use clap::Parser;
use clap::error::ErrorKind;
use omnigraph_client::{TransactionKind, UnreadableIntent};
use omnigraph_types::{GraphVersion, TableVersion};

use super::*;

fn preview() -> (Asked, RepairReport) {
    let branch: BranchName = "it's".parse().unwrap();
    let repair = Repair { types: vec!["Airport".to_owned()], ..Repair::preview(branch) };
    let found = FoundTransaction {
        version: TableVersion(7),
        transaction: "5d2f".to_owned(),
        kind: TransactionKind::Append,
        rows_change: 1,
        operation_id: None,
    };
    let table = TableToRepair {
        type_name: "Airport".to_owned(),
        pinned: TableVersion(6),
        transactions: vec![found],
        transactions_total: 3,
        damage: None,
    };
    let report = RepairReport {
        operation_id: Client::mint_operation_id(),
        state: RepairState::Preview,
        intent: None,
        tables: vec![table],
        tables_fenced: 0,
        confirmation: Some("0123456789abcdef".to_owned()),
        version: GraphVersion(8),
        types_left: Vec::new(),
    };
    (Asked { graph: "airline".parse().unwrap(), repair }, report)
}

#[test]
fn preview_tells_what_would_be_lost_and_the_command_that_does_it() {
    let (asked, report) = preview();
    assert_eq!(
        repair_text(&asked, &report),
        "Airport: transaction 5d2f (append, 1 row more) at version 7 would be undone by a restore of version 6\n\
         Airport: and 2 more transactions, undone too\n\
         nothing was done; to do exactly this:\n  \
         omnigraph repair airline --branch 'it'\\''s' --table Airport --confirm 0123456789abcdef\n"
    );
}

#[test]
fn finished_repair_of_an_intent_tells_what_was_done_and_what_is_left() {
    let (asked, report) = preview();
    let report = RepairReport {
        state: RepairState::Done,
        intent: Some(UnreadableIntent { version: GraphVersion(9), format: Some(2) }),
        tables: Vec::new(),
        tables_fenced: 2,
        confirmation: None,
        version: GraphVersion(9),
        types_left: vec!["Route".to_owned()],
        ..report
    };
    assert_eq!(
        repair_text(&asked, &report),
        "the intent of version 9 on branch it's cannot be read: its write is undone\n  \
         a program of storage format 2 wrote it: that program can settle it instead\n\
         further tables: 2, which are put out of reach of that write and keep their rows\n\
         Route: not restored: a newer commit blocks it, or its version is damaged\n\
         done: version 9 of branch it's records it\n"
    );
}

#[test]
fn table_whose_version_is_missing_is_told_with_the_way_out() {
    let (asked, mut report) = preview();
    report.state = RepairState::Impossible;
    report.confirmation = None;
    report.tables[0].transactions.clear();
    report.tables[0].transactions_total = 0;
    report.tables[0].damage = Some((TableVersion(6), TableDamage::Missing));
    let text = repair_text(&asked, &report);
    assert!(text.starts_with("Airport: version 6 is missing\n"), "{text}");
    assert!(text.contains("omnigraph check airline"), "{text}");
}

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    repair: RepairArguments,
}

#[test]
fn empty_confirmation_is_refused() {
    let refused = Line::try_parse_from(["repair", "g", "--confirm", ""]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidValue);
    assert_eq!(Line::try_parse_from(["repair", "g", "--confirm", "a"]).unwrap().repair.confirm.as_deref(), Some("a"));
}
