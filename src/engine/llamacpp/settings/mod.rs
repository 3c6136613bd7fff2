//! Every setting of `llama-server` that matters for memory or launch, described once.
//!
//! Names are the long flags of `common/arg.cpp` (0.6.0-dev) in snake_case, positive form; defaults are the engine's.

mod adapter;
mod advanced;
mod bounds;
mod load;
mod meaning;
mod offload;
mod projector;
mod quantization;
mod relevance;
mod shape;
mod speculation;

use super::super::setting::Setting;

pub(super) use quantization::{IMATRIX, WEIGHTS};

/// In the order of the window.
pub(super) const SETTINGS: &[Setting] = &[
    quantization::WEIGHTS,
    quantization::IMATRIX,
    quantization::CACHE_TYPE_K,
    quantization::CACHE_TYPE_V,
    offload::N_GPU_LAYERS,
    offload::CPU_MOE,
    offload::N_CPU_MOE,
    offload::N_CPU_FFN,
    offload::OVERRIDE_TENSOR,
    offload::KV_OFFLOAD,
    offload::OP_OFFLOAD,
    offload::SPLIT_MODE,
    offload::TENSOR_SPLIT,
    offload::MAIN_GPU,
    offload::RPC,
    load::CTX_SIZE,
    load::PARALLEL,
    load::KV_UNIFIED,
    load::BATCH_SIZE,
    load::UBATCH_SIZE,
    load::FLASH_ATTN,
    speculation::SPEC_TYPE,
    speculation::SPEC_DRAFT_N_MAX,
    speculation::DRAFT_WEIGHTS,
    speculation::N_GPU_LAYERS_DRAFT,
    speculation::CPU_MOE_DRAFT,
    speculation::N_CPU_MOE_DRAFT,
    speculation::OVERRIDE_TENSOR_DRAFT,
    speculation::DEVICE_DRAFT,
    speculation::CACHE_TYPE_K_DRAFT,
    speculation::CACHE_TYPE_V_DRAFT,
    speculation::SPEC_DRAFT_BACKEND_SAMPLING,
    projector::MMPROJ,
    projector::MMPROJ_TYPE,
    projector::MMPROJ_OFFLOAD,
    projector::IMAGE_MIN_TOKENS,
    projector::IMAGE_MAX_TOKENS,
    adapter::LORA,
    adapter::CONTROL_VECTOR,
    advanced::SWA_FULL,
    advanced::LOAD_MODE,
    advanced::LAZY_MODE,
    advanced::REPACK,
    advanced::HOST_BUFFER,
    advanced::CHECK_TENSORS,
    advanced::CACHE_RAM,
    advanced::CTX_CHECKPOINTS,
    advanced::CHECKPOINT_MIN_STEP,
    advanced::KV_UNIFIED_PER_SLOT,
    advanced::EMBEDDING,
    advanced::BACKEND_SAMPLING,
    advanced::N_OUTPUTS_MAX,
    advanced::N_RS_SEQ,
    advanced::FIT,
    advanced::FIT_TARGET,
    advanced::FIT_CTX,
    advanced::ENGINE_VERSION,
];
