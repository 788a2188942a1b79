//! Faults of the operating system under a real server: syncs that fail or hang, disks that are full or read-only, clocks that are wrong.
//!
//! Why a shim before the C library: permissions do not bind root, mounts are not permitted everywhere, and the syncs of a process are seen by
//! nothing else. `faults.c` is compiled once per process of tests. A failure here is one of the machine, so these functions panic.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longest wait until a sync hangs, and how often it is looked for.
const HUNG_TIMEOUT: Duration = Duration::from_secs(30);
const HUNG_POLL: Duration = Duration::from_millis(5);

/// An error of the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// ENOSPC: a disk without space. Files can be made and removed; nothing can be written into them.
    Full,
    /// EROFS: a file system that became read-only.
    ReadOnly,
}

impl Refusal {
    /// Its number on Linux.
    fn errno(self) -> i32 {
        match self {
            Self::Full => 28,
            Self::ReadOnly => 30,
        }
    }
}

/// The faults of one server, ordered and withdrawn while it runs.
#[derive(Debug)]
pub struct Faults {
    folder: TempDir,
    variables: Vec<(&'static str, String)>,
    root: PathBuf,
}

/// The compiled shim.
fn shim() -> &'static Path {
    static SHIM: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, shim) = SHIM.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let shim = folder.path().join("faults.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/faults.c");
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(source).arg("-ldl");
        let status = compile.status().expect("run `cc`, the C compiler that links the tests too");
        assert!(status.success(), "`cc` does not compile faults.c");
        (folder, shim)
    });
    shim
}

impl Faults {
    /// No fault yet, for a server of `root`.
    pub fn of(root: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = root.canonicalize().unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let variables =
            vec![("LD_PRELOAD", text(shim())), ("FAULTS_FOLDER", text(folder.path())), ("FAULTS_ROOT", text(&root))];
        Self { folder, variables, root }
    }

    /// The same, and the server's wall clock is `seconds` ahead, or behind.
    #[must_use]
    pub fn with_clock(mut self, seconds: i64) -> Self {
        self.variables.push(("FAULTS_CLOCK_SECONDS", seconds.to_string()));
        self
    }

    /// The variables of the server that has them.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_str()))
    }

    fn entry(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn order(&self, name: &str, number: i32, pattern: &str) {
        let next = self.entry(&format!("{name}.made"));
        std::fs::write(&next, format!("{number} {pattern}")).unwrap();
        std::fs::rename(next, self.entry(name)).unwrap();
    }

    /// The next `times` syncs of matching files and folders fail. A pattern is a path below the root as a shell matches it, with a slash at its end
    /// for a folder. `*` is everything, and `*/` every folder.
    pub fn fail_syncs(&self, times: u16, pattern: &str) {
        self.order("fail_sync", times.into(), pattern);
    }

    /// How many of the ordered failures have not happened.
    pub fn syncs_to_fail(&self) -> u16 {
        let order = std::fs::read_to_string(self.entry("fail_sync")).unwrap();
        order.split(' ').next().unwrap().parse().unwrap()
    }

    /// No further sync fails.
    pub fn mend_syncs(&self) {
        std::fs::remove_file(self.entry("fail_sync")).unwrap();
    }

    /// From now on a sync of a matching file or folder does not return.
    pub fn hang_syncs(&self, pattern: &str) {
        self.order("hang_sync", 1, pattern);
    }

    /// From now on a line of the log does not leave the server: what reads its log has stopped.
    pub fn hang_log(&self) {
        std::fs::write(self.entry("hang_log"), b"").unwrap();
    }

    /// Waits until something hangs.
    ///
    /// # Panics
    ///
    /// If nothing does within 30 seconds.
    pub async fn hung(&self) {
        let started = Instant::now();
        while !self.entry("hung").exists() {
            assert!(started.elapsed() < HUNG_TIMEOUT, "nothing hangs; the syncs that were made:\n{:?}", self.syncs());
            tokio::time::sleep(HUNG_POLL).await;
        }
    }

    /// From now on changes of matching files and folders are refused.
    pub fn refuse_writes(&self, refusal: Refusal, pattern: &str) {
        self.order("fail_write", refusal.errno(), pattern);
    }

    /// Changes are admitted again.
    pub fn admit_writes(&self) {
        std::fs::remove_file(self.entry("fail_write")).unwrap();
    }

    /// Every sync so far below the root, in order; a folder has a slash at its end.
    pub fn syncs(&self) -> Vec<String> {
        let account = self.entry("syncs");
        let text = if account.exists() { std::fs::read_to_string(account).unwrap() } else { String::new() };
        let root = format!("{}/", self.root.display());
        text.lines().map(|line| line.strip_prefix(&root).unwrap().to_owned()).collect()
    }
}
