//! What detection found: a machine to plan with, every card in detail, and what could not be read and why.

use serde::{Deserialize, Serialize};

use super::facts::{CardFacts, HostFacts};
use super::{Gpu, Machine};

/// The outcome of a detection. It serialises; see [`super::diagnostic`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// The machine with the cards that are used unless the user says otherwise, in plan order.
    pub machine: Machine,
    /// Every card found, those not used by default last.
    pub cards: Vec<DetectedCard>,
    /// Processor, memory and system in detail.
    pub host: HostFacts,
    /// What could not be read, why, and what to do; the gravest first.
    pub findings: Vec<Finding>,
}

impl Detection {
    /// The machine with the cards of these ids (or UUIDs) in this order, and the ids that no card has.
    pub fn machine_of<'a>(&self, ids: &'a [String]) -> (Machine, Vec<&'a str>) {
        let mut gpus = Vec::new();
        let mut unknown = Vec::new();
        for id in ids {
            match self
                .cards
                .iter()
                .find(|card| card.id == *id || card.gpu.uuid.as_ref() == Some(id))
            {
                Some(card) => gpus.push(card.gpu.clone()),
                None => unknown.push(id.as_str()),
            }
        }
        let machine = Machine {
            gpus,
            ..self.machine.clone()
        };
        (machine, unknown)
    }

    /// The machine with exactly the cards that `chosen` accepts, in plan order.
    pub fn machine_with(&self, chosen: impl Fn(&DetectedCard) -> bool) -> Machine {
        Machine {
            gpus: self
                .cards
                .iter()
                .filter(|card| chosen(card))
                .map(|card| card.gpu.clone())
                .collect(),
            ..self.machine.clone()
        }
    }
}

/// One physical card (or one instance of a card in multi-instance mode).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetectedCard {
    /// Identity that survives a restart where the card has one: UUID, else PCI address, else its place in the list.
    pub id: String,
    /// The card as a plan sees it.
    pub gpu: Gpu,
    /// Everything known of it.
    pub facts: CardFacts,
    /// Why it is not used by default; absent where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<Aside>,
}

/// Why a card is listed but not used by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aside {
    /// Part of the processor, and there is a card with memory of its own.
    Integrated,
    /// `CUDA_VISIBLE_DEVICES` leaves it out.
    Hidden,
    /// It is split into instances, which are listed instead.
    SplitIntoInstances,
    /// CUDA gives one program at most one instance.
    SecondInstance,
    /// It no longer answers.
    Lost,
    /// Its memory could not be read.
    UnknownMemory,
}

impl Aside {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Integrated => "part of the processor; a separate card is used instead",
            Self::Hidden => "left out by CUDA_VISIBLE_DEVICES",
            Self::SplitIntoInstances => "split into MIG instances, which are listed instead",
            Self::SecondInstance => "a program can use only one MIG instance",
            Self::Lost => "no longer answers; a restart may bring it back",
            Self::UnknownMemory => "its memory could not be read",
        }
    }
}

/// Something that could not be read, or that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub weight: Weight,
    /// Stable identity ("nvml-driver-mismatch").
    pub code: String,
    /// Identity of the probe.
    pub source: String,
    /// The card concerned, by [`DetectedCard::id`] where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// What is the matter: one sentence.
    pub message: String,
    /// What to do about it, where something can be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// How much a finding matters; the order is that of display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Cards are missing or cannot be used.
    Failure,
    /// A figure is missing or doubtful.
    Warning,
    /// Good to know.
    Info,
}

impl Finding {
    /// A finding without a card or a remedy; chain [`Finding::of`] and [`Finding::remedy`].
    pub fn new(
        weight: Weight,
        source: &str,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            weight,
            code: code.to_owned(),
            source: source.to_owned(),
            card: None,
            message: message.into(),
            remedy: None,
        }
    }

    /// Names the card concerned.
    #[must_use]
    pub fn of(mut self, card: impl Into<String>) -> Self {
        self.card = Some(card.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
