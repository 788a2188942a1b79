//! The generator itself. It writes into a fresh folder, so that checking and writing do the same work.

use std::io;
use std::path::{Path, PathBuf};

use prost::Message;
use prost_types::FileDescriptorSet;

use super::Mode;
use crate::error::{Error, Result};
use crate::files;
use crate::workspace::{Workspace, run as run_command, say};

/// Where the generated code lives.
const GENERATED: &str = "crates/wire/src/gen";
/// The descriptors, which server reflection answers from: of the contract, and of Arrow Flight, whose code is the arrow-flight crate's.
const DESCRIPTORS: &str = "descriptors.binpb";
const FLIGHT_DESCRIPTORS: &str = "flight.binpb";
/// The folder of Arrow Flight's interface, below `proto/`.
const FLIGHT: &str = "proto/arrow";

/// Generates, or compares.
pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let committed = workspace.path(GENERATED);
    let fresh = workspace.target().join("xtask").join("gen");
    files::remove_folder(&fresh)?;
    files::make_folder(&fresh)?;
    generate(workspace, &fresh)?;
    let differing = files::differing(&fresh, &committed)?;
    if differing.is_empty() {
        say(&format!("{GENERATED} is up to date"));
        return Ok(());
    }
    match mode {
        Mode::Check => {
            Err(Error::new(format!("these files of {GENERATED} do not follow from proto/: {}", differing.join(", ")))
                .way_out("run `cargo xtask gen` and commit what it changes"))
        }
        Mode::Write => {
            files::remove_folder(&committed)?;
            for file in files::below(&fresh, &[])? {
                let name = file.strip_prefix(&fresh).unwrap_or(&file);
                files::write(&committed.join(name), &files::read(&file)?)?;
            }
            say(&format!("{GENERATED} written: {}", differing.join(", ")));
            Ok(())
        }
    }
}

fn generate(workspace: &Workspace, out: &Path) -> Result<()> {
    let mut protos = protos(workspace, "proto")?;
    protos.retain(|path| !path.starts_with(workspace.path(FLIGHT)));
    let descriptors = out.join(DESCRIPTORS);
    let failed =
        |source: io::Error| Error::new(format!("compile proto/: {source}")).way_out("mend the proto file it names");
    let mut config = prost_build::Config::new();
    config
        .protoc_executable(workspace.protoc())
        .enable_type_names()
        .bytes(["."])
        .btree_map(["."])
        .disable_comments([".google"])
        .file_descriptor_set_path(&descriptors);
    tonic_prost_build::configure()
        .out_dir(out)
        .emit_rerun_if_changed(false)
        .include_file("mod.rs")
        .compile_with_config(config, &protos, &[workspace.path("proto")])
        .map_err(failed)?;
    strip(&descriptors)?;
    describe_flight(workspace, &out.join(FLIGHT_DESCRIPTORS))
}

fn describe_flight(workspace: &Workspace, descriptors: &Path) -> Result<()> {
    let mut protoc = workspace.command(workspace.protoc());
    protoc.arg("--include_imports").arg("--proto_path").arg(workspace.path("proto"));
    protoc.arg("--descriptor_set_out").arg(descriptors).args(protos(workspace, FLIGHT)?);
    run_command(&mut protoc, "mend the proto file it names")?;
    strip(descriptors)
}

/// Every proto file of a folder, sorted: the order decides the order of the output.
fn protos(workspace: &Workspace, folder: &str) -> Result<Vec<PathBuf>> {
    let mut protos = files::below(&workspace.path(folder), &["node_modules"])?;
    protos.retain(|path| path.extension().is_some_and(|extension| extension == "proto"));
    Ok(protos)
}

/// Removes comments and places, which reflection does not need.
fn strip(descriptors: &Path) -> Result<()> {
    let mut set = FileDescriptorSet::decode(files::read(descriptors)?.as_slice())
        .map_err(|source| Error::new(format!("read the descriptors that protoc wrote: {source}")))?;
    for file in &mut set.file {
        file.source_code_info = None;
    }
    files::write(descriptors, &set.encode_to_vec())
}
