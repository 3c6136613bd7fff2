//! Points of the search: which settings they mean, and what comes of them. Each is worked out once.

use std::collections::HashMap;

use super::FitRequest;
use crate::engine::Inputs;
use crate::engine::search::{
    Arrangement, Ask, Bound, Effort, Format, Residency, Space, open_plan, pinned_choices,
};
use crate::plan::{Settings, Value};
use crate::speed::{self, Estimate};

/// One combination of what can be chosen. `None`: as the plan has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Point {
    /// Index into the formats of weights.
    pub(super) weights: Option<usize>,
    /// Index into the formats of caches.
    pub(super) cache: Option<usize>,
    /// Context per user and users.
    pub(super) load: Option<(u64, u64)>,
}

/// A point that fits.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) point: Point,
    pub(super) arrangement: Arrangement,
}

/// What a setting decides, as far as it matters which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Context,
    Slots,
    Other,
}

/// What is known of the points of one machine.
pub(super) type Known = HashMap<(Point, Residency, Effort), Option<Arrangement>>;

/// What is searched, and what is known of it.
pub(super) struct Explorer<'a> {
    pub(super) request: FitRequest<'a>,
    /// What is pinned, in whatever words.
    pinned: Vec<String>,
    /// The plan without what is searched.
    base: Settings,
    pub(super) space: Space,
    /// Formats of weights that may be chosen, most bits first.
    pub(super) weights: Vec<Option<usize>>,
    /// Formats of caches that lose next to nothing, most bits first.
    pub(super) caches: Vec<Option<usize>>,
    /// All formats of caches.
    pub(super) all_caches: Vec<Option<usize>>,
    /// Whether the context may be chosen.
    pub(super) context_is_open: bool,
    /// Whether the number of users may be chosen.
    pub(super) slots_are_open: bool,
    /// The users, where the whole context is pinned and nothing is said of them: the engine would divide it by its own
    /// number.
    users: Option<(String, Value)>,
    known: Known,
    failed: Vec<(Point, Residency)>,
}

impl<'a> Explorer<'a> {
    /// `None` where the engine has nothing to search.
    pub(super) fn new(request: &FitRequest<'a>) -> Option<Self> {
        let closed = pinned_choices(request.engine, request.pinned);
        let base = open_plan(request.engine, request.inputs.settings, &closed);
        let space = request.engine.space(&Inputs {
            settings: &base,
            ..request.inputs
        })?;
        let pinned = |name: &str| closed.iter().any(|pinned| pinned == name);
        let may = |format: &Format| {
            let mut changes = format.set.iter();
            changes.all(|(name, value)| !pinned(name) || same(base.get(name), value))
        };
        let open = |formats: &[Format]| {
            let open: Vec<Option<usize>> = (0..formats.len())
                .filter(|index| formats.get(*index).is_some_and(may))
                .map(Some)
                .collect();
            // Pinned to what is not in the list, or to the engine's default.
            if open.is_empty() { vec![None] } else { open }
        };
        let all_caches = open(&space.caches);
        let plain = all_caches.iter().copied();
        let mut caches: Vec<Option<usize>> = plain
            .filter(|cache| cache.is_none_or(|cache| cache < space.lossy_caches))
            .collect();
        if caches.is_empty() {
            caches.clone_from(&all_caches);
        }
        let load = request.engine.load(1, 1);
        let touched = |name: &str| load.contains_key(name) && pinned(name);
        let total = load.keys().next().is_some_and(|name| touched(name));
        let users = load.keys().nth(1).is_some_and(|name| touched(name));
        let one_user = load
            .get_index(1)
            .filter(|_| total && !users && space.planned_slots.is_none());
        Some(Self {
            users: one_user.map(|(name, value)| (name.clone(), value.clone())),
            weights: open(&space.weights),
            caches,
            all_caches,
            context_is_open: !total,
            slots_are_open: !total && !users,
            space,
            pinned: closed,
            base,
            request: *request,
            known: HashMap::new(),
            failed: Vec::new(),
        })
    }

    /// What is known.
    pub(super) fn into_known(self) -> Known {
        self.known
    }

    /// Takes over what another search of the same found out.
    pub(super) fn knows(&mut self, known: Known) {
        self.known = known;
    }

    /// The settings of a point, the placement as written.
    pub(super) fn settings(&self, point: &Point) -> Settings {
        let mut settings = self.base.clone();
        let format = |formats: &[Format], index: Option<usize>| {
            let format = index.and_then(|index| formats.get(index));
            format.map(|format| {
                let (set, along) = (format.set.iter(), format.along.iter());
                let both = set.chain(along);
                both.map(|(name, value)| (name.clone(), value.clone()))
                    .collect::<Settings>()
            })
        };
        let load = point
            .load
            .map(|(context, slots)| self.request.engine.load(context, slots));
        let changes = [
            format(&self.space.weights, point.weights),
            format(&self.space.caches, point.cache),
            load,
        ];
        settings.extend(self.users.clone());
        for (name, value) in changes.into_iter().flatten().flatten() {
            if !self.is_pinned(&name) {
                settings.insert(name, value);
            }
        }
        settings
    }

    /// What a setting decides.
    pub(super) fn role(&self, name: &str) -> Role {
        let load = self.request.engine.load(1, 1);
        match load.get_index_of(name) {
            Some(0) => Role::Context,
            Some(_) => Role::Slots,
            None => Role::Other,
        }
    }

    pub(super) fn is_pinned(&self, name: &str) -> bool {
        self.pinned.iter().any(|pinned| pinned == name)
    }

    /// The best or barest arrangement of a point, whether it fits or not.
    pub(super) fn arrange(
        &mut self,
        point: &Point,
        residency: Residency,
        effort: Effort,
    ) -> Option<&Arrangement> {
        let (residency, effort) = match residency {
            _ if !self.space.gpus => (Residency::Anywhere, Effort::Best),
            // There is but one way to have everything on GPUs.
            Residency::Whole => (residency, Effort::Best),
            _ => (residency, effort),
        };
        let key = (*point, residency, effort);
        if !self.known.contains_key(&key) {
            let settings = self.settings(point);
            let arrangement = self.request.engine.arrange(
                &Inputs {
                    settings: &settings,
                    ..self.request.inputs
                },
                &Ask {
                    pinned: &self.pinned,
                    residency,
                    effort,
                },
            );
            self.known.insert(key, arrangement);
        }
        self.known.get(&key).and_then(Option::as_ref)
    }

    /// What no arrangement of a point that fits has more of on GPUs, where that can be told without graphs.
    pub(super) fn bound(&self, point: &Point) -> Option<Bound> {
        let inputs = Inputs {
            settings: &self.settings(point),
            ..self.request.inputs
        };
        self.request.engine.bound(&inputs, &self.pinned)
    }

    /// The arrangement of a point, if it fits and has on GPUs what it must.
    pub(super) fn found(
        &mut self,
        point: &Point,
        residency: Residency,
        effort: Effort,
    ) -> Option<Found> {
        let demands_more = |(failed, least): &(Point, Residency)| {
            *least <= residency && point.demands_as_much(failed)
        };
        if self.failed.iter().any(demands_more) {
            return None;
        }
        let gpus = self.space.gpus;
        let found = self
            .arrange(point, residency, effort)
            .filter(|arrangement| {
                let probe = &arrangement.probe;
                probe.fits() && (!gpus || probe.residency() >= residency)
            })
            .cloned();
        if found.is_none() {
            self.failed.push((*point, residency));
        }
        found.map(|arrangement| Found {
            point: *point,
            arrangement,
        })
    }

    /// How fast it answers one user at the beginning of the context, where that can be told.
    pub(super) fn decode(&self, settings: &Settings) -> Option<Estimate> {
        decode(&self.request, settings)
    }

    /// The best arrangement of what is found.
    pub(super) fn refined(&mut self, found: &Found, residency: Residency) -> Option<Found> {
        self.found(&found.point, residency, Effort::Best)
    }
}

impl Point {
    /// Whether it needs at least as much as another: as many bits, as long a context, as many users, with the same cache
    /// format (a smaller one can need more scratch).
    fn demands_as_much(&self, other: &Self) -> bool {
        let load = match (self.load, other.load) {
            (Some((context, slots)), Some((other_context, other_slots))) => {
                context >= other_context && slots >= other_slots
            }
            (load, other) => load == other,
        };
        let weights = match (self.weights, other.weights) {
            (Some(weights), Some(other)) => weights <= other,
            (weights, other) => weights == other,
        };
        load && weights && self.cache == other.cache
    }
}

/// How fast settings answer one user at the beginning of the context, where that can be told.
pub(super) fn decode(request: &FitRequest<'_>, settings: &Settings) -> Option<Estimate> {
    let traffic = request.engine.traffic(&Inputs {
        settings,
        ..request.inputs
    })?;
    let speed = speed::estimate(&traffic, request.inputs.machine).ok()?;
    Some(speed.decode)
}

/// The same value, words in any case of letters.
fn same(written: Option<&Value>, value: &Value) -> bool {
    match (written, value) {
        (Some(Value::Text(written)), Value::Text(value)) => written.eq_ignore_ascii_case(value),
        (written, value) => written == Some(value),
    }
}
