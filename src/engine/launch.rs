//! The steps that start an engine as planned, as data; `export` writes them for a target.

use crate::hardware::Machine;
use crate::model::Model;
use crate::plan::{LaunchOptions, Settings};

/// What an engine needs to build a launch.
#[derive(Clone, Copy)]
pub struct LaunchInputs<'a> {
    /// What is loaded.
    pub model: &'a Model,
    /// Where it runs.
    pub machine: &'a Machine,
    /// Settings as written in the plan, canonical names.
    pub settings: &'a Settings,
    /// Settings with automatic choices filled in (`Outcome::resolved`).
    pub resolved: &'a Settings,
    /// The `[launch]` table of the plan.
    pub options: &'a LaunchOptions,
}

/// How to start an engine, per node and role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// In the order to run them.
    pub steps: Vec<Step>,
    /// What the person who runs it must provide.
    pub variables: Vec<Variable>,
    /// What the plan asks for and the engine cannot be told; written into the file's header.
    pub not_expressible: Vec<String>,
}

/// One program on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Which node, from 0.
    pub node: u32,
    /// What it does ("server", "worker", "convert").
    pub role: &'static str,
    /// Program name or path.
    pub program: String,
    /// Arguments, each an option with its values: exporters put one on a line.
    pub arguments: Vec<Argument>,
    /// Environment variables, in order.
    pub environment: Vec<(String, String)>,
}

/// One option with its values, or one positional value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Argument {
    /// The words, passed to the program one by one.
    pub words: Vec<Word>,
}

/// One word of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// Exactly this text, quoted by the exporter.
    Literal(String),
    /// The value of a [`Variable`], by name.
    Variable(&'static str),
}

/// A value that only the person who runs the launch knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Name in the environment ("MODEL").
    pub name: &'static str,
    /// What it is, for the message that stops a script without it.
    pub meaning: String,
}
