//! Stores of S3 and Azure that run on this machine for the time of a test program: moto and azurite.
//!
//! One pair per process, started by the first test that asks; it ends with the process, because its standard input does.

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

/// The stores that run.
#[derive(Debug)]
pub struct Emulators {
    told: Told,
    /// Held for its standard input.
    _process: Child,
}

/// What the program tells when its stores can be called.
#[derive(Debug, Deserialize)]
struct Told {
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
        let mut process = Command::new(told(PYTHON_VARIABLE))
            .arg("-B")
            .arg(program)
            .args([&told(AZURITE_VARIABLE), BUCKET])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program of the emulated stores starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output is a pipe");
        BufReader::new(output).read_line(&mut line).expect("its output can be read");
        let told = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("the emulated stores did not start ({error}): {line:?}"));
        Self { told, _process: process }
    }

    /// A root in S3 that nobody else uses.
    pub fn s3_root(&self) -> String {
        format!("s3://{}/{}", self.told.bucket, Ulid::new())
    }

    /// A root in Azure that nobody else uses.
    pub fn azure_root(&self) -> String {
        format!("az://{}/{}", self.told.bucket, Ulid::new())
    }

    /// The variables that a client of either needs.
    pub fn variables(&self) -> &HashMap<String, String> {
        &self.told.variables
    }
}

fn told(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set: run these tests with `cargo xtask test`"))
}
