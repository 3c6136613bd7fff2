//! GGUF files: those that a converter would write, and those that nobody should.

mod file;
mod hostile;
mod kinds;
mod labels;
mod parts;
mod real;
pub(crate) mod round_trip;
mod unknown;
