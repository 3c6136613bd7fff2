//! What the engine takes beside its buffers, and what it may take from main memory later.

mod cache;
mod context;
mod loader;
mod loading;
mod overhead;
mod packing;
#[cfg(test)]
pub(super) mod tests;

pub(super) use cache::cache_terms;
pub(super) use loader::{HostWeights, Loader, Residence};
pub(super) use loading::{loading, locked_between};
pub(super) use overhead::{
    gpu_context_bytes, gpu_overhead, gpu_overhead_bytes, host_overhead, host_overhead_bytes,
    widest_input,
};
pub(super) use packing::Packing;
