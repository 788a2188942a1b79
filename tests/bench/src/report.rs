//! Medians, and the machine and build of the numbers.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

/// The middle of the values; the mean of the two in the middle of an even number. Zero of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (None, _) => 0.0,
        (Some(value), 1) => *value,
        (Some(value), _) => (sorted[middle - 1] + value) / 2.0,
    }
}

/// The median of durations, in microseconds.
pub(crate) fn median_us(durations: &[Duration]) -> f64 {
    median(&durations.iter().map(|duration| duration.as_secs_f64() * 1e6).collect::<Vec<_>>())
}

/// Three decimals: more would be noise.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// `release` or `debug`, as this program was built.
pub(crate) fn profile() -> &'static str {
    if cfg!(debug_assertions) { "debug" } else { "release" }
}

/// The machine: processor, cores, memory, system.
pub(crate) fn machine() -> Value {
    let field = |path: &str, name: &str| -> Option<String> {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "processor": field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "memory": field("/proc/meminfo", "MemTotal").unwrap_or_else(|| "unknown".to_owned()),
        "system": format!("{} {}", std::env::consts::OS, kernel.trim()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_an_even_number_is_the_mean_of_the_middle() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(&[]), 0.0);
    }
}
