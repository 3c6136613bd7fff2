//! Experts in main memory per GPU, and what one more layer of them there costs and gives.

use serde::Serialize;

use super::{Request, devices};
use crate::engine::experts::{ExpertChange, ExpertLayers};
use crate::engine::{Inputs, Margin, Memo, setting};
use crate::speed::{self, Estimate};

/// What it means to have the experts of one more layer of a GPU in main memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExpertPrice {
    /// The GPU, by its index in the plan.
    pub gpu: usize,
    /// Bytes that it gives the GPU.
    pub bytes: i64,
    /// Tokens per second of one stream before, where known.
    pub before: Option<Estimate>,
    /// Afterwards.
    pub after: Option<Estimate>,
}

/// The layers with experts of each GPU; empty where nothing can be moved.
pub fn experts(request: &Request<'_>, memo: &Memo) -> Vec<ExpertLayers> {
    with_inputs(request, memo, |inputs| request.engine.experts(inputs)).unwrap_or_default()
}

/// The settings with which so many layers of a GPU have their experts in main memory.
pub fn place_experts(
    request: &Request<'_>,
    gpu: usize,
    in_ram: u64,
    memo: &Memo,
) -> Option<ExpertChange> {
    with_inputs(request, memo, |inputs| {
        request.engine.place_experts(inputs, gpu, in_ram)
    })
}

/// The price of one more layer per GPU; of the last one, where all are in main memory.
pub fn expert_prices(request: &Request<'_>, memo: &Memo) -> Vec<ExpertPrice> {
    let prices = with_inputs(request, memo, |inputs| {
        let layers = request.engine.experts(inputs)?;
        Some(
            layers
                .iter()
                .filter_map(|layers| price(request, inputs, layers))
                .collect(),
        )
    });
    prices.unwrap_or_default()
}

fn price(request: &Request<'_>, inputs: &Inputs<'_>, layers: &ExpertLayers) -> Option<ExpertPrice> {
    let less = layers.in_ram.min(layers.layers.saturating_sub(1));
    let at = |in_ram: u64| {
        let change = request.engine.place_experts(inputs, layers.gpu, in_ram)?;
        let mut settings = inputs.settings.clone();
        change.apply(&mut settings);
        let inputs = Inputs {
            settings: &settings,
            ..*inputs
        };
        let free = *request.engine.free(&inputs)?.get(layers.gpu)?;
        let traffic = request.engine.traffic(&inputs);
        let speed = traffic.and_then(|traffic| speed::estimate(&traffic, inputs.machine).ok());
        Some((free, speed.map(|speed| speed.decode)))
    };
    let (free_before, before) = at(less)?;
    let (free_after, after) = at(less + 1)?;
    Some(ExpertPrice {
        gpu: layers.gpu,
        bytes: free_after.saturating_sub(free_before),
        before,
        after,
    })
}

/// Asks an engine about a request, its settings checked and its neighbours in use.
pub(super) fn with_inputs<T>(
    request: &Request<'_>,
    memo: &Memo,
    ask: impl FnOnce(&Inputs<'_>) -> Option<T>,
) -> Option<T> {
    let Request {
        engine,
        model,
        draft,
        ..
    } = *request;
    let settings = setting::checked(engine, request.settings, model, request.machine).ok()?;
    let machine = devices::shared(request.machine, request.beside);
    ask(&Inputs {
        model,
        draft,
        machine: machine.as_ref(),
        settings: &settings,
        margin: Margin::of_plan(request.fit),
        memo,
    })
}
