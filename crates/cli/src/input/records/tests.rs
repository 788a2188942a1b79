use std::io::BufReader;

use super::*;

/// Line and cells of a record.
type Record = (u64, Vec<(String, Quoting)>);

/// Every record after the header, cell by cell, with the line of each record.
fn read(text: &[u8]) -> Result<Vec<Record>, (u64, RecordRule)> {
    let broken = |error| match error {
        RecordError::Broken { line, rule } => (line, rule),
        RecordError::Read(error) => panic!("{error}"),
    };
    // A small buffer, so that every state is met at its end.
    let mut records = Records::new(BufReader::with_capacity(3, text), b',');
    records.header(1_000).map_err(broken)?;
    let mut all = Vec::new();
    while let Some(block) = records.block(2).map_err(broken)? {
        for record in 0..block.records() {
            let cell = |column| {
                let cell = block.cell(record, column);
                (cell.text.to_owned(), cell.quoting)
            };
            all.push((block.line(record, 0), (0..block.columns()).map(cell).collect()));
        }
    }
    Ok(all)
}

fn plain(text: &str) -> (String, Quoting) {
    (text.to_owned(), Quoting::Plain)
}

fn quoted(text: &str) -> (String, Quoting) {
    (text.to_owned(), Quoting::Quoted)
}

#[test]
fn quoted_cells_are_distinguished_and_keep_what_they_hold() {
    let text = b"a,b\n\"\",\n\"x, \"\"y\"\"\",5\" pipe\n\"two\r\nlines\",last";
    let expected = vec![
        (2, vec![quoted(""), plain("")]),
        (3, vec![quoted("x, \"y\""), plain("5\" pipe")]),
        (4, vec![quoted("two\r\nlines"), plain("last")]),
    ];
    assert_eq!(read(text), Ok(expected));
}

#[test]
fn records_are_named_by_the_line_where_they_begin() {
    let text = b"k,s\r\n\r\n\"a\n\n\",1\r\n\nb,2\r\n";
    assert_eq!(read(text).unwrap().iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 7]);
}

#[test]
fn blank_line_is_an_empty_cell_where_records_have_one_cell() {
    assert_eq!(read(b"k\na\n\nb\n").unwrap().len(), 3);
    assert_eq!(read(b"k,s\na,1\n\nb,2\n").unwrap().len(), 2);
}

#[test]
fn what_breaks_the_rules_is_refused_with_its_line() {
    let broken: [(&[u8], u64, RecordRule); 10] = [
        (b"k,s\na,\"ok\" trailing\n", 2, RecordRule::TextAfterQuote),
        (b"k,s\na,\"ok\"x\n", 2, RecordRule::TextAfterQuote),
        (b"k,s\na, \"ok\"\n", 2, RecordRule::SpacesBeforeQuote),
        (b"k,s\na,1\nb,\"stray\nc,2\n", 3, RecordRule::Unclosed),
        (b"k,s\na,1\rb,2\r", 2, RecordRule::ReturnAlone),
        (b"k,s\na,1\nb\nc,3\n", 3, RecordRule::Cells { found: 1, expected: 2 }),
        (b"k,s\n\"a\n\",1\nb,2,3\n", 4, RecordRule::Cells { found: 3, expected: 2 }),
        (b"k,s\na,1\nb,\xff\n", 3, RecordRule::NotUtf8),
        (b"k,s\n\xc3,\xa9\n", 2, RecordRule::NotUtf8),
        (b"k,s\na,1\n\"\"\"", 3, RecordRule::Unclosed),
    ];
    for (text, line, rule) in broken {
        assert_eq!(read(text), Err((line, rule)), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn record_over_its_bound_is_refused() {
    let mut records = Records::new(&b"aaaaaaaaaaaaaaaaaaaa,b"[..], b',');
    assert!(matches!(
        records.header(10),
        Err(RecordError::Broken { line: 1, rule: RecordRule::TooLong { bytes_max: 10 } })
    ));
}
