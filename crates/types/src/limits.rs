//! Every limit, retry budget and timeout, with its default and its unit.
//!
//! A limit is a field here, a flag and an environment variable of the server, and a row of `GetServerInfo`.

use std::time::Duration;

use crate::named::named_enum;

macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $name:ident = $default:literal $unit:ident $(from $least:literal)?),* $(,)?) => {
        /// The limits in force. Each field's unit is the last word of its name or is named in its description.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Limits {
            $($(#[doc = $doc])+ pub $name: u64,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Limits {
            /// Every limit with its value, default, unit and description, in the order of declaration.
            pub fn entries(&self) -> Vec<LimitEntry<&'static str>> {
                vec![$(LimitEntry {
                    name: stringify!($name),
                    value: self.$name,
                    default: $default,
                    unit: LimitUnit::$unit,
                    description: concat!($($doc),+).trim_start(),
                },)*]
            }

            /// Sets a limit by name.
            pub fn set(&mut self, name: &str, value: u64) -> Result<(), LimitRefused> {
                match name {
                    $(stringify!($name) => {
                        let least = 0 $(+ $least)?;
                        if value < least {
                            return Err(LimitRefused::TooSmall { least });
                        }
                        self.$name = value;
                    })*
                    _ => return Err(LimitRefused::Unknown { names: vec![$(stringify!($name)),*] }),
                }
                Ok(())
            }
        }
    };
}

/// Why a limit is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitRefused {
    /// No limit has this name.
    Unknown {
        /// The names there are.
        names: Vec<&'static str>,
    },
    /// With this value nothing would ever be done.
    TooSmall {
        /// The smallest value.
        least: u64,
    },
}

named_enum! {
    /// What a limit counts.
    pub enum LimitUnit {
        /// Bytes.
        Bytes = "bytes",
        /// Rows.
        Rows = "rows",
        /// Milliseconds.
        Milliseconds = "milliseconds",
        /// Other things, which the limit's description names.
        Count = "count",
        /// A unit that only a newer program knows.
        Newer = "newer",
    }
}

/// One limit as it is reported: with the program's own texts, or with texts that another program sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitEntry<Text> {
    /// Name of the field, also of the flag (with dashes).
    pub name: Text,
    /// Value in force.
    pub value: u64,
    /// Default.
    pub default: u64,
    /// What it counts.
    pub unit: LimitUnit,
    /// What it bounds.
    pub description: Text,
}

impl LimitEntry<&'static str> {
    /// The entry with texts of its own, as an answer holds it.
    pub fn into_owned(self) -> LimitEntry<String> {
        LimitEntry {
            name: self.name.to_owned(),
            value: self.value,
            default: self.default,
            unit: self.unit,
            description: self.description.to_owned(),
        }
    }
}

limits! {
    /// Largest gRPC or Flight message that the server decodes.
    message_bytes_max = 67_108_864 Bytes from 1,
    /// Largest request, and largest message of a stream that has no turn yet; many may be on their way at once.
    request_bytes_max = 4_194_304 Bytes from 1,
    /// Requests in progress at once; further ones wait, then are refused.
    requests_concurrent_max = 1_024 Count from 1,
    /// Bulk loads whose rows are taken at once in this server; further ones wait for their turn.
    loads_concurrent_max = 8 Count from 1,
    /// Bulk loads that wait for their turn; further ones are refused.
    loads_queued_max = 256 Count,
    /// Longest time that a bulk load waits for its turn.
    load_wait_ms = 60_000 Milliseconds,
    /// Time that a bulk load may let its turn pass while others wait: every 64 KiB of rows earn a second of it.
    load_patience_ms = 10_000 Milliseconds,
    /// Longest time any request may take where the client names no deadline.
    request_timeout_ms = 3_600_000 Milliseconds from 1,
    /// Longest time that a client takes for one message of its request before the request is refused.
    stream_idle_timeout_ms = 120_000 Milliseconds from 1,
    /// Longest time that a graceful stop waits for running requests.
    shutdown_timeout_ms = 30_000 Milliseconds,
    /// Longest time that a write waits for a taken ticket and settles it.
    ticket_wait_ms = 30_000 Milliseconds,
    /// Least time that an intent of another process must remain unchanged before its owner counts as dead.
    recovery_grace_ms = 2_000 Milliseconds,
    /// Interval between two searches of a server through every branch for interrupted writes; 0 searches at startup only.
    recovery_interval_ms = 60_000 Milliseconds,
    /// Greatest time that an intent of another process must remain unchanged, however slow this server's own puts are.
    recovery_grace_max_ms = 60_000 Milliseconds,
    /// Rounds of one request against other writers before COMMIT_CONTENTION.
    commit_rounds_max = 64 Count from 1,
    /// Age of the proof that a version is the newest after which a writer proves it again, or gives up.
    proof_age_max_ms = 3_600_000 Milliseconds,
    /// Age of the proof that the root is still the one that was opened, after which it is proven again before the next write.
    root_proof_age_max_ms = 3_000 Milliseconds,
    /// How far ahead of the server's clock an operation id may be.
    operation_id_ahead_ms = 86_400_000 Milliseconds,
    /// How far behind the server's clock an unknown operation id may be.
    operation_id_behind_ms = 691_200_000 Milliseconds,
    /// Bytes of one load's fingerprints and partition buffers kept in memory; more are spilled to local disk.
    load_memory_bytes_max = 33_554_432 Bytes from 1,
    /// Rows of one load in merge mode.
    merge_rows_max = 1_000_000 Rows from 1,
    /// Rows of one staged data file.
    data_file_rows_max = 1_048_576 Rows from 1,
    /// Bytes of one NDJSON line.
    ndjson_line_bytes_max = 33_554_432 Bytes from 1,
    /// Structural characters of one NDJSON line.
    ndjson_structurals_max = 131_072 Count from 1,
    /// Bytes of one query text.
    query_text_bytes_max = 1_048_576 Bytes from 1,
    /// Bytes of one schema text.
    schema_text_bytes_max = 1_048_576 Bytes from 1,
    /// Bytes that one query may hold in memory before it fails.
    query_memory_bytes_max = 268_435_456 Bytes from 1,
    /// Queries, scans and exports in progress at once in this server; further ones wait.
    queries_concurrent_max = 16 Count from 1,
    /// Queries, scans and exports that wait for their turn; further ones are refused.
    queries_queued_max = 256 Count,
    /// Bytes that all queries together may hold in memory; each counts with the most that it may hold.
    queries_memory_bytes_max = 4_294_967_296 Bytes from 1,
    /// Columns that one query may return.
    query_columns_max = 1_000 Count from 1,
    /// Largest page of a list.
    page_size_max = 1_000 Count from 1,
    /// Page of a list where the client names no size.
    page_size_default = 100 Count from 1,
    /// Violations or conflicts listed in one error; the total is always reported.
    error_items_max = 10 Count,
    /// Branches of one graph whose newest versions are kept in memory.
    branches_cached_max = 256 Count,
    /// Graphs that are kept open while no request uses them.
    graphs_open_max = 1_024 Count,
    /// Schemas that are kept prepared; each graph has one in force.
    schemas_cached_max = 256 Count,
    /// Bytes of Lance's shared index and metadata caches.
    cache_bytes_max = 268_435_456 Bytes,
}

impl Limits {
    /// The grace before the owner of an intent counts as dead.
    pub fn recovery_grace(&self) -> Duration {
        Duration::from_millis(self.recovery_grace_ms)
    }

    /// The greatest grace.
    pub fn recovery_grace_max(&self) -> Duration {
        Duration::from_millis(self.recovery_grace_max_ms)
    }

    /// The bound on waiting for a ticket.
    pub fn ticket_wait(&self) -> Duration {
        Duration::from_millis(self.ticket_wait_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_set_by_name_and_an_unknown_name_lists_all() {
        let mut limits = Limits::default();
        limits.set("merge_rows_max", 5).unwrap();
        assert_eq!(limits.merge_rows_max, 5);
        let Err(LimitRefused::Unknown { names }) = limits.set("nope", 1) else { panic!("there is no such limit") };
        assert_eq!(names.len(), limits.entries().len());
    }

    #[test]
    fn limit_that_would_stop_everything_is_refused() {
        let mut limits = Limits::default();
        assert_eq!(limits.set("queries_concurrent_max", 0), Err(LimitRefused::TooSmall { least: 1 }));
        assert_eq!(limits, Limits::default());
        limits.set("queries_queued_max", 0).unwrap();
    }
}
