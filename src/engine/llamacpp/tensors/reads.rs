//! Which tensors the loader of an architecture asks for.

use super::Architecture;

/// Whether the loader asks for a tensor of this name under any circumstances.
pub(super) fn knows(_architecture: Architecture, _name: &str) -> bool {
    true
}

/// Whether loading fails without a tensor of this name; `holds` says what else the file has.
pub(super) fn requires(
    _architecture: Architecture,
    name: &str,
    holds: impl Fn(&str) -> bool,
) -> bool {
    let _ = holds(name);
    false
}
