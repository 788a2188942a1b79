//! How a server is configured: flags, environment variables and a TOML file, in this order of precedence, over the defaults.
//!
//! Every limit of `omnigraph_types::Limits` is a flag, a variable and a key of the file's table `limits`; none is listed here by hand.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum, value_parser};
use figment::Figment;
use figment::providers::{Format, Serialized, Toml};
use omnigraph_engine::{Durability, NewRoot};
use omnigraph_types::{LimitRefused, Limits, RootId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The flags of `serve`. Each is also an environment variable, named in the help.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Where the graphs are: a folder, s3://bucket/prefix or az://container/prefix
    #[arg(long, env = "OMNIGRAPH_ROOT")]
    root: Option<String>,

    /// Make a root where nothing is stored: in a missing or empty folder, or below an empty prefix
    #[arg(long)]
    init: bool,

    /// Address and port to listen on; port 0 takes a free one [default: 127.0.0.1:50051]
    #[arg(long, env = "OMNIGRAPH_LISTEN", value_name = "HOST:PORT", value_parser = parse_listen)]
    listen: Option<SocketAddr>,

    /// Listen on an address that other machines reach, although calls are neither encrypted nor authenticated
    #[arg(long, env = "OMNIGRAPH_INSECURE")]
    insecure: bool,

    /// How the log on standard error is written [default: text]
    #[arg(long, env = "OMNIGRAPH_LOG_FORMAT")]
    log_format: Option<LogFormat>,

    /// Folder for what loads keep outside of memory [default: the system's temporary folder]
    #[arg(long, env = "OMNIGRAPH_SPILL_DIRECTORY")]
    spill_directory: Option<PathBuf>,

    /// What an acknowledged commit on a local disk survives [default: full]
    #[arg(long, env = "OMNIGRAPH_DURABILITY")]
    durability: Option<DurabilityName>,

    /// A TOML file with these settings (root, listen, insecure, log_format, spill_directory, durability, and a table limits)
    #[arg(long, env = "OMNIGRAPH_CONFIG")]
    config: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,
}

/// An address, or a name that the system resolves; of several addresses the first of IPv4, which most names mean.
fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let resolved: Vec<SocketAddr> = match text.to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(error) => return Err(format!("{error}; write a host and a port, such as localhost:50051")),
    };
    let first = resolved.iter().find(|address| address.is_ipv4()).or(resolved.first());
    first.copied().ok_or_else(|| "the name has no address".to_owned())
}

fn read_listen<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| parse_listen(&text).map_err(serde::de::Error::custom)).transpose()
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DurabilityName {
    /// Loss of power.
    Full,
    /// A killed process.
    Os,
}

impl DurabilityName {
    fn durability(self) -> Durability {
        match self {
            Self::Full => Durability::Full,
            Self::Os => Durability::Os,
        }
    }
}

/// Whether a server may listen where other machines reach it without credentials or encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Only on this machine.
    Loopback,
    /// Anywhere: the operator said so.
    Insecure,
}

/// Which root may be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedRoot {
    /// The one at the place, or a new one where it may be made.
    Any(NewRoot),
    /// The one that was made with this id, and no other.
    Id(RootId),
}

/// A server's configuration, complete.
#[derive(Debug, Clone)]
pub struct ServeConfig {
    /// Where the graphs are.
    pub root: String,
    /// Which root that may be.
    pub expected_root: ExpectedRoot,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where it may listen.
    pub exposure: Exposure,
    /// The limits in force.
    pub limits: Limits,
    /// How the log is written.
    pub log_format: LogFormat,
    /// Where loads spill; the system's temporary folder if none.
    pub spill_directory: Option<PathBuf>,
    /// What an acknowledged commit survives.
    pub durability: Durability,
}

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// Nothing says where the graphs are.
    #[error("no root: say where the graphs are with --root, OMNIGRAPH_ROOT, or root in the configuration file")]
    NoRoot,
    /// A root is to be made, and to have an id that it cannot have.
    #[error("--init makes a root with a new id: give it without --expect-root (OMNIGRAPH_ROOT_ID)")]
    InitOfExpected,
    /// The file named cannot be found.
    #[error("there is no configuration file {}: check --config or OMNIGRAPH_CONFIG", path.display())]
    NoFile {
        /// The path given.
        path: PathBuf,
    },
    /// The file, or a value in it, cannot be read.
    #[error("read the configuration: {0}")]
    Unreadable(#[source] Box<figment::Error>),
    /// The file sets a limit that there is not.
    #[error("there is no limit {name:?}; the limits are {}", names.join(", "))]
    UnknownLimit {
        /// The name given.
        name: String,
        /// The names there are.
        names: Vec<&'static str>,
    },
    /// A limit with which the server would do nothing.
    #[error("the limit {name} is {value}, and nothing would ever be done: give {least} or more")]
    LimitTooSmall {
        /// The limit.
        name: String,
        /// The value given.
        value: u64,
        /// The smallest value.
        least: u64,
    },
    /// The address is reachable from other machines.
    #[error(
        "{listen} can be reached from other machines, and calls to it would be neither encrypted nor authenticated: anyone could read \
         and change every graph. Listen on 127.0.0.1 or [::1], or put a proxy in front that does both and give --insecure \
         (OMNIGRAPH_INSECURE=true)"
    )]
    Exposed {
        /// The address.
        listen: SocketAddr,
    },
}

/// What the file may hold, and the layer that flags and variables make over it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_listen")]
    listen: Option<SocketAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    insecure: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_format: Option<LogFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spill_directory: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    durability: Option<DurabilityName>,
    #[serde(default)]
    limits: std::collections::BTreeMap<String, u64>,
}

impl ServeArgs {
    /// The configuration that flags, variables and file make together. `expected` is the id of the one root that may be served, if that
    /// was said.
    pub fn resolve(self, expected: Option<RootId>) -> Result<ServeConfig, ConfigError> {
        let mut figment = Figment::new();
        if let Some(path) = self.config {
            if !path.is_file() {
                return Err(ConfigError::NoFile { path });
            }
            figment = figment.merge(Toml::file_exact(path));
        }
        let flags = Settings {
            root: self.root,
            listen: self.listen,
            insecure: self.insecure.then_some(true),
            log_format: self.log_format,
            spill_directory: self.spill_directory,
            durability: self.durability,
            limits: self.limits.values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        };
        let unreadable = |error| ConfigError::Unreadable(Box::new(error));
        let settings = figment.merge(Serialized::defaults(flags)).extract().map_err(unreadable)?;
        let config = ServeConfig::from_settings(settings)?;
        let expected_root = match (expected, self.init) {
            (Some(_), true) => return Err(ConfigError::InitOfExpected),
            (Some(id), false) => ExpectedRoot::Id(id),
            // Neither a variable nor a setting of the file: it is said once, when the root is made.
            (None, true) => ExpectedRoot::Any(NewRoot::WhereNothingIs),
            (None, false) => ExpectedRoot::Any(NewRoot::InEmptyFolder),
        };
        Ok(ServeConfig { expected_root, ..config })
    }
}

impl ServeConfig {
    /// A server of `root` with every setting at its default.
    pub fn new(root: impl Into<String>) -> Self {
        Self {
            root: root.into(),
            expected_root: ExpectedRoot::Any(NewRoot::InEmptyFolder),
            listen: SocketAddr::from(([127, 0, 0, 1], 50051)),
            exposure: Exposure::Loopback,
            limits: Limits::default(),
            log_format: LogFormat::default(),
            spill_directory: None,
            durability: Durability::default(),
        }
    }

    fn from_settings(settings: Settings) -> Result<Self, ConfigError> {
        let mut config = Self::new(settings.root.ok_or(ConfigError::NoRoot)?);
        for (name, value) in settings.limits {
            config.limits.set(&name, value).map_err(|refused| match refused {
                LimitRefused::Unknown { names } => ConfigError::UnknownLimit { name, names },
                LimitRefused::TooSmall { least } => ConfigError::LimitTooSmall { name, value, least },
            })?;
        }
        config.listen = settings.listen.unwrap_or(config.listen);
        config.exposure = if settings.insecure == Some(true) { Exposure::Insecure } else { Exposure::Loopback };
        config.log_format = settings.log_format.unwrap_or_default();
        config.spill_directory = settings.spill_directory;
        config.durability = settings.durability.map_or(config.durability, DurabilityName::durability);
        Ok(config)
    }

    /// Checks that the address may be listened on.
    pub(crate) fn check_exposure(&self) -> Result<(), ConfigError> {
        match self.exposure {
            Exposure::Loopback if !self.listen.ip().is_loopback() => Err(ConfigError::Exposed { listen: self.listen }),
            Exposure::Loopback | Exposure::Insecure => Ok(()),
        }
    }
}

/// The limits given as flags or variables: one of each for every limit there is.
#[derive(Debug, Clone, Default)]
struct LimitArgs {
    values: Vec<(&'static str, u64)>,
}

impl Args for LimitArgs {
    fn augment_args(command: Command) -> Command {
        Limits::default().entries().into_iter().fold(command, |command, limit| {
            let argument = Arg::new(limit.name)
                .long(limit.name.replace('_', "-"))
                .env(format!("OMNIGRAPH_{}", limit.name.to_uppercase()))
                .value_name(limit.unit.as_str().to_uppercase())
                .value_parser(value_parser!(u64))
                .help(format!("{} [default: {}]", limit.description.trim_end_matches('.'), limit.default))
                .help_heading("Limits");
            command.arg(argument)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LimitArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut values = Vec::new();
        for limit in Limits::default().entries() {
            let given = matches
                .try_get_one::<u64>(limit.name)
                .map_err(|error| clap::Error::raw(ErrorKind::InvalidValue, error.to_string()))?;
            values.extend(given.map(|value| (limit.name, *value)));
        }
        Ok(Self { values })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
