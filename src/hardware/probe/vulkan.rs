//! Every card that a Vulkan driver serves, whoever made it. The loader is opened at run time; asking is one thing
//! ([`ask`]), understanding the answers another ([`cards`]), so that answers from other machines can be tested.

mod ask;

use serde::{Deserialize, Serialize};

use super::{Probe, Reading, Sources, VulkanSource, sysfs};
use crate::hardware::Vendor;
use crate::hardware::detection::{Finding, Weight};
use crate::hardware::facts::{CardFacts, CardKind, Reason};
use crate::units::Bytes;

/// The probe.
pub(super) struct Vulkan;

impl Probe for Vulkan {
    fn id(&self) -> &'static str {
        "vulkan"
    }

    fn title(&self) -> &'static str {
        "Vulkan drivers"
    }

    fn read(&self, sources: &Sources) -> Reading {
        let answers = match &sources.vulkan {
            VulkanSource::Off => return Reading::default(),
            VulkanSource::Recorded(answers) => Ok(answers.clone()),
            VulkanSource::Library(path) => ask::devices(Some(path)),
            // MoltenVK only repeats what Metal says.
            VulkanSource::System if cfg!(target_os = "macos") => return Reading::default(),
            VulkanSource::System => ask::devices(None),
        };
        match answers {
            Ok(answers) => Reading {
                cards: cards(&answers),
                ..Reading::default()
            },
            Err(why) => Reading {
                findings: vec![
                    Finding::new(
                        Weight::Info,
                        "vulkan",
                        "vulkan-unavailable",
                        format!("Vulkan could not be asked: {why}"),
                    )
                    .remedy("install a Vulkan loader (libvulkan1) to see cards without a vendor's own interface"),
                ],
                ..Reading::default()
            },
        }
    }
}

/// What one Vulkan device says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// `deviceName`.
    pub name: String,
    /// `vendorID`: a PCI vendor, or one of Khronos' own numbers.
    pub vendor_id: u32,
    /// `deviceID`.
    pub device_id: u32,
    /// `deviceType`.
    pub kind: Kind,
    /// `VkDriverId`; 0 where the driver does not say.
    pub driver_id: i32,
    /// `driverName` and `driverInfo`.
    pub driver: String,
    /// `VK_EXT_pci_bus_info`, in the form `domain:bus:device.function`.
    pub pci_address: Option<String>,
    /// `deviceUUID` as 32 hexadecimal digits.
    pub uuid: Option<String>,
    /// `deviceLUID` as 16 hexadecimal digits, on Windows.
    pub luid: Option<String>,
    /// Sizes of the heaps marked `DEVICE_LOCAL`.
    pub local_heaps: Vec<u64>,
    /// `heapBudget` of the same heaps.
    pub local_budgets: Option<Vec<u64>>,
}

/// `VkPhysicalDeviceType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Part of the processor.
    Integrated,
    /// A card.
    Discrete,
    /// A share of a card.
    Virtual,
    /// A program that draws on the processor.
    Cpu,
    /// Anything else.
    #[default]
    Other,
}

/// `VK_VENDOR_ID_MESA`: Mesa's software renderers.
const MESA_VENDOR: u32 = 0x10005;

/// Drivers that are no cards, by `VkDriverId`: SwiftShader (10), llvmpipe (13); and those that pass on to a driver
/// which is listed itself: Venus (22), Dozen (23; five devices on one laptop in ollama PR 16669).
const NO_CARDS: &[i32] = &[10, 13, 22, 23];

/// NVIDIA's own driver, by `VkDriverId`; its device UUIDs are those of the management library.
const NVIDIA_PROPRIETARY: i32 = 4;

/// The cards among the devices. Software renderers and second sights of other drivers' cards are none.
pub fn cards(answers: &[Answer]) -> Vec<CardFacts> {
    answers
        .iter()
        .enumerate()
        .filter(|(_, answer)| is_card(answer))
        .map(|(index, answer)| card(index, answer))
        .collect()
}

fn is_card(answer: &Answer) -> bool {
    let is_hardware = matches!(
        answer.kind,
        Kind::Integrated | Kind::Discrete | Kind::Virtual
    );
    is_hardware && answer.vendor_id != MESA_VENDOR && !NO_CARDS.contains(&answer.driver_id)
}

fn card(index: usize, answer: &Answer) -> CardFacts {
    let heap = Bytes::new(
        answer
            .local_heaps
            .iter()
            .fold(0_u64, |sum, heap| sum.saturating_add(*heap)),
    );
    let integrated = answer.kind == Kind::Integrated;
    let mut card = CardFacts {
        name: Some(answer.name.clone()).filter(|name| !name.is_empty()),
        vendor: Some(sysfs::vendor(answer.vendor_id).unwrap_or(Vendor::Other)),
        uuid: answer
            .uuid
            .as_deref()
            .filter(|_| answer.driver_id == NVIDIA_PROPRIETARY)
            .and_then(nvidia_uuid),
        luid: answer.luid.clone(),
        pci_address: answer.pci_address.as_deref().and_then(sysfs::pci_address),
        device_id: Some(format!("{:04x}:{:04x}", answer.vendor_id, answer.device_id)),
        kind: match answer.kind {
            Kind::Integrated => Some(CardKind::Integrated),
            Kind::Virtual => Some(CardKind::Virtual),
            _ => Some(CardKind::Discrete),
        },
        unified: Some(integrated),
        driver: Some(answer.driver.clone()).filter(|driver| !driver.is_empty()),
        vulkan_index: u32::try_from(index).ok(),
        ..CardFacts::default()
    };
    card.ceilings.insert("vulkan".to_owned(), heap);
    if integrated {
        // The heap of an integrated part is a policy of its driver, not a memory.
        card.missing
            .insert("total".to_owned(), Reason::UnifiedMemory);
    } else {
        card.total = Some(heap);
        card.free = answer.local_budgets.as_ref().map(|budgets| {
            // Budgets are what this process may still take: others' use is already subtracted.
            let budget = budgets
                .iter()
                .fold(0_u64, |sum, one| sum.saturating_add(*one));
            Bytes::new(budget).min(heap)
        });
    }
    card
}

/// `GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
fn nvidia_uuid(digits: &str) -> Option<String> {
    let part = |from: usize, to: usize| digits.get(from..to);
    (digits.len() == 32).then_some(())?;
    Some(format!(
        "GPU-{}-{}-{}-{}-{}",
        part(0, 8)?,
        part(8, 12)?,
        part(12, 16)?,
        part(16, 20)?,
        part(20, 32)?
    ))
}
