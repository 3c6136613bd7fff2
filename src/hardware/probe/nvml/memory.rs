//! The memory of one device, by whichever call its driver has.

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError;

use crate::hardware::facts::Reason;
use crate::units::Bytes;

/// What the driver says of a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hardware::probe) struct Memory {
    /// All of it.
    pub(in crate::hardware::probe) total: Bytes,
    /// Kept by the driver; unknown to drivers before R510, whose total leaves it out.
    pub(in crate::hardware::probe) reserved: Option<Bytes>,
    /// In use by all programs.
    pub(in crate::hardware::probe) used: Bytes,
    /// Free.
    pub(in crate::hardware::probe) free: Bytes,
}

/// Asks by the second version of the call, else by the first.
pub(in crate::hardware::probe) fn memory(device: &Device<'_>) -> Result<Memory, Reason> {
    let memory = match device.memory_info() {
        Ok(info) => Memory {
            total: Bytes::new(info.total),
            reserved: Some(Bytes::new(info.reserved)),
            used: Bytes::new(info.used),
            free: Bytes::new(info.free),
        },
        Err(error @ (NvmlError::NoPermission | NvmlError::GpuLost | NvmlError::ResetRequired)) => {
            return Err(super::reason(&error));
        }
        Err(error) => match first_version(device) {
            Ok(memory) => memory,
            // Chips that share the processor's memory (GB10, Jetson) refuse both.
            Err(NvmlError::NotSupported) => return Err(Reason::UnifiedMemory),
            Err(NvmlError::FailedToLoadSymbol(_)) => return Err(super::reason(&error)),
            Err(other) => return Err(super::reason(&other)),
        },
    };
    // The library's mark for "not available" (nvtop issue 432 printed it as 17179869184 GiB).
    if memory.total.get() == u64::MAX {
        return Err(Reason::NotReported);
    }
    Ok(memory)
}

/// `nvmlDeviceGetMemoryInfo`, which the wrapper no longer offers.
#[expect(
    unsafe_code,
    reason = "the call for drivers before R510 is only in the raw table of symbols"
)]
fn first_version(device: &Device<'_>) -> Result<Memory, NvmlError> {
    let symbol = device
        .nvml()
        .lib()
        .nvmlDeviceGetMemoryInfo
        .as_ref()
        .map_err(|error| NvmlError::FailedToLoadSymbol(error.to_string()))?;
    // nvmlMemory_t: total, free, used.
    let mut answer = [0_u64; 3];
    // SAFETY: the handle belongs to the library that the symbol was loaded from, and the call writes three 64-bit
    // words, which is what `nvmlMemory_t` is, into a place of that size and alignment.
    let code = unsafe { symbol(device.handle(), answer.as_mut_ptr().cast()) };
    nvml_wrapper::error::nvml_try(code)?;
    let [total, free, used] = answer;
    Ok(Memory {
        total: Bytes::new(total),
        reserved: None,
        used: Bytes::new(used),
        free: Bytes::new(free),
    })
}
