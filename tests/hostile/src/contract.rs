//! The contract's calls as descriptors list them, and hostile messages for them.
//!
//! A message is written field by field onto the wire: valid values, values out of range, long texts, wrong wire types, fields twice, unknown
//! fields, and messages in messages. Nothing here uses the generated types, so that messages which they cannot express are sent too.

use std::collections::BTreeMap;

use omnigraph_wire::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorSet};
use rand::Rng;
use rand::rngs::StdRng;

use crate::mutate;

/// How deep messages are nested.
const DEPTH_MAX: u32 = 6;
/// How often a repeated field is repeated.
const REPEATED_MAX: usize = 5;
/// Bytes of a long text.
const LONG_TEXT: usize = 100_000;
/// Texts that are names, ids or JSON somewhere, and texts that are nearly so.
const TEXTS: [&str; 30] = [
    "",
    "harbour",
    "main",
    "trial",
    "trial/ü",
    "Port",
    "Vessel",
    "id",
    "ghost",
    "HARBOUR",
    "..",
    "../../x",
    "a/b",
    "\u{0}",
    "\u{202e}",
    " ",
    "01JZ8Q6Y3V5B7N9D1F3H5K7M02",
    "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
    "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
    "{}",
    "{\"n\":1}",
    "{\"n\":1e999}",
    "[",
    "query q() { match { $p: Port } return { $p.code } }",
    "query q($n: I64) { match { $p: Port } return { $p.code } limit $n }",
    "node A { x: String @key }",
    "node A { x: A }\nnode A { }",
    "0",
    "18446744073709551615",
    "-1",
];

/// One call.
#[derive(Debug, Clone)]
pub struct Method {
    /// `/package.Service/Method`.
    pub path: String,
    /// The request's message; none if this contract does not describe it.
    pub input: Option<String>,
}

/// The calls and messages of the contract, and the paths of Flight's.
#[derive(Debug)]
pub struct Contract {
    /// Every call.
    pub methods: Vec<Method>,
    messages: BTreeMap<String, DescriptorProto>,
}

/// Flight's calls.
const FLIGHT: [&str; 10] = [
    "Handshake",
    "ListFlights",
    "GetFlightInfo",
    "PollFlightInfo",
    "GetSchema",
    "DoGet",
    "DoPut",
    "DoExchange",
    "DoAction",
    "ListActions",
];
/// Calls of health and reflection, and one that does not exist.
const OTHERS: [&str; 4] = [
    "/grpc.health.v1.Health/Check",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/omnigraph.v1.GhostService/Haunt",
];

impl Contract {
    /// The contract that the server reflects.
    ///
    /// # Panics
    /// If its descriptors cannot be read.
    pub fn read() -> Self {
        let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
        let mut contract = Self { methods: Vec::new(), messages: BTreeMap::new() };
        for file in &set.file {
            for message in &file.message_type {
                contract.add(&format!(".{}", file.package()), message);
            }
            for service in &file.service {
                let path = |name: &str| format!("/{}.{}/{name}", file.package(), service.name());
                let methods = service.method.iter();
                contract.methods.extend(
                    methods.map(|method| Method {
                        path: path(method.name()),
                        input: Some(method.input_type().to_owned()),
                    }),
                );
            }
        }
        let flight = FLIGHT.map(|name| format!("/arrow.flight.protocol.FlightService/{name}"));
        let others = OTHERS.map(str::to_owned);
        contract.methods.extend(flight.into_iter().chain(others).map(|path| Method { path, input: None }));
        contract
    }

    fn add(&mut self, scope: &str, message: &DescriptorProto) {
        let name = format!("{scope}.{}", message.name());
        for nested in &message.nested_type {
            self.add(&name, nested);
        }
        self.messages.insert(name, message.clone());
    }

    /// A message of this type that holds some of its fields.
    pub fn message(&self, rng: &mut StdRng, name: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(rng, name, DEPTH_MAX, &mut bytes);
        bytes
    }

    fn write(&self, rng: &mut StdRng, name: &str, depth: u32, out: &mut Vec<u8>) {
        let Some(message) = self.messages.get(name) else {
            out.extend(mutate::noise(rng, 64));
            return;
        };
        for field in &message.field {
            let times = match rng.random_range(0..10) {
                0 | 1 => 0,
                2 => rng.random_range(1..=REPEATED_MAX),
                _ => 1,
            };
            for _ in 0..times {
                let number = u32::try_from(field.number()).unwrap_or(1);
                if rng.random_ratio(1, 100) {
                    hostile_field(rng, number, out);
                } else {
                    self.field(rng, (number, field.r#type(), field.type_name()), depth, out);
                }
            }
        }
        if rng.random_ratio(1, 50) {
            hostile_field(rng, 536_870_911, out);
        }
    }

    fn field(&self, rng: &mut StdRng, (number, kind, name): (u32, Type, &str), depth: u32, out: &mut Vec<u8>) {
        match kind {
            Type::Message | Type::Group => {
                let mut inner = Vec::new();
                if depth > 0 {
                    self.write(rng, name, depth - 1, &mut inner);
                }
                delimited(number, &inner, out);
            }
            Type::String => delimited(number, &text(rng), out),
            Type::Bytes if rng.random_bool(0.5) => delimited(number, &mutate::noise(rng, 256), out),
            Type::Bytes => delimited(number, &text(rng), out),
            Type::Double | Type::Fixed64 | Type::Sfixed64 => {
                encode_key(number, WireType::SixtyFourBit, out);
                out.extend(rng.random::<u64>().to_le_bytes());
            }
            Type::Float | Type::Fixed32 | Type::Sfixed32 => {
                encode_key(number, WireType::ThirtyTwoBit, out);
                out.extend(rng.random::<u32>().to_le_bytes());
            }
            Type::Bool | Type::Enum if rng.random_bool(0.8) => varint(number, rng.random_range(0..5), out),
            _ => {
                let edges = [0, 1, 2, 1_000, u64::from(u32::MAX), u64::MAX, 1 << 63, rng.random()];
                varint(number, edges[rng.random_range(0..edges.len())], out);
            }
        }
    }
}

fn text(rng: &mut StdRng) -> Vec<u8> {
    match rng.random_range(0..24) {
        0 => mutate::noise(rng, 64),
        1 => "x".repeat(rng.random_range(0..LONG_TEXT)).into_bytes(),
        2 => "ü".repeat(rng.random_range(0..300)).into_bytes(),
        3 => "[".repeat(rng.random_range(0..LONG_TEXT)).into_bytes(),
        4 => {
            let depth = rng.random_range(0..LONG_TEXT / 10);
            format!("query q() {{ match {{ $p: Port {} }} return {{ $p.code }} }}", "not { ".repeat(depth)).into_bytes()
        }
        _ => TEXTS[rng.random_range(0..TEXTS.len())].as_bytes().to_vec(),
    }
}

fn varint(number: u32, value: u64, out: &mut Vec<u8>) {
    encode_key(number, WireType::Varint, out);
    encode_varint(value, out);
}

fn delimited(number: u32, content: &[u8], out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(content.len() as u64, out);
    out.extend(content);
}

/// A field in a wire type that is not its own, or whose length lies.
fn hostile_field(rng: &mut StdRng, number: u32, out: &mut Vec<u8>) {
    match rng.random_range(0..5) {
        0 => varint(number, u64::MAX, out),
        1 => {
            encode_key(number, WireType::LengthDelimited, out);
            encode_varint([1 << 20, 1 << 32, u64::MAX][rng.random_range(0..3)], out);
        }
        2 => (0..rng.random_range(1..300)).for_each(|_| encode_key(number, WireType::StartGroup, out)),
        3 => encode_key(number, WireType::EndGroup, out),
        _ => {
            encode_key(number, WireType::ThirtyTwoBit, out);
            out.extend([0xff; 4]);
        }
    }
}

#[cfg(test)]
mod tests {
    use omnigraph_wire::v1 as wire;
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn every_service_is_called_and_most_messages_can_be_decoded() {
        let contract = Contract::read();
        for service in ["GraphService", "BranchService", "LoadService", "MaintenanceService", "FlightService"] {
            assert!(contract.methods.iter().any(|method| method.path.contains(service)), "{service}");
        }
        let mut rng = StdRng::seed_from_u64(1);
        let decoded = (0..200).filter(|_| {
            let bytes = contract.message(&mut rng, ".omnigraph.v1.QueryRequest");
            wire::QueryRequest::decode(bytes.as_slice()).is_ok()
        });
        let count = decoded.count();
        assert!((100..200).contains(&count), "{count} of 200 are valid: both kinds are wanted");
    }
}
