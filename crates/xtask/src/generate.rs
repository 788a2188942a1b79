//! `gen`: the Rust code of the contract, from `proto/` to `crates/wire/src/gen/`.
//!
//! The generator and what it depends on sit behind the feature `gen`. Without it, xtask runs itself again with it, so that every other
//! command builds in seconds. The output depends on nothing but the proto files and the versions in `Cargo.lock`.

#[cfg(not(feature = "gen"))]
mod delegate;
#[cfg(feature = "gen")]
mod generator;

#[cfg(not(feature = "gen"))]
pub(crate) use delegate::run;
#[cfg(feature = "gen")]
pub(crate) use generator::run;

/// Whether generated code is written or compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Replace the committed files.
    Write,
    /// Fail if the committed files are not what would be written.
    Check,
}
