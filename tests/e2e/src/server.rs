//! A real `omnigraph serve`, on a free port, that ends with the test that started it.
//!
//! A failure here is a fault of the machine or a server that does not start, so these functions panic with the place and the server's log.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const BINARY_VARIABLE: &str = "OMNIGRAPH_TEST_BINARY";
/// Text that the server prints before its URL once it accepts calls.
const LISTENING: &str = "listening ";
/// Longest wait for a server that was started.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest wait for a server that received a request to stop; its own bound on running calls is 10 seconds.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a stopping server is checked.
const STOP_INTERVAL: Duration = Duration::from_millis(20);
/// Longest wait until all threads of a server are stopped, and how often they are checked.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(1);
const PAUSE_INTERVAL: Duration = Duration::from_micros(200);
/// Longest wait for a line of the log, and how often it is looked for.
const LOG_TIMEOUT: Duration = Duration::from_secs(30);
const LOG_INTERVAL: Duration = Duration::from_millis(10);

/// The path that `cargo xtask test` passes to the tests in a variable of the environment.
///
/// # Panics
///
/// If the variable is not set.
pub fn path_of(variable: &str) -> PathBuf {
    let value = std::env::var_os(variable);
    value.unwrap_or_else(|| panic!("{variable} is not set: run the tests with `cargo xtask test`")).into()
}

/// The built binary, with none of its own variables set.
pub fn omnigraph() -> Command {
    let mut command = Command::new(path_of(BINARY_VARIABLE));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OMNIGRAPH_") {
            command.env_remove(name);
        }
    }
    command
}

/// The workspace's folder.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// An empty folder for graphs.
pub fn root() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    /// Where it is called: `grpc://127.0.0.1:port`.
    pub url: String,
    /// Its process.
    pub pid: u32,
    child: Child,
    log: PathBuf,
    _log_folder: TempDir,
}

impl Server {
    /// Starts a server of `root` (a folder, or the URL of a store) with these variables set, and waits until it can be called.
    ///
    /// # Panics
    ///
    /// If it ends, prints another line, or prints nothing for a minute, before it accepts calls.
    pub fn start(root: impl AsRef<OsStr>, variables: &[(&str, &str)]) -> Self {
        let log_folder = tempfile::tempdir().unwrap();
        let log = log_folder.path().join("log");
        let mut child = omnigraph()
            .args(["serve", "--init", "--listen", "127.0.0.1:0", "--root"])
            .arg(root.as_ref())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (printed, listening) = std::sync::mpsc::channel();
        // In a thread of its own, because reading a pipe has no bound. It ends with the process at the latest.
        std::thread::spawn(move || {
            let mut line = String::new();
            // If the time is over, no receiver is left.
            let _ = printed.send(output.read_line(&mut line).map(|_| line));
        });
        let line = listening.recv_timeout(START_TIMEOUT).map_or(String::new(), Result::unwrap);
        let mut server = Self { url: String::new(), pid: child.id(), child, log, _log_folder: log_folder };
        match line.trim_end().strip_prefix(LISTENING) {
            Some(url) => server.url = url.to_owned(),
            None => panic!("the server did not start: {line:?}; its log:\n{}", server.log()),
        }
        server
    }

    /// The text of its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until it has logged `text`.
    ///
    /// # Panics
    ///
    /// If it does not within 30 seconds.
    pub async fn logged(&self, text: &str) {
        let started = std::time::Instant::now();
        while !self.log().contains(text) {
            assert!(started.elapsed() < LOG_TIMEOUT, "the server does not log {text:?}; its log:\n{}", self.log());
            tokio::time::sleep(LOG_INTERVAL).await;
        }
    }

    /// Kills it as a loss of power would, and waits until the process has ended.
    pub fn kill9(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops all of its threads where they are, and waits until they are stopped. It keeps its files, its connections and its tickets.
    ///
    /// # Panics
    ///
    /// If they are not stopped within a second.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        let started = std::time::Instant::now();
        while self.state() != 'T' {
            assert!(started.elapsed() < PAUSE_TIMEOUT, "process {} is not stopped", self.pid);
            std::thread::sleep(PAUSE_INTERVAL);
        }
    }

    /// Resumes a paused server.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// The file that it logs to. Dropping the server removes it.
    pub fn log_file(&self) -> &Path {
        &self.log
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// The state of the process in one letter.
    fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap();
        // The name of the program precedes it in parentheses, and may hold any letter.
        stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next()).unwrap()
    }

    /// Asks it to stop, as an operator would, and waits for its end.
    ///
    /// # Panics
    ///
    /// If it still runs after 30 seconds.
    pub fn stop(mut self) -> ExitStatus {
        let signalled = Command::new("kill").args(["-TERM", &self.pid.to_string()]).status().unwrap();
        assert!(signalled.success());
        let started = std::time::Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < STOP_TIMEOUT, "the server does not stop; its log:\n{}", self.log());
            std::thread::sleep(STOP_INTERVAL);
        }
    }

    /// Bytes of memory that the process holds now.
    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let from = log.lines().count().saturating_sub(40);
            eprintln!("last lines of the server's log:\n{}", log.lines().skip(from).collect::<Vec<_>>().join("\n"));
        }
        // After `kill9` and `stop` the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
