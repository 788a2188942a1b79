//! The generator itself. It writes into a fresh folder, so that checking and writing do the same work.

use std::io;
use std::path::{Path, PathBuf};

use prost::Message;
use prost_types::FileDescriptorSet;

use super::Mode;
use crate::error::{Error, Result};
use crate::files;
use crate::workspace::{Workspace, say};

/// Where the generated code lives.
const GENERATED: &str = "crates/wire/src/gen";
/// The descriptors, which server reflection answers from.
const DESCRIPTORS: &str = "descriptors.binpb";

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
    let protos = protos(workspace)?;
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
    let set = files::read(&descriptors)?;
    files::write(&descriptors, &without_source(&set)?)
}

/// Every proto file, sorted: the order decides the order of the output.
fn protos(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut protos = files::below(&workspace.path("proto"), &["node_modules"])?;
    protos.retain(|path| path.extension().is_some_and(|extension| extension == "proto"));
    Ok(protos)
}

/// The descriptors without comments and places, which reflection does not need.
fn without_source(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut set = FileDescriptorSet::decode(bytes)
        .map_err(|source| Error::new(format!("read the descriptors that protoc wrote: {source}")))?;
    for file in &mut set.file {
        file.source_code_info = None;
    }
    Ok(set.encode_to_vec())
}
