//! Places where a test may kill, fail, or hold a writer. They exist in debug builds only.
//!
//! A point is a value: which writer, which phase, before or after the put of that phase. The set of writers is open, so each writer declares
//! its own points, and whoever reads `OMNIGRAPH_FAILPOINTS` passes the declared ones in.
//!
//! `OMNIGRAPH_FAILPOINTS=<graph>/<point>=<action>[@<hit>]`, several separated by commas. An action fires once per process, at the given hit
//! of its point (the first, if none is named): `kill` ends the process with SIGKILL, `error` fails as if the store had refused, `lose`
//! fails as if the reply had been lost, `pause` waits until the file named by `OMNIGRAPH_FAILPOINTS_RELEASE` exists, at most a minute, and
//! `late` lets the put that follows the point fail with an unknown outcome and land when that file exists, or after a minute. `busy` does the same,
//! and until then refuses this process's other puts of that object as if it existed.

#[cfg(debug_assertions)]
mod armed;
#[cfg(not(debug_assertions))]
mod disarmed;
#[cfg(debug_assertions)]
mod hold;
#[cfg(debug_assertions)]
mod late;
mod point;

#[cfg(debug_assertions)]
pub use armed::FailPoints;
#[cfg(not(debug_assertions))]
pub use disarmed::FailPoints;
pub use point::{FailPoint, FailPointsError, Follows, Injected, Side, WriterPoints};
