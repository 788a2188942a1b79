//! The services and calls of the contract, as its descriptors have them.

use std::sync::LazyLock;

use omnigraph_wire::{FILE_DESCRIPTOR_SET, FLIGHT_FILE_DESCRIPTOR_SET};
use prost::Message;
use prost_types::FileDescriptorSet;

/// One service of the contract.
#[derive(Debug)]
pub(crate) struct Service {
    /// Its full name, such as `omnigraph.v1.GraphService`.
    pub(crate) name: String,
    /// Its calls by name, such as `GetGraph`: the name by which a refusal calls one that is not offered.
    pub(crate) calls: Vec<String>,
}

/// Every service, native and Flight.
pub(crate) static SERVICES: LazyLock<Vec<Service>> = LazyLock::new(|| {
    // The bytes were written with the code of the contract; a test reads them.
    let sets = [FILE_DESCRIPTOR_SET, FLIGHT_FILE_DESCRIPTOR_SET];
    let files = sets.into_iter().flat_map(|set| FileDescriptorSet::decode(set).unwrap_or_default().file);
    let services = files.flat_map(|file| {
        let package = file.package().to_owned();
        file.service.into_iter().map(move |service| Service {
            name: format!("{package}.{}", service.name()),
            calls: service.method.iter().map(|call| call.name().to_owned()).collect(),
        })
    });
    services.collect()
});

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn name_of_a_call_is_one_call_of_the_contract() {
        let (native, flight): (Vec<_>, Vec<_>) =
            SERVICES.iter().partition(|service| service.name.starts_with("omnigraph.v1."));
        let calls: Vec<_> = native.iter().flat_map(|service| &service.calls).collect();
        assert!(calls.len() > 30, "{calls:?}");
        let names: BTreeSet<_> = calls.iter().copied().collect();
        assert_eq!(names.len(), calls.len());
        let [flight] = flight.as_slice() else { panic!("{flight:?}") };
        assert_eq!(flight.name, "arrow.flight.protocol.FlightService");
        // The standard's names are not ours to choose; a server offers both calls of this name.
        let both: Vec<_> = flight.calls.iter().filter(|call| names.contains(call)).collect();
        assert_eq!(both, ["GetSchema"]);
    }
}
