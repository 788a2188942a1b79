//! Stores of S3 and Azure that run on this machine for the time of a test program: moto and azurite.
//!
//! One pair per process, started by the first test that needs it; it ends with the process, because its standard input does.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde::Deserialize;
use ulid::Ulid;

/// Names a Python that has moto.
const PYTHON_VARIABLE: &str = "OMNIGRAPH_TEST_PYTHON";
/// Names azurite's main program.
const AZURITE_VARIABLE: &str = "OMNIGRAPH_TEST_AZURITE";
/// The bucket, and the container, that every test shares.
const BUCKET: &str = "graphs";

/// The running stores.
#[derive(Debug)]
pub struct Emulators {
    stores: Stores,
    /// Held for its standard input.
    _process: Child,
}

/// The line that the program prints once its stores accept requests.
#[derive(Debug, Deserialize)]
struct Stores {
    bucket: String,
    variables: HashMap<String, String>,
}

impl Emulators {
    /// The stores of this process; started if they do not run yet.
    ///
    /// # Panics
    /// If they cannot be started: run such tests with `cargo xtask test`, which installs them.
    pub fn running() -> &'static Self {
        static RUNNING: OnceLock<Emulators> = OnceLock::new();
        RUNNING.get_or_init(Self::start)
    }

    fn start() -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/emulators.py");
        let mut process = Command::new(required(PYTHON_VARIABLE))
            .arg("-B")
            .arg(program)
            .args([&required(AZURITE_VARIABLE), BUCKET])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program of the emulated stores starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output is a pipe");
        BufReader::new(output).read_line(&mut line).expect("its output can be read");
        let stores = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("the emulated stores did not start ({error}): {line:?}"));
        Self { stores, _process: process }
    }

    /// A root in S3 that no other test uses.
    pub fn s3_root(&self) -> String {
        format!("s3://{}/{}", self.stores.bucket, Ulid::new())
    }

    /// A root in Azure that no other test uses.
    pub fn azure_root(&self) -> String {
        format!("az://{}/{}", self.stores.bucket, Ulid::new())
    }

    /// The variables that a client of either needs.
    pub fn variables(&self) -> &HashMap<String, String> {
        &self.stores.variables
    }
}

fn required(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set: run these tests with `cargo xtask test`"))
}
