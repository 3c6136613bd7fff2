//! The calls.

use std::fmt::Write as _;
use std::path::Path;

use ash::vk;

use super::{Answer, Kind};

/// Opens the loader and asks every device it knows.
#[expect(unsafe_code, reason = "Vulkan is a C interface, loaded at run time")]
pub(super) fn devices(library: Option<&Path>) -> Result<Vec<Answer>, String> {
    // SAFETY: a Vulkan loader runs no code on loading that relies on anything of this program.
    let entry = unsafe {
        match library {
            Some(path) => ash::Entry::load_from(path),
            None => ash::Entry::load(),
        }
    }
    .map_err(|_| "no Vulkan loader is installed".to_owned())?;
    // SAFETY: the call takes no argument that could be wrong.
    let version = unsafe { entry.try_enumerate_instance_version() }
        .ok()
        .flatten()
        .unwrap_or(vk::API_VERSION_1_0);
    if version < vk::API_VERSION_1_1 {
        return Err("the Vulkan loader is older than 1.1".to_owned());
    }
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
    let create = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: the structures live until the call returns and name no layers or extensions.
    let instance = unsafe { entry.create_instance(&create, None) }
        .map_err(|error| format!("no Vulkan driver starts ({error})"))?;
    // SAFETY: the instance was created above and is destroyed below.
    let found = unsafe { instance.enumerate_physical_devices() };
    let answers = found.map(|devices| {
        devices
            .into_iter()
            .map(|device| answer(&instance, device))
            .collect()
    });
    // SAFETY: nothing made from the instance outlives this function.
    unsafe { instance.destroy_instance(None) };
    answers.map_err(|error| format!("no Vulkan driver lists its devices ({error})"))
}

#[expect(unsafe_code, reason = "Vulkan is a C interface, loaded at run time")]
fn answer(instance: &ash::Instance, device: vk::PhysicalDevice) -> Answer {
    // SAFETY: the device belongs to this instance, as in the call below.
    let extensions =
        unsafe { instance.enumerate_device_extension_properties(device) }.unwrap_or_default();
    let offers = |name: &std::ffi::CStr| {
        extensions
            .iter()
            .any(|extension| extension.extension_name_as_c_str() == Ok(name))
    };
    let has_bus = offers(vk::EXT_PCI_BUS_INFO_NAME);
    let has_budget = offers(vk::EXT_MEMORY_BUDGET_NAME);
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut identity = vk::PhysicalDeviceIDProperties::default();
    let mut bus = vk::PhysicalDevicePCIBusInfoPropertiesEXT::default();
    let mut properties = vk::PhysicalDeviceProperties2::default()
        .push_next(&mut driver)
        .push_next(&mut identity);
    if has_bus {
        properties = properties.push_next(&mut bus);
    }
    // SAFETY: the chain holds structures of core 1.1, one that drivers without it skip, and one that was checked.
    unsafe { instance.get_physical_device_properties2(device, &mut properties) };
    let basic = properties.properties;
    let (local_heaps, local_budgets) = local_memory(instance, device, has_budget);
    Answer {
        name: text(basic.device_name_as_c_str()),
        vendor_id: basic.vendor_id,
        device_id: basic.device_id,
        kind: kind(basic.device_type),
        driver_id: driver.driver_id.as_raw(),
        driver: format!(
            "{} {}",
            text(driver.driver_name_as_c_str()),
            text(driver.driver_info_as_c_str())
        )
        .trim()
        .to_owned(),
        pci_address: has_bus.then(|| {
            format!(
                "{:04x}:{:02x}:{:02x}.{:x}",
                bus.pci_domain, bus.pci_bus, bus.pci_device, bus.pci_function
            )
        }),
        uuid: Some(digits(&identity.device_uuid)),
        luid: (identity.device_luid_valid == vk::TRUE).then(|| digits(&identity.device_luid)),
        local_heaps,
        local_budgets,
    }
}

/// Sizes of the heaps that are the device's own, and what this process may take of them.
#[expect(unsafe_code, reason = "Vulkan is a C interface, loaded at run time")]
fn local_memory(
    instance: &ash::Instance,
    device: vk::PhysicalDevice,
    has_budget: bool,
) -> (Vec<u64>, Option<Vec<u64>>) {
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    let mut memory = vk::PhysicalDeviceMemoryProperties2::default();
    if has_budget {
        memory = memory.push_next(&mut budget);
    }
    // SAFETY: the device belongs to the instance, and the chained structure was checked for.
    unsafe { instance.get_physical_device_memory_properties2(device, &mut memory) };
    let heaps = memory.memory_properties;
    let (sizes, budgets) = heaps
        .memory_heaps
        .iter()
        .zip(budget.heap_budget)
        .take(heaps.memory_heap_count as usize)
        .filter(|(heap, _)| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL))
        .map(|(heap, budget)| (heap.size, budget))
        .unzip();
    (sizes, has_budget.then_some(budgets))
}

fn kind(device_type: vk::PhysicalDeviceType) -> Kind {
    match device_type {
        vk::PhysicalDeviceType::INTEGRATED_GPU => Kind::Integrated,
        vk::PhysicalDeviceType::DISCRETE_GPU => Kind::Discrete,
        vk::PhysicalDeviceType::VIRTUAL_GPU => Kind::Virtual,
        vk::PhysicalDeviceType::CPU => Kind::Cpu,
        _ => Kind::Other,
    }
}

fn text(name: Result<&std::ffi::CStr, std::ffi::FromBytesUntilNulError>) -> String {
    name.map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a String cannot fail.
        write!(digits, "{byte:02x}").ok();
        digits
    })
}
