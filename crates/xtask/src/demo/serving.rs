//! The demo's server and its folder, both gone when the demo is, however it ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::error::{Error, Result};

/// Runs its arguments, and stops them when its standard input ends: that happens when the process that started it closes it, and also when
/// that process is gone.
const SUPERVISOR: &str = "\
\"$@\" &
server=$!
trap '{ kill $server; wait $server; } 2>/dev/null' EXIT
trap 'exit 1' INT TERM HUP
cat >/dev/null";
/// What the server prints before its URL once it can be called.
const LISTENING: &str = "listening ";

/// A folder under the system's temporary one.
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes a folder that no other process uses.
    pub(super) fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("omnigraph-demo-{}", std::process::id()));
        fs::create_dir(&path).map_err(|source| Error::io("create", &path, &source))?;
        Ok(Self { path })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, and reports a failure.
    pub(super) fn remove(self) -> Result<()> {
        fs::remove_dir_all(&self.path).map_err(|source| Error::io("remove", &self.path, &source))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // After `remove` the folder no longer exists; after a failure that failure is the one to report.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A running server.
pub(super) struct Server {
    supervisor: Child,
    url: String,
}

impl Server {
    /// Starts the binary's server on a free port and waits until it can be called.
    pub(super) fn start(binary: &Path, root: &Path) -> Result<Self> {
        let failed = |source| Error::new(format!("start the server: {source}"));
        let mut supervisor = Command::new("sh")
            .args(["-c", SUPERVISOR, "supervisor"])
            .arg(binary)
            .args(["serve", "--init", "--listen", "127.0.0.1:0", "--root"])
            .arg(root)
            // The demo prints each step itself; of the server's log only warnings add to that.
            .env("RUST_LOG", "warn")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stdout = supervisor.stdout.take();
        let mut server = Self { supervisor, url: String::new() };
        let mut line = String::new();
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut line).map_err(failed)?;
        }
        match line.trim_end().strip_prefix(LISTENING) {
            Some(url) => server.url = url.to_owned(),
            None => return Err(Error::new("the server did not start").way_out("read its message above")),
        }
        Ok(server)
    }

    /// Where it is called.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Stops it, as an operator would, and waits for its end.
    pub(super) fn stop(mut self) -> Result<()> {
        self.end().map_err(|source| Error::new(format!("stop the server: {source}")))
    }

    fn end(&mut self) -> std::io::Result<()> {
        drop(self.supervisor.stdin.take());
        self.supervisor.wait().map(|_| ())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The caller is failing already, or has stopped the server.
        let _ = self.end();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program in place of the server: it writes its process id to a file, runs `line`, and keeps running.
    fn program(folder: &Path, line: &str) -> PathBuf {
        let path = folder.join("program");
        let text = format!("#!/bin/sh\necho $$ > '{}'\n{line}\nexec sleep 1000\n", folder.join("id").display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn is_alive(folder: &Path) -> std::process::ExitStatus {
        let id = fs::read_to_string(folder.join("id")).unwrap();
        Command::new("kill").args(["-0", id.trim()]).stderr(Stdio::null()).status().unwrap()
    }

    #[test]
    fn server_runs_until_it_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let binary = program(folder.path(), "echo listening grpc://127.0.0.1:7");
        let server = Server::start(&binary, folder.path()).unwrap();
        assert_eq!(server.url(), "grpc://127.0.0.1:7");
        assert!(is_alive(folder.path()).success());
        server.stop().unwrap();
        assert!(!is_alive(folder.path()).success());
    }

    #[test]
    fn server_ends_with_a_demo_that_fails() {
        let folder = tempfile::tempdir().unwrap();
        let binary = program(folder.path(), "echo listening grpc://127.0.0.1:7");
        drop(Server::start(&binary, folder.path()).unwrap());
        assert!(!is_alive(folder.path()).success());
    }

    #[test]
    fn program_that_is_no_server_is_an_error_and_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let binary = program(folder.path(), "echo something else");
        assert!(Server::start(&binary, folder.path()).is_err());
        assert!(!is_alive(folder.path()).success());
    }
}
