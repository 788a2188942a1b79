//! Server processes: found, started on a free port, asked for their memory, ended.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::error::BenchError;

/// Longest wait for a server to listen.
const START_WAIT: Duration = Duration::from_secs(30);
/// Pause between two tries to reach it.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// The programs that are measured.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    server: PathBuf,
    floor: PathBuf,
}

impl Programs {
    /// The programs given, else those built beside this one.
    pub(crate) fn find(server: Option<PathBuf>, floor: Option<PathBuf>) -> Result<Self, BenchError> {
        let own = std::env::current_exe().map_err(BenchError::io("find the folder of built programs"))?;
        let built = own.parent().unwrap_or(Path::new("."));
        let server = existing(server.unwrap_or_else(|| built.join("omnigraph")))?;
        let floor = existing(floor.unwrap_or_else(|| built.join("examples").join("bare_flight")))?;
        Ok(Self { server, floor })
    }

    /// Starts the server on an empty root below `folder`.
    pub(crate) async fn start_server(&self, folder: &Path) -> Result<Server, BenchError> {
        Server::start(&self.server, &["serve", "--init"], folder).await
    }

    /// Starts the bare writer on an empty folder below `folder`.
    pub(crate) async fn start_floor(&self, folder: &Path) -> Result<Server, BenchError> {
        Server::start(&self.floor, &[], folder).await
    }
}

fn existing(path: PathBuf) -> Result<PathBuf, BenchError> {
    if path.is_file() { Ok(path) } else { Err(BenchError::ProgramMissing { path }) }
}

/// A running server process; dropping it ends the process.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    async fn start(program: &Path, first: &[&str], folder: &Path) -> Result<Self, BenchError> {
        let root = folder.join("root");
        fs::create_dir_all(&root).map_err(BenchError::io("make the root folder"))?;
        let log = folder.join("server.log");
        let output = File::create(&log).map_err(BenchError::io("make the server's log"))?;
        let errors = output.try_clone().map_err(BenchError::io("share the server's log"))?;
        // The port is free again when the listener is dropped at the end of the statement.
        let address = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .map_err(BenchError::io("find a free port"))?;
        let process = Command::new(program)
            .args(first)
            .arg("--root")
            .arg(&root)
            .args(["--listen", &address.to_string()])
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(BenchError::io("start a server"))?;
        let mut server = Self { process, address };
        server.wait_until_listening(program, &log).await?;
        Ok(server)
    }

    async fn wait_until_listening(&mut self, program: &Path, log: &Path) -> Result<(), BenchError> {
        let deadline = Instant::now() + START_WAIT;
        let reason = loop {
            if TcpStream::connect(self.address).await.is_ok() {
                return Ok(());
            }
            if let Some(status) = self.process.try_wait().map_err(BenchError::io("look at a server"))? {
                break format!("it ended with {status}");
            }
            if Instant::now() >= deadline {
                break format!("it did not listen within {START_WAIT:?}");
            }
            sleep(TRY_EVERY).await;
        };
        let kept = std::env::temp_dir().join("omnigraph-bench-server.log");
        let log = fs::copy(log, &kept).map_or_else(|_| log.to_path_buf(), |_| kept);
        let program = program.display().to_string();
        Err(BenchError::ServerDown { program, address: self.address.to_string(), reason, log })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The most memory it has held, in bytes.
    pub(crate) fn peak_bytes(&self) -> Result<u64, BenchError> {
        let path = format!("/proc/{}/status", self.process.id());
        let text = fs::read_to_string(&path).map_err(BenchError::io("read a server's memory"))?;
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|value| value.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        kib.map(|kib| kib * 1024).ok_or(BenchError::Proc { path, what: "VmHWM" })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
