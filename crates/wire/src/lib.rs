#![doc = include_str!("../README.md")]

#[rustfmt::skip]
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "written by `cargo xtask gen` from proto/")]
#[path = "gen/mod.rs"]
mod generated;

pub mod codec;
mod names;
mod status;

pub use codec::{AnswerCodec, MalformedAnswer, RequestCodec};
pub use generated::google;
pub use generated::omnigraph::v1;
pub use names::{ResourceName, ResourceNameError};
pub use status::{ERROR_DOMAIN, REASON_TRAILER, from_rpc_status, from_status, to_rpc_status, to_status};

/// The contract's file descriptors with all that they import: what server reflection answers from.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("gen/descriptors.binpb");

/// The descriptors of Arrow Flight's interface, whose code is the arrow-flight crate's.
pub const FLIGHT_FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("gen/flight.binpb");

#[cfg(test)]
mod tests {
    use prost::Message;
    use prost_types::FileDescriptorSet;

    use super::FILE_DESCRIPTOR_SET;

    #[test]
    fn descriptors_hold_every_service_and_every_import() {
        let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
        let services: Vec<_> = set.file.iter().flat_map(|file| &file.service).map(|service| service.name()).collect();
        let expected = [
            "BranchService",
            "CommitService",
            "GraphService",
            "LoadService",
            "MaintenanceService",
            "MutationService",
            "OperationService",
            "QueryService",
            "SchemaService",
            "ServerService",
        ];
        let mut sorted = services.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        let names: Vec<_> = set.file.iter().map(|file| file.name()).collect();
        let missing =
            set.file.iter().flat_map(|file| &file.dependency).find(|import| !names.contains(&import.as_str()));
        assert_eq!(missing, None);
    }

    #[test]
    fn every_file_says_where_go_and_java_put_its_code() {
        let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
        let ours: Vec<_> = set.file.iter().filter(|file| file.package() == "omnigraph.v1").collect();
        assert!(ours.len() > 10);
        for file in &ours {
            let options = file.options.as_ref().unwrap();
            assert_eq!(options.go_package(), "omnigraph/v1;omnigraphv1", "{}", file.name());
            assert_eq!(options.java_package(), "omnigraph.v1", "{}", file.name());
            assert!(options.java_multiple_files(), "{}", file.name());
        }
        // Two files with one class, or a class with the name of a message, are one Java file written twice.
        let mut classes: Vec<_> =
            ours.iter().filter_map(|file| file.options.as_ref()?.java_outer_classname.clone()).collect();
        classes.extend(ours.iter().flat_map(|file| &file.message_type).map(|message| message.name().to_owned()));
        let count = classes.len();
        classes.sort_unstable();
        classes.dedup();
        assert_eq!((classes.len(), classes.iter().filter(|name| name.ends_with("Proto")).count()), (count, ours.len()));
    }

    #[test]
    fn every_call_says_whether_it_is_idempotent() {
        let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
        let calls = set.file.iter().flat_map(|file| &file.service).flat_map(|service| &service.method);
        let silent: Vec<_> = calls
            .filter(|call| call.options.as_ref().is_none_or(|options| options.idempotency_level.is_none()))
            .map(|call| call.name())
            .collect();
        assert_eq!(silent, Vec::<&str>::new());
    }
}
