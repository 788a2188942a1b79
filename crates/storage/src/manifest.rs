//! Names of manifests: the object that makes a version, and the version that an object makes.

use lance_table::io::commit::ManifestNamingScheme;
use object_store::path::Path;

/// The path of a version's manifest.
pub(crate) fn manifest_path(folder: &Path, version: u64) -> Path {
    ManifestNamingScheme::V2.manifest_path(folder, version)
}

/// The version in a manifest's file name; none for other files.
pub(crate) fn version_in(file_name: &str) -> Option<u64> {
    match ManifestNamingScheme::detect_scheme(file_name) {
        Some(ManifestNamingScheme::V2) => ManifestNamingScheme::V2.parse_version(file_name),
        Some(ManifestNamingScheme::V1) | None => None,
    }
}
