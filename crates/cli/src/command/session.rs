//! What every command starts from: a connection, texts to read, and the outcome that becomes the exit code.

use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use omnigraph_client::{Client, ClientOptions};

use super::global::Global;
use crate::error::CliError;
use crate::input::{InputError, is_standard_input};
use crate::output::{Output, OutputError};

/// Bytes of the largest query or schema file; the server's own limits are smaller.
const TEXT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What a command that succeeded reports by its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is done, and nothing is wrong.
    Done,
    /// A check found something that the next write or restart repairs.
    MendsItself,
    /// A check found, or a repair left, something that needs a person.
    NeedsPerson,
}

/// A connection, and how results are printed.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) output: Output,
}

impl Session {
    /// Connects as the command line says.
    pub(crate) async fn open(global: &Global) -> Result<Self, CliError> {
        let (timeout, expect_root) = (global.timeout.unwrap_or_default(), global.expect_root);
        let options = ClientOptions { timeout, expect_root, ..ClientOptions::default() };
        let client = Client::connect_with(&global.url, options).await?;
        Ok(Self { client, output: global.output })
    }

    /// Prints to the standard output, all at once.
    pub(crate) fn print(&self, print: impl FnOnce(&mut dyn Write) -> Result<(), OutputError>) -> Result<(), CliError> {
        let mut out = BufWriter::new(io::stdout().lock());
        print(&mut out)?;
        out.flush().map_err(OutputError::from)?;
        Ok(())
    }
}

/// The text of a file, or of the standard input.
pub(crate) fn read_text(file: &Path) -> Result<String, CliError> {
    let failed = |source| InputError::Open { file: file.to_owned(), source };
    let reader: Box<dyn Read> = match is_standard_input(file) {
        true => Box::new(io::stdin()),
        false => Box::new(crate::input::open_file(file)?),
    };
    let mut text = String::new();
    reader.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > TEXT_BYTES_MAX {
        return Err(CliError::usage(format!("{} holds more than {TEXT_BYTES_MAX} bytes of text", file.display())));
    }
    Ok(text)
}
