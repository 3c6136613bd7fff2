//! What the model is: hyper-parameters, layers, tensors by kind and type, files, assumptions.

use eframe::egui::{
    Align2, Label, Rect, RichText, Role, Sense, Stroke, TextStyle, Ui, Vec2, WidgetInfo, pos2,
};

use crate::app::command::{Command, Queue};
use crate::app::format;
use crate::app::library;
use crate::app::models::ModelCommand;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets;
use crate::inspect::{CacheGrowth, Certainty, Figure, Inspection, Share};
use crate::plain::one_line;
use crate::projection::grouped;
use crate::units::Bytes;

use super::context::Picture;

/// Height of a row.
const ROW: f32 = 22.0;
/// Width of a column of hyper-parameters, at least.
const COLUMN: f32 = 260.0;
/// Width of names of tensors.
const NAME: f32 = 128.0;
/// Width of a figure.
const FIGURE: f32 = 74.0;

/// Shows what the model is.
pub(super) fn inspection(ui: &mut Ui, context: &Picture<'_>, queue: &mut Queue) {
    let texts = context.texts;
    let Some(known) = context.inspected else {
        widgets::fact(ui, texts.inspecting);
        return;
    };
    let told = &*known.inspection;
    head(ui, texts, told);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0 * GRID;
        // Weights alone make no preset.
        let may_keep = context.may_keep && told.certainty != Certainty::Weights;
        let keep = may_keep.then_some(ModelCommand::AskPreset);
        for command in [Some(ModelCommand::CopyInspection), keep] {
            let Some(command) = command.map(Command::Models) else {
                continue;
            };
            if widgets::link(ui, command.text(texts))
                .on_hover_text(command.hover(texts, ui.ctx()))
                .clicked()
            {
                queue.send(command);
            }
        }
    });
    for assumption in &told.assumptions {
        let text = RichText::new(one_line(assumption)).color(Tokens::of(ui).warn);
        ui.add(Label::new(text).wrap());
    }
    if !told.hyper_parameters.is_empty() {
        section(ui, texts.hyper_parameters);
        figures(ui, told);
    }
    if !told.layers.is_empty() {
        section(ui, texts.layer_kinds);
        layers(ui, texts, told);
    }
    let title = match told.tensor_bytes {
        Some(_) => texts.tensors_by_kind,
        None => texts.parameters_by_kind,
    };
    section(ui, title);
    shares(ui, &told.by_kind);
    if !told.by_type.is_empty() {
        section(ui, texts.tensors_by_type);
        shares(ui, &told.by_type);
    }
    if !told.files.is_empty() {
        section(ui, texts.files);
        for file in &told.files {
            let size = Bytes::new(file.bytes).to_string();
            pair(ui, &one_line(&file.name), &size);
        }
    }
}

fn section(ui: &mut Ui, title: &str) {
    ui.add_space(3.0 * GRID);
    widgets::section(ui, title);
}

/// Who it is, how large it is, and how sure that is.
fn head(ui: &mut Ui, texts: &Texts, told: &Inspection) {
    ui.add(Label::new(RichText::new(one_line(&told.name)).text_style(theme::strong())).wrap());
    let names = [
        Some(told.model_type.as_str()),
        told.wrapper_type.as_deref(),
        Some(told.architecture.as_str()),
        told.container,
        told.label.as_deref(),
    ];
    let names = names.into_iter().flatten().filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(one_line).collect();
    widgets::fact(ui, names.join(" · "));
    let mut sizes = vec![library::parameters(
        told.params_total,
        told.params_active,
        texts,
    )];
    if let (Some(bytes), Some(bits)) = (told.tensor_bytes, told.bits_per_weight) {
        let (size, bits) = (bytes.to_string(), format!("{bits:.2}"));
        sizes.push(fill(
            texts.tensor_figures,
            &[("size", &size), ("bits", &bits)],
        ));
    }
    if let Some(cache) = &told.cache {
        sizes.push(growth(texts, cache));
    }
    widgets::fact(ui, sizes.join(" · "));
    if let Some(reason) = &told.cache_unknown {
        let reason = one_line(reason);
        widgets::fact(ui, fill(texts.cache_unknown, &[("reason", &reason)]));
    }
    widgets::fact(
        ui,
        match told.certainty {
            Certainty::Exact => texts.exact,
            Certainty::Configuration => texts.by_configuration,
            Certainty::Assumed => texts.assumed,
            Certainty::Weights => texts.weights_alone,
        },
    );
}

fn growth(texts: &Texts, cache: &CacheGrowth) -> String {
    let kib = format!("{:.1}", cache.bytes_per_token / 1024.0);
    let (all, count) = (cache.bytes.to_string(), grouped(cache.context));
    fill(
        texts.cache_growth,
        &[
            ("kib", &kib),
            ("size", &all),
            ("count", &count),
            ("format", cache.cache_type),
        ],
    )
}

/// Names and values in as many columns as there is room for.
fn figures(ui: &mut Ui, told: &Inspection) {
    let width = ui.available_width();
    let columns = ((width / COLUMN) as usize).clamp(1, 3);
    let gap = 6.0 * GRID;
    let column = (width - gap * (columns - 1) as f32) / columns as f32;
    let all: Vec<(&str, String)> = told
        .hyper_parameters
        .iter()
        .map(|(name, figure)| (name.as_ref(), value(figure)))
        .collect();
    let rows = all.len().div_ceil(columns);
    let (outer, _) = ui.allocate_exact_size(Vec2::new(width, ROW * rows as f32), Sense::hover());
    for (index, (name, value)) in all.iter().enumerate() {
        let left = outer.left() + (index / rows) as f32 * (column + gap);
        let top = outer.top() + (index % rows) as f32 * ROW;
        let rect = Rect::from_min_size(pos2(left, top), Vec2::new(column, ROW));
        pair_in(ui, rect, name, value);
    }
}

fn value(figure: &Figure) -> String {
    one_line(&figure.text())
}

fn pair(ui: &mut Ui, name: &str, value: &str) {
    let size = Vec2::new(ui.available_width(), ROW);
    let (_, rect) = ui.allocate_space(size);
    pair_in(ui, rect, name, value);
}

/// A name at the left and its value at the right, the name cut where both are too long.
fn pair_in(ui: &mut Ui, rect: Rect, name: &str, value: &str) {
    let tokens = Tokens::of(ui);
    let id = ui.scope_id().with((name, "pair"));
    let response = ui.interact(rect, id, Sense::hover());
    let spoken = format!("{name}: {value}");
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &spoken));
    let body = TextStyle::Body.resolve(ui.style());
    let painter = ui.painter().clone();
    let right = painter.text(
        pos2(rect.right(), rect.center().y),
        Align2::RIGHT_CENTER,
        value,
        body.clone(),
        tokens.text,
    );
    let room = rect.with_max_x((right.left() - 2.0 * GRID).max(rect.left()));
    painter.with_clip_rect(room.intersect(ui.clip_rect())).text(
        pos2(rect.left(), rect.center().y),
        Align2::LEFT_CENTER,
        name,
        body,
        tokens.text_weak,
    );
    let stroke = Stroke::new(1.0, tokens.line);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, stroke);
    response.on_hover_text(spoken);
}

fn layers(ui: &mut Ui, texts: &Texts, told: &Inspection) {
    for kind in &told.layers {
        let count = kind.count.to_string();
        let head = fill(
            texts.layers_which,
            &[("count", &count), ("which", &kind.which)],
        );
        ui.add(Label::new(RichText::new(head).text_style(theme::small_strong())).wrap());
        let rest = format!("{} · {}", kind.mixer, kind.feed_forward);
        widgets::fact(ui, rest);
        ui.add_space(GRID);
    }
}

/// A row per part: its name, a bar as long as its share, its figures.
fn shares(ui: &mut Ui, shares: &[Share]) {
    ui.spacing_mut().item_spacing.y = 0.0;
    for share in shares {
        share_row(ui, share);
    }
}

fn share_row(ui: &mut Ui, share: &Share) {
    let tokens = Tokens::of(ui);
    let size = Vec2::new(ui.available_width(), ROW);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let name = one_line(&share.name);
    let mut figures = vec![format!("{:.1} %", 100.0 * share.share)];
    figures.push(match share.bytes {
        Some(bytes) => bytes.to_string(),
        None => format::parameters(share.elements),
    });
    if let Some(tensors) = share.tensors {
        figures.push(format!("× {}", grouped(tensors)));
    }
    let spoken = format!("{name}, {}", figures.join(", "));
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &spoken));
    let painter = ui.painter().clone();
    let body = TextStyle::Body.resolve(ui.style());
    let mut right = rect.right();
    for (index, figure) in figures.iter().enumerate() {
        let ink = if index == 0 {
            tokens.text
        } else {
            tokens.text_weak
        };
        let at = pos2(right, rect.center().y);
        painter.text(at, Align2::RIGHT_CENTER, figure, body.clone(), ink);
        right -= if index == 1 { FIGURE + 14.0 } else { FIGURE };
    }
    let left = rect.left() + NAME;
    let names = rect.with_max_x(left - GRID);
    painter
        .with_clip_rect(names.intersect(ui.clip_rect()))
        .text(
            pos2(rect.left(), rect.center().y),
            Align2::LEFT_CENTER,
            &name,
            body,
            tokens.text,
        );
    let rail = Rect::from_x_y_ranges(
        left..=(right - GRID).max(left),
        rect.center().y - 4.0..=rect.center().y + 4.0,
    );
    painter.rect_filled(rail, 2.0, tokens.rail);
    let mut used = rail;
    // A sliver is still shown: what is there must not vanish.
    used.set_width((rail.width() * share.share.clamp(0.0, 1.0) as f32).max(1.5));
    painter.rect_filled(used, 2.0, tokens.accent);
    response.on_hover_text(spoken);
}
