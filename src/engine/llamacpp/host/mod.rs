//! What the engine takes beside its buffers, and what it may take from main memory later.

mod cache;
mod overhead;

pub(super) use cache::cache_terms;
pub(super) use overhead::{
    gpu_overhead, gpu_overhead_bytes, host_overhead, host_overhead_bytes, widest_input,
};
