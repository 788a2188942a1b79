//! Every limit, retry budget and timeout, with its default and its unit.
//!
//! A limit is a field here, a flag and an environment variable of the server, and a row of `GetServerInfo`.

use std::time::Duration;

macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $name:ident = $default:literal $unit:literal),* $(,)?) => {
        /// The limits in force. Each field's unit is the last word of its name or stands in its description.
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
            pub fn entries(&self) -> Vec<LimitEntry> {
                vec![$(LimitEntry {
                    name: stringify!($name),
                    value: self.$name,
                    default: $default,
                    unit: $unit,
                    description: concat!($($doc),+).trim_start(),
                },)*]
            }

            /// Sets a limit by name. Returns the names there are if there is none of this name.
            pub fn set(&mut self, name: &str, value: u64) -> Result<(), Vec<&'static str>> {
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return Err(vec![$(stringify!($name)),*]),
                }
                Ok(())
            }
        }
    };
}

/// One limit as it is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitEntry {
    /// Name of the field, also of the flag (with dashes).
    pub name: &'static str,
    /// Value in force.
    pub value: u64,
    /// Default.
    pub default: u64,
    /// `bytes`, `rows`, `milliseconds`, `count`.
    pub unit: &'static str,
    /// What it bounds.
    pub description: &'static str,
}

limits! {
    /// Largest gRPC or Flight message that the server decodes.
    message_bytes_max = 67_108_864 "bytes",
    /// Largest request, and largest first message of a stream that the client sends; many may be on their way at once.
    request_bytes_max = 4_194_304 "bytes",
    /// Requests in progress at once; further ones wait, then are refused.
    requests_concurrent_max = 1_024 "count",
    /// Bulk loads in progress at once in this server; further ones are refused.
    loads_concurrent_max = 8 "count",
    /// Longest time any request may take where the client names no deadline.
    request_timeout_ms = 3_600_000 "milliseconds",
    /// Longest silence of a streaming client before its stream is refused.
    stream_idle_timeout_ms = 120_000 "milliseconds",
    /// Longest time that a graceful stop waits for running requests.
    shutdown_timeout_ms = 30_000 "milliseconds",
    /// Longest time that a write waits for a taken ticket and settles it.
    ticket_wait_ms = 30_000 "milliseconds",
    /// Least time that an intent of another process must stand unchanged before its owner counts as dead.
    recovery_grace_ms = 2_000 "milliseconds",
    /// Pause between two looks of a server at every branch for interrupted writes; 0 looks at the start only.
    recovery_interval_ms = 60_000 "milliseconds",
    /// Rounds of one request against other writers before COMMIT_CONTENTION.
    commit_rounds_max = 64 "count",
    /// Age of the proof that a version is the newest after which a writer proves it again, or gives up.
    proof_age_max_ms = 3_600_000 "milliseconds",
    /// How far ahead of the server's clock an operation id may lie.
    operation_id_ahead_ms = 86_400_000 "milliseconds",
    /// How far back an unknown operation id may lie.
    operation_id_behind_ms = 691_200_000 "milliseconds",
    /// Bytes of one load's fingerprints and partition buffers kept in memory; more are spilled to local disk.
    load_memory_bytes_max = 33_554_432 "bytes",
    /// Rows of one load in merge mode.
    merge_rows_max = 1_000_000 "rows",
    /// Rows of one staged data file.
    data_file_rows_max = 1_048_576 "rows",
    /// Bytes of one NDJSON line.
    ndjson_line_bytes_max = 33_554_432 "bytes",
    /// Structural characters of one NDJSON line.
    ndjson_structurals_max = 131_072 "count",
    /// Bytes of one query text.
    query_text_bytes_max = 1_048_576 "bytes",
    /// Bytes of one schema text.
    schema_text_bytes_max = 1_048_576 "bytes",
    /// Bytes that one query may hold in memory before it fails.
    query_memory_bytes_max = 268_435_456 "bytes",
    /// Columns that one query may return.
    query_columns_max = 1_000 "count",
    /// Largest page of a list.
    page_size_max = 1_000 "count",
    /// Page of a list where the client names no size.
    page_size_default = 100 "count",
    /// Violations or conflicts listed in one error; the total is always told.
    error_items_max = 10 "count",
    /// Bytes of Lance's shared index and metadata caches.
    cache_bytes_max = 268_435_456 "bytes",
}

impl Limits {
    /// The grace before the owner of an intent counts as dead.
    pub fn recovery_grace(&self) -> Duration {
        Duration::from_millis(self.recovery_grace_ms)
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
        assert_eq!(limits.set("nope", 1).unwrap_err().len(), limits.entries().len());
    }
}
