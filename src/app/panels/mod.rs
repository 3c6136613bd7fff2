//! The parts of the window. Each is a function that takes exactly what it shows and edits.

mod advice;
mod bars;
mod beside;
mod context;
mod curve_plot;
mod curves;
mod detected;
mod draft;
mod experts;
mod inputs;
mod launch;
mod launch_options;
mod machine;
mod machine_edit;
mod margin;
mod model;
mod model_list;
mod moments;
mod notes;
mod notices;
mod options;
mod picture;
mod setting_row;
mod settings;
mod speed;
mod table;
mod top;
mod verdict;
mod why;

pub(super) use context::{Inputs, Picture};
pub(super) use inputs::inputs;
pub(super) use launch::launch;
pub(super) use notices::notices;
pub(super) use picture::picture;
pub(super) use top::top_bar;
