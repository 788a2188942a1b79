//! The program: the whole matrix, a part of it, or cells by their names. The last line of standard output is one JSON object.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Parser;
use omnigraph_crash::{Cell, run};

/// Cells at once: most of a cell is waiting for the grace.
const AT_ONCE: usize = 6;

#[derive(Debug, Parser)]
#[command(about = "Stops every writer in every way at every point; run it by `cargo xtask crash`")]
struct Arguments {
    /// Run the Nth of M parts of the matrix
    #[arg(long, value_name = "N/M", conflicts_with = "cell")]
    part: Option<Part>,
    /// Run the cell of this name, as it is printed; may be given more than once
    #[arg(long, value_name = "NAME")]
    cell: Vec<Cell>,
    /// Run the cells whose names begin with this text
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Cells at once
    #[arg(long, default_value_t = NonZeroUsize::new(AT_ONCE).expect("more than none"))]
    at_once: NonZeroUsize,
    /// Print the names of the cells instead of running them
    #[arg(long)]
    list: bool,
}

/// One of several parts of the matrix: every Mth cell, from the Nth on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    number: usize,
    of: usize,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((number, of)) if number >= 1 && number <= of => Ok(Self { number, of }),
            _ => Err(format!("{text:?} is no part: write 1/4 for the first of four")),
        }
    }
}

impl Arguments {
    fn cells(&self) -> Vec<Cell> {
        if !self.cell.is_empty() {
            return self.cell.clone();
        }
        let prefix = self.prefix.as_deref().unwrap_or_default();
        let cells = Cell::all().into_iter().filter(|cell| cell.to_string().starts_with(prefix));
        match self.part {
            Some(Part { number, of }) => cells.skip(number - 1).step_by(of).collect(),
            None => cells.collect(),
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let cells = arguments.cells();
    if arguments.list {
        cells.iter().for_each(|cell| println!("{cell}"));
        return ExitCode::SUCCESS;
    }
    if cells.is_empty() {
        eprintln!("error: no cell has this name: --list prints the names");
        return ExitCode::FAILURE;
    }
    let report = run(cells, arguments.at_once.get()).await;
    for point in report.points_unhit() {
        eprintln!("UNHIT     {point}");
    }
    println!("{}", report.json());
    let good = report.violations().next().is_none() && report.points_unhit().is_empty();
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_up_the_whole() {
        let part = |text: &str| Arguments::parse_from(["omnigraph-crash", "--part", text]).cells();
        let parts: usize = ["1/3", "2/3", "3/3"].map(|text| part(text).len()).iter().sum();
        assert_eq!(parts, Cell::all().len());
        for text in ["0/3", "4/3", "1", "a/b"] {
            assert!(text.parse::<Part>().is_err(), "{text}");
        }
    }
}
