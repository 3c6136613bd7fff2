//! The plot of a sweep: areas stacked by category, the capacity, and where it is passed.

use eframe::egui::{Align2, Color32, Rangef, RichText, Stroke, Ui, Vec2};
use egui_plot::{
    AxisHints, FilledArea, GridInput, GridMark, HLine, HoverPosition, LineStyle, Plot, PlotPoint,
    PlotUi, Text, VLine,
};

use crate::app::format;
use crate::app::sweep::{Curve, DevicePoint, crossing};
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets;
use crate::engine::Axis;
use crate::projection::Category;
use crate::units::Bytes;

/// Room at the right for the half of the last figure that stands beyond the plot.
const PLOT_EDGE: f32 = 18.0;

/// What the plot shows.
pub(super) struct Shown<'a> {
    pub(super) texts: &'a Texts,
    pub(super) tokens: &'static Tokens,
    pub(super) axis: Axis,
    pub(super) label: &'static str,
    pub(super) curve: &'a Curve,
    pub(super) device: usize,
    pub(super) current: Option<i64>,
    /// What is to be kept free on the device.
    pub(super) kept_free: Bytes,
    /// What of the margin the overhead takes already.
    pub(super) overhead: Bytes,
}

impl Shown<'_> {
    /// Plots are linear, so ratios are drawn by their logarithm.
    fn x(&self, value: f64) -> f64 {
        if self.axis.logarithmic {
            value.max(1.0).log2()
        } else {
            value
        }
    }

    fn value(&self, x: f64) -> f64 {
        if self.axis.logarithmic { x.exp2() } else { x }
    }

    fn device_points(&self) -> impl Iterator<Item = (f64, &DevicePoint)> {
        self.curve.points.iter().filter_map(|point| {
            let device = point.devices.get(self.device)?;
            Some((self.x(point.value as f64), device))
        })
    }

    /// The swept value nearest to a place in the plot.
    fn nearest(&self, x: f64) -> Option<i64> {
        self.curve
            .points
            .iter()
            .map(|point| point.value)
            .min_by(|a, b| {
                let distance = |value: i64| (self.x(value as f64) - x).abs();
                distance(*a).total_cmp(&distance(*b))
            })
    }

    fn tick(&self, mark: GridMark) -> String {
        let value = self.value(mark.value).round() as i64;
        if self.axis.logarithmic && value >= 1024 && value % 1024 == 0 {
            format!("{}k", value / 1024)
        } else {
            format::integer(value)
        }
    }
}

/// Draws the plot; returns the value that was clicked.
pub(super) fn plot(ui: &mut Ui, shown: &Shown<'_>) -> Option<i64> {
    let height = (ui.available_height() - 72.0).clamp(220.0, 520.0);
    // Never wider than what can be seen, whatever the rows above take.
    let seen = ui.clip_rect().right() - ui.cursor().left() - PLOT_EDGE;
    let width = ui.available_width().min(seen) - PLOT_EDGE;
    let top = shown
        .device_points()
        .map(|(_, device)| device.total().max(device.capacity).as_gib())
        .fold(0.0, f64::max);
    let xs: Vec<f64> = shown.device_points().map(|(x, _)| x).collect();
    let (first, last) = (xs.first().copied()?, xs.last().copied()?);
    // A curve that runs far past the line says nothing more there.
    let capacity = shown.device_points().next()?.1.capacity.as_gib();
    let top = top.min(capacity.max(0.5) * 1.6) * 1.06;
    let response = ui.name_inputs(shown.label, |ui| {
        Plot::new("curves")
            .height(height)
            .width(width)
            .cursor_color(shown.tokens.text_weak)
            .allow_zoom(false)
            .allow_drag(false)
            .allow_scroll(false)
            .allow_boxed_zoom(false)
            .allow_axis_zoom_drag(false)
            .allow_double_click_reset(false)
            .show_background(false)
            .grid_color(shown.tokens.line)
            .set_margin_fraction(Vec2::ZERO)
            .default_x_bounds(first, last.max(first + 1e-6))
            .default_y_bounds(0.0, top)
            .x_grid_spacer(|input| grid(input, shown.axis.logarithmic))
            .custom_x_axes(vec![
                AxisHints::new_x()
                    .label_spacing(Rangef::new(24.0, 32.0))
                    .label(shown.label)
                    .formatter(|mark, _| shown.tick(mark)),
            ])
            .custom_y_axes(vec![AxisHints::new_y().label(shown.texts.gib).formatter(
                |mark, _| {
                    // The corner belongs to the first figure of the other axis.
                    if mark.value == 0.0 {
                        String::new()
                    } else {
                        format!("{:.0}", mark.value)
                    }
                },
            )])
            .label_formatter(|position| hover(shown, position))
            .show(ui, |plot| {
                plot.set_plot_bounds_x(first..=last.max(first + 1e-6));
                plot.set_plot_bounds_y(0.0..=top);
                areas(plot, shown, &xs);
                lines(plot, shown, capacity, top);
                plot.pointer_coordinate()
            })
    });
    let clicked = response.response.clicked();
    response
        .inner
        .filter(|_| clicked)
        .and_then(|at| shown.nearest(at.x))
}

/// Where the vertical lines stand: at powers of two where ratios are drawn.
fn grid(input: GridInput, logarithmic: bool) -> Vec<GridMark> {
    if !logarithmic {
        return egui_plot::uniform_grid_spacer(|input| {
            let step = ((input.bounds.1 - input.bounds.0) / 8.0).ceil().max(1.0);
            [step, step * 4.0, step * 8.0]
        })(input);
    }
    let (low, high) = (input.bounds.0.ceil() as i64, input.bounds.1.floor() as i64);
    let step = ((high - low) / 10).max(1) as usize;
    (low..=high)
        .step_by(step)
        .map(|power| GridMark {
            value: power as f64,
            step_size: 1.0,
        })
        .collect()
}

fn areas<'a>(plot: &mut PlotUi<'a>, shown: &Shown<'_>, xs: &[f64]) {
    let mut below: Vec<f64> = vec![0.0; xs.len()];
    let mut layer = |name: &str, colour: Color32, heights: Vec<Bytes>, plot: &mut PlotUi<'a>| {
        let above: Vec<f64> = below
            .iter()
            .zip(&heights)
            .map(|(y, bytes)| y + bytes.as_gib())
            .collect();
        plot.add(
            FilledArea::new(name, xs, &below, &above)
                .fill_color(colour)
                .stroke(Stroke::new(1.0, colour))
                .allow_hover(false),
        );
        below = above;
    };
    let in_use: Vec<Bytes> = shown
        .device_points()
        .map(|(_, device)| device.in_use)
        .collect();
    layer(shown.texts.in_use, shown.tokens.field_hover, in_use, plot);
    for category in categories(shown) {
        let heights = shown
            .device_points()
            .map(|(_, device)| device.bytes(category))
            .collect();
        layer(
            shown.texts.category(category),
            shown.tokens.category(category),
            heights,
            plot,
        );
    }
}

fn categories(shown: &Shown<'_>) -> Vec<Category> {
    Category::ALL
        .into_iter()
        .filter(|category| {
            shown
                .device_points()
                .any(|(_, device)| device.bytes(*category) != Bytes::ZERO)
        })
        .collect()
}

fn lines(plot: &mut PlotUi<'_>, shown: &Shown<'_>, capacity: f64, top: f64) {
    let tokens = shown.tokens;
    plot.hline(
        HLine::new(shown.texts.capacity, capacity)
            .color(tokens.mark)
            .width(1.5)
            .allow_hover(false),
    );
    if let Some(current) = shown.current {
        plot.vline(
            VLine::new(shown.texts.now, shown.x(current as f64))
                .color(tokens.accent)
                .width(1.5)
                .style(LineStyle::dashed_dense())
                .allow_hover(false),
        );
    }
    if let Some((value, gib)) = crossing(shown.curve, shown.device) {
        crossing_line(plot, shown, value, gib + top * 0.015);
    }
    // Last, since no line may strike its label.
    if shown.kept_free != Bytes::ZERO {
        margin_line(plot, shown, capacity - shown.kept_free.as_gib(), top);
    }
}

/// Where the room that is to be kept free begins.
fn margin_line(plot: &mut PlotUi<'_>, shown: &Shown<'_>, line: f64, top: f64) {
    let weak = shown.tokens.text_weak;
    plot.hline(
        HLine::new(shown.texts.margin, line)
            .color(weak)
            .width(1.0)
            .style(LineStyle::dashed_dense())
            .allow_hover(false),
    );
    let kept = shown.kept_free.to_string();
    let overhead = shown.overhead.to_string();
    let words = if shown.overhead == Bytes::ZERO {
        shown.texts.kept_free
    } else {
        shown.texts.kept_free_beside
    };
    let text = RichText::new(fill(words, &[("size", &kept), ("overhead", &overhead)]))
        .text_style(theme::small())
        .color(weak)
        .background_color(shown.tokens.canvas);
    let bounds = plot.plot_bounds();
    let x = bounds.range_x().start() + 0.01 * bounds.width();
    // Below its line: above it, the line of the capacity is near.
    let at = PlotPoint::new(x, line - top * 0.008);
    plot.text(
        Text::new(shown.texts.margin, at, text)
            .anchor(Align2::LEFT_TOP)
            .allow_hover(false),
    );
}

/// Where the capacity is passed, with the last value before it.
fn crossing_line(plot: &mut PlotUi<'_>, shown: &Shown<'_>, value: f64, height: f64) {
    let tokens = shown.tokens;
    let x = shown.x(value);
    plot.vline(
        VLine::new(shown.texts.crossing, x)
            .color(tokens.bad)
            .width(1.0)
            .allow_hover(false),
    );
    let count = format::integer(shown.nearest_below(value));
    let text = RichText::new(fill(shown.texts.crossing_at, &[("count", &count)]))
        .text_style(theme::small_strong())
        .color(tokens.text)
        .background_color(tokens.canvas);
    let bounds = plot.plot_bounds();
    // The label stands on the side where there is room.
    let late = x > bounds.range_x().start() + bounds.width() * 0.6;
    let (anchor, shift) = if late {
        (Align2::RIGHT_BOTTOM, -0.008)
    } else {
        (Align2::LEFT_BOTTOM, 0.008)
    };
    let at = PlotPoint::new(x + shift * bounds.width(), height);
    plot.text(
        Text::new(shown.texts.crossing, at, text)
            .anchor(anchor)
            .allow_hover(false),
    );
}

impl Shown<'_> {
    /// The last swept value before the line is passed.
    fn nearest_below(&self, value: f64) -> i64 {
        self.curve
            .points
            .iter()
            .map(|point| point.value)
            .filter(|known| *known as f64 <= value)
            .max()
            .unwrap_or(value as i64)
    }
}

fn hover(shown: &Shown<'_>, position: &HoverPosition<'_>) -> Option<String> {
    let HoverPosition::Elsewhere { position } = position else {
        return None;
    };
    let value = shown.nearest(position.x)?;
    let point = shown
        .curve
        .points
        .iter()
        .find(|point| point.value == value)?;
    let device = point.devices.get(shown.device)?;
    Some(format!(
        "{} {}\n{}",
        shown.label,
        format::integer(value),
        fill(
            shown.texts.usage_short,
            &[
                ("used", &format::gib(device.total())),
                ("total", &format::gib(device.capacity)),
            ],
        )
    ))
}

/// Colours and names in the order of the stack, from the bottom.
pub(super) fn legend(ui: &mut Ui, shown: &Shown<'_>) {
    ui.add_space(GRID);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = GRID;
        widgets::dot(ui, shown.tokens.in_use);
        widgets::fact(ui, shown.texts.in_use);
        for category in categories(shown) {
            ui.add_space(2.0 * GRID);
            widgets::dot(ui, shown.tokens.category(category));
            widgets::fact(ui, shown.texts.category(category));
        }
        ui.add_space(3.0 * GRID);
        widgets::fact(ui, shown.texts.click_to_set);
    });
}
