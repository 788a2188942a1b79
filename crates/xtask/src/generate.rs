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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use crate::files;

    #[test]
    fn plain_protoc_makes_java_and_python_code_of_every_file() {
        let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
        let mut protos = files::below(&proto, &["node_modules"]).unwrap();
        protos.retain(|path| path.extension().is_some_and(|extension| extension == "proto"));
        let out = tempfile::tempdir().unwrap();
        let mut protoc = Command::new(protoc_bin_vendored::protoc_bin_path().unwrap());
        protoc.arg("--proto_path").arg(&proto).arg("--java_out").arg(out.path()).arg("--python_out").arg(out.path());
        let made = protoc.args(&protos).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        for path in &protos {
            let python = path.strip_prefix(&proto).unwrap().with_extension("").to_str().unwrap().to_owned() + "_pb2.py";
            assert!(out.path().join(&python).is_file(), "{python}");
        }
        // The class of a file and the message of the same name are two classes.
        for java in ["omnigraph/v1/CommitProto.java", "omnigraph/v1/Commit.java", "omnigraph/v1/GetCommitRequest.java"]
        {
            assert!(out.path().join(java).is_file(), "{java}");
        }
    }
}
