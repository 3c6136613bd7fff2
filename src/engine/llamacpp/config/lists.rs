//! Settings that are lists: servers, shares, overrides.

use super::Override;
use super::read::Reader;
use crate::plan::Value;
use crate::projection::Note;

impl Reader<'_> {
    /// Servers of other nodes; one line may hold several (`add_rpc_devices`, `common/arg.cpp`).
    pub(super) fn servers(&mut self) -> Vec<String> {
        let Some(Value::List(lines)) = self.settings.get("rpc") else {
            return Vec::new();
        };
        let lines = lines.iter().filter_map(|line| match line {
            Value::Text(line) => Some(line.as_str()),
            _ => None,
        });
        let servers: Vec<String> = lines
            .flat_map(|line| line.split(','))
            .map(|server| server.trim().to_owned())
            .filter(|server| !server.is_empty())
            .collect();
        let odd = servers.iter().find(|server| {
            let port = server.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
            !matches!(port, Some(Ok(1..)))
        });
        if let Some(odd) = odd {
            self.notes.push(
                Note::error(
                    "rpc-without-port",
                    format!("{odd:?} is no server: it takes the form host:port."),
                )
                .on("rpc"),
            );
        }
        servers
    }

    pub(super) fn proportions(&mut self, name: &str) -> Vec<f64> {
        let Some(Value::List(items)) = self.settings.get(name) else {
            return Vec::new();
        };
        let number = |item: &Value| match item {
            Value::Integer(number) => *number as f64,
            Value::Number(number) => *number,
            _ => 0.0,
        };
        items
            .iter()
            .map(number)
            .map(|number| {
                if number.is_finite() {
                    number.max(0.0)
                } else {
                    0.0
                }
            })
            .collect()
    }

    /// Whole MiB, one number per GPU.
    pub(super) fn mib_per_gpu(&mut self, name: &str) -> Vec<u64> {
        let numbers = self.proportions(name).into_iter();
        numbers.map(|mib| mib as u64).collect()
    }

    /// In the order in which the launch writes them.
    pub(super) fn overrides(&mut self) -> Vec<Override> {
        let mut overrides = Vec::new();
        if let Some(Value::List(lines)) = self.settings.get("override_tensor") {
            for line in lines {
                if let Value::Text(line) = line {
                    // One line may hold several rules, separated by commas (`parse_tensor_buffer_overrides`).
                    overrides.extend(line.split(',').filter_map(|rule| self.pattern(rule)));
                }
            }
        }
        if self.toggle("cpu_moe", false) {
            overrides.push(Override::AllExperts);
        }
        let blocks = self.count("n_cpu_moe", 0);
        if blocks > 0 {
            overrides.push(Override::Experts { blocks });
        }
        let blocks = self.count("n_cpu_ffn", 0);
        if blocks > 0 {
            overrides.push(Override::Dense { blocks });
        }
        overrides
    }

    fn pattern(&mut self, rule: &str) -> Option<Override> {
        let parts = rule.split_once('=');
        if parts.is_none() {
            self.notes.push(
                Note::error(
                    "override-malformed",
                    format!("{rule:?} is no override: it takes the form pattern=buffer."),
                )
                .on("override_tensor"),
            );
        }
        let (regex, target) = parts?;
        Some(Override::Pattern {
            regex: regex.to_owned(),
            target: target.to_owned(),
        })
    }
}
