//! The progress of a load on the standard error, where a person looks at it.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::input::Meter;
use crate::output::{count, rows};

/// How often the display is renewed.
const INTERVAL: Duration = Duration::from_millis(200);
/// With a known size of all files.
const WITH_TOTAL: &str = "{msg}\n{bar:40} {bytes}/{total_bytes}  {binary_bytes_per_sec}  {eta} left";
/// Without.
const WITHOUT_TOTAL: &str = "{msg}\n{spinner} {bytes}  {binary_bytes_per_sec}";

/// Whether progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Show {
    /// On a terminal
    Auto,
    /// Never
    Never,
}

/// A progress display; hidden where the output is not a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    meter: Arc<Meter>,
}

impl Progress {
    /// Begins a display of what `meter` counts; `bytes` is the size of all files, where it is known.
    pub(crate) fn begin(shown: Show, meter: &Arc<Meter>, bytes: Option<u64>) -> Self {
        let visible = shown == Show::Auto && std::io::stderr().is_terminal();
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(bytes, target);
        let template = if bytes.is_some() { WITH_TOTAL } else { WITHOUT_TOTAL };
        // The templates are constants of this file; the default replaces one that is wrong.
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, meter: Arc::clone(meter) }
    }

    /// Shows what was counted so far.
    pub(crate) fn show(&self) {
        let seconds = self.bar.elapsed().as_secs_f64();
        self.bar.set_message(format!(
            "{}, {} rows/s",
            rows(self.meter.rows()),
            count(per_second(self.meter.rows(), seconds))
        ));
        self.bar.set_position(self.meter.bytes());
    }

    /// All rows are sent; the server validates and commits.
    pub(crate) fn committing(&self) {
        self.show();
        self.bar.set_message(format!("{} sent; the server validates and commits", rows(self.meter.rows())));
    }

    /// How often [`Progress::show`] is worth calling.
    pub(crate) fn interval() -> Duration {
        INTERVAL
    }

    /// Removes the display.
    pub(crate) fn end(self) -> Summary {
        let summary = Summary { rows: self.meter.rows(), bytes: self.meter.bytes(), elapsed: self.bar.elapsed() };
        self.bar.finish_and_clear();
        summary
    }
}

/// What a load read, in how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Summary {
    rows: u64,
    bytes: u64,
    elapsed: Duration,
}

impl Summary {
    /// `3,376 rows in 0.4 s: 8,440 rows/s, 512.3 KiB/s`
    pub(crate) fn text(&self) -> String {
        let seconds = self.elapsed.as_secs_f64();
        format!(
            "{} in {seconds:.1} s: {} rows/s, {}/s",
            rows(self.rows),
            count(per_second(self.rows, seconds)),
            HumanBytes(per_second(self.bytes, seconds))
        )
    }
}

/// A rate, rounded down. A float that no u64 holds saturates.
fn per_second(amount: u64, seconds: f64) -> u64 {
    (amount as f64 / seconds.max(0.001)) as u64
}
