//! Experts in main memory: how many layers of each GPU, and at what price.

use eframe::egui::{CollapsingHeader, RichText, Ui};

use crate::app::format;
use crate::app::texts::fill;
use crate::app::theme::GRID;
use crate::app::widgets::{self, NumberField, Stops};
use crate::engine::experts::ExpertLayers;
use crate::engine::meaning::Meaning;
use crate::engine::setting::{Scope, Step};
use crate::engine::{self, Engine};
use crate::plan::{LaunchOptions, Plan, Value};
use crate::report::{self, ExpertPrice, Report};

use super::context::Inputs;

/// More GPUs than this have their sliders folded away at first.
const FEW: usize = 2;

/// Shows a slider per GPU; nothing where there are no experts to move.
pub(super) fn experts(ui: &mut Ui, context: &Inputs<'_>, plan: &mut Plan) {
    let layers = &context.live.experts;
    let Some(report) = context.live.good_report() else {
        return;
    };
    if layers.len() <= FEW {
        sliders(ui, context, report, plan);
        return;
    }
    let sum = |count: fn(&ExpertLayers) -> u64| layers.iter().map(count).sum::<u64>().to_string();
    let (count, all) = (sum(|gpu| gpu.in_ram), sum(|gpu| gpu.layers));
    let title = fill(
        context.texts.experts_in_all,
        &[("count", &count), ("all", &all)],
    );
    CollapsingHeader::new(title)
        .id_salt("experts")
        .show_unindented(ui, |ui| sliders(ui, context, report, plan));
}

fn sliders(ui: &mut Ui, context: &Inputs<'_>, report: &Report, plan: &mut Plan) {
    let live = context.live;
    // Where the engine chooses how many layers a GPU has, experts that go make room for layers that come.
    let fixed = !layers_are_chosen(context, plan);
    for layers in &live.experts {
        let mut prices = live.prices().iter().filter(|_| fixed);
        let price = prices.find(|price| price.gpu == layers.gpu);
        let moved = ui
            .push_id(("experts", layers.gpu), |ui| {
                gpu(ui, context, report, layers, price)
            })
            .inner;
        let Some((in_ram, basis)) = moved.zip(live.basis(plan)) else {
            continue;
        };
        let launch = LaunchOptions::default();
        let request = basis.request(&basis.settings, &launch);
        if let Some(change) = report::place_experts(&request, layers.gpu, in_ram, &live.memo()) {
            change.apply(&mut plan.settings);
        }
    }
}

/// Does the engine choose the number of layers on GPUs?
fn layers_are_chosen(context: &Inputs<'_>, plan: &Plan) -> bool {
    let subjects = context.subjects;
    let (Some(model), Some(machine)) = (subjects.model.ready(), subjects.machine.ready()) else {
        return false;
    };
    let engine = engine::find(&plan.engine);
    let mut settings = engine.into_iter().flat_map(Engine::settings);
    let layers = settings.find(|setting| {
        let mut counterparts = setting.counterparts.iter();
        counterparts.any(|other| other.meaning == Meaning::GpuLayers && !other.follows)
    });
    let Some(layers) = layers else { return false };
    let settings = &context.live.settings;
    let value = settings.get(layers.name).cloned().unwrap_or_else(|| {
        (layers.default)(&Scope {
            model,
            draft: subjects.draft.ready().map(|draft| &**draft),
            machine,
            settings,
        })
    });
    // Engines write -1 for the word.
    value == Value::Text("auto".to_owned()) || value == Value::Integer(-1)
}

/// One GPU; returns how many layers are to be in main memory.
fn gpu(
    ui: &mut Ui,
    context: &Inputs<'_>,
    report: &Report,
    layers: &ExpertLayers,
    price: Option<&ExpertPrice>,
) -> Option<u64> {
    let texts = context.texts;
    let device = report.devices.get(layers.gpu);
    let device = device.map(|device| format::device(device, texts));
    let device = device.unwrap_or_default();
    let name = fill(texts.experts_of, &[("device", &device)]);
    let high = i64::try_from(layers.layers).unwrap_or(i64::MAX);
    let number = i64::try_from(layers.in_ram).unwrap_or(i64::MAX);
    let mut set = None;
    widgets::row(ui, RichText::new(&name), texts.experts_help, |ui| {
        ui.add_space(14.0 + ui.spacing().item_spacing.x);
        let all = fill(texts.experts_of_all, &[("count", &format::integer(high))]);
        widgets::fact(ui, all);
        let field = NumberField {
            name: &name,
            range: (0.0, high as f64),
            speed: 0.1,
            decimals: 0,
            prefix: "",
            suffix: "",
        };
        let (response, other) = field.show(ui, number as f64);
        response.on_hover_text(texts.experts_help);
        set = other.map(|number| number as i64);
    });
    let stops = Stops {
        low: 0,
        high,
        step: Step::By(1),
    };
    let (_, moved) = widgets::track(ui, &name, number, stops);
    if let Some(price) = price {
        let bytes = format::gib_difference(price.bytes.saturating_neg(), 2);
        let values = [("bytes", bytes.as_str()), ("device", &device)];
        let mut text = fill(texts.expert_price, &values);
        if let (Some(before), Some(after)) = (price.before, price.after) {
            let speed = format::speed_difference(after.likely - before.likely);
            text += &fill(texts.expert_price_speed, &[("speed", &speed)]);
        }
        widgets::fact(ui, text);
    }
    ui.add_space(GRID / 2.0);
    moved.or(set).and_then(|number| u64::try_from(number).ok())
}
