//! The servers of other nodes, which lend their GPUs (`tools/rpc/README.md`, 0.6.0-dev).

use super::Command;
use crate::engine::launch::{Argument, Step, Word};
use crate::plan::Value;

/// First version that calls the program so; before, `rpc-server`.
const RENAMED: &str = "2026-08";

/// One per node that is used, to be started before the server itself.
pub(super) fn workers(command: &mut Command<'_>) -> Vec<Step> {
    let servers = match command.inputs.resolved.get("rpc") {
        Some(Value::List(servers)) => servers.as_slice(),
        _ => &[],
    };
    let nodes = command.inputs.machine.nodes;
    let program = if command.version.at_least(RENAMED) {
        "ggml-rpc-server"
    } else {
        "rpc-server"
    };
    let steps: Vec<Step> = (1..nodes)
        .zip(servers)
        .filter_map(|(node, server)| match server {
            Value::Text(server) => Some(step(node, program, server)),
            _ => None,
        })
        .collect();
    if !steps.is_empty() {
        command.launch.remarks.push(
            "WARNING: the servers on the other nodes accept commands from anyone who reaches their port: never open it to \
             more than these machines."
                .to_owned(),
        );
        command.launch.remarks.push(
            "Both sides need a build with RPC (-DGGML_RPC=ON) of the same version.".to_owned(),
        );
    }
    for step in &steps {
        let words: Vec<&str> = step
            .arguments
            .iter()
            .flat_map(|argument| &argument.words)
            .filter_map(|word| match word {
                Word::Literal(text) => Some(text.as_str()),
                Word::Variable(_) => None,
            })
            .collect();
        command.launch.remarks.push(format!(
            "On node {} start first: {} {}",
            step.node,
            step.program,
            words.join(" ")
        ));
    }
    steps
}

/// The address on which the node is reached is also the one on which it listens: no other network gets in.
fn step(node: u32, program: &str, server: &str) -> Step {
    let (host, port) = server.rsplit_once(':').unwrap_or((server, "50052"));
    Step {
        node,
        role: "worker",
        program: program.to_owned(),
        arguments: vec![
            Argument::literal(["--host", host]),
            Argument::literal(["--port", port]),
            // Weights are kept on the node's disk by their sums, so that only the first start sends them.
            Argument::literal(["--cache"]),
        ],
        environment: Vec::new(),
    }
}
