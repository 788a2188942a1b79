//! `server.proto`: what a server is.

use omnigraph_types::{Failure, Feature, LimitEntry, LimitUnit, ServerInfo};

use super::field::{all, each};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::v1;

fn unit_to_wire(unit: LimitUnit) -> i32 {
    let unit = match unit {
        LimitUnit::Bytes => v1::LimitUnit::Bytes,
        LimitUnit::Rows => v1::LimitUnit::Rows,
        LimitUnit::Milliseconds => v1::LimitUnit::Milliseconds,
        LimitUnit::Count => v1::LimitUnit::Count,
        LimitUnit::Newer => v1::LimitUnit::Unspecified,
    };
    unit.into()
}

fn unit_from_wire(number: i32) -> LimitUnit {
    match v1::LimitUnit::try_from(number) {
        Ok(v1::LimitUnit::Bytes) => LimitUnit::Bytes,
        Ok(v1::LimitUnit::Rows) => LimitUnit::Rows,
        Ok(v1::LimitUnit::Milliseconds) => LimitUnit::Milliseconds,
        Ok(v1::LimitUnit::Count) => LimitUnit::Count,
        Ok(v1::LimitUnit::Unspecified) | Err(_) => LimitUnit::Newer,
    }
}

impl AnswerCodec for v1::Limit {
    type Value = LimitEntry<String>;

    fn to_wire(limit: Self::Value) -> Self {
        Self {
            name: limit.name,
            value: limit.value,
            default_value: limit.default,
            unit: unit_to_wire(limit.unit),
            description: limit.description,
        }
    }

    fn from_wire(limit: Self) -> Result<Self::Value, MalformedAnswer> {
        Ok(LimitEntry {
            name: limit.name,
            value: limit.value,
            default: limit.default_value,
            unit: unit_from_wire(limit.unit),
            description: limit.description,
        })
    }
}

impl AnswerCodec for v1::Feature {
    type Value = Feature;

    fn to_wire(feature: Feature) -> Self {
        Self { name: feature.name, enabled: feature.enabled, description: feature.description }
    }

    fn from_wire(feature: Self) -> Result<Feature, MalformedAnswer> {
        Ok(Feature { name: feature.name, enabled: feature.enabled, description: feature.description })
    }
}

impl RequestCodec for v1::GetServerInfoRequest {
    type Value = ();

    fn to_wire((): ()) -> Self {
        Self {}
    }

    fn from_wire(_: Self) -> Result<(), Failure> {
        Ok(())
    }
}

impl AnswerCodec for v1::GetServerInfoResponse {
    type Value = ServerInfo;

    fn to_wire(info: ServerInfo) -> Self {
        Self {
            version: info.version,
            storage_format: info.storage_format,
            limits: each(info.limits),
            features: each(info.features),
        }
    }

    fn from_wire(info: Self) -> Result<ServerInfo, MalformedAnswer> {
        Ok(ServerInfo {
            version: info.version,
            storage_format: info.storage_format,
            limits: all(info.limits)?,
            features: all(info.features)?,
        })
    }
}
