//! Every bound of the matrix.

use std::time::Duration;

/// A plain write of the next writer must succeed within this time of the fault.
pub(crate) const BLOCKED_MAX: Duration = Duration::from_secs(5);
/// Longest wait for the answer to any request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(25);
/// Deadline of a request that is held past it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(4);
/// The same for a rescuer, which waits for the grace before it reaches its point.
pub(crate) const RESCUER_DEADLINE: Duration = Duration::from_secs(9);
/// Longest wait until no operation is left unsettled.
pub(crate) const QUIET_MAX: Duration = Duration::from_secs(5);
/// How often the graph is checked for unsettled operations.
pub(crate) const QUIET_POLL: Duration = Duration::from_millis(50);
/// Longest wait until a writer is at its point; a rescuer waits for the grace first.
pub(crate) const HIT_MAX: Duration = Duration::from_secs(25);
/// How often a log is read.
pub(crate) const LOG_POLL: Duration = Duration::from_millis(10);
/// Longest that one cell may take in all.
pub(crate) const CELL_MAX: Duration = Duration::from_secs(180);
/// Cells that share a root and its running server. A server that is started examines every graph of the root.
pub(crate) const CELLS_PER_STAND: usize = 12;
/// How far a clock is behind or ahead: ten years.
pub(crate) const CLOCK_SECONDS: i64 = 10 * 365 * 24 * 3_600;
/// More syncs than a server makes in a cell.
pub(crate) const SYNCS_MAX: u16 = 30_000;
