//! `server`.

use serde_json::json;

use super::Session;
use crate::error::CliError;
use crate::output::{Output, print_list, print_record};

/// Shows what the server is.
pub(crate) async fn run(session: &Session) -> Result<(), CliError> {
    let info = session.client.server_info().await?;
    let limits: Vec<_> = info
        .limits
        .iter()
        .map(|limit| {
            vec![
                json!(limit.name),
                json!(limit.value),
                json!(limit.default),
                json!(limit.unit.as_str()),
                json!(limit.description),
            ]
        })
        .collect();
    let features: Vec<_> =
        info.features.iter().filter(|feature| feature.enabled).map(|feature| feature.name.clone()).collect();
    session.print(|out| {
        let mut fields = vec![
            ("version", json!(info.version)),
            ("storage_format", json!(info.storage_format)),
            ("features", json!(features)),
        ];
        match session.output {
            Output::Table | Output::Csv => {
                print_record(session.output, &fields, out)?;
                print_list(session.output, &["limit", "value", "default", "unit", "what it bounds"], &limits, out)
            }
            Output::Json => {
                let limits = info.limits.iter().map(|limit| (limit.name.clone(), json!(limit.value)));
                fields.push(("limits", limits.collect::<serde_json::Map<_, _>>().into()));
                print_record(session.output, &fields, out)
            }
        }
    })
}
