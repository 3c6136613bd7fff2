//! What to do: the search for the best settings, what it chose, and changes that would mend the plan.

use eframe::egui::text::LayoutJob;
use eframe::egui::{Button, Label, Popup, PopupCloseBehavior, RichText, Sense, TextStyle, Ui};

use crate::advisor::{Impossible, Objective};
use crate::app::command::{Command, Queue};
use crate::app::fitting::{self, Answer, Applied};
use crate::app::pins;
use crate::app::tab::Tab;
use crate::app::texts::{Texts, fill};
use crate::app::theme::Tokens;
use crate::app::widgets;
use crate::engine::{self, setting};
use crate::plan::{Plan, Settings, Value};
use crate::projection::{Fix, Note, Severity};
use crate::report::{Report, Verdict};

use super::context::Picture;
use super::notes;
use super::options;

/// Most changes offered.
const FIXES: usize = 3;
/// Most letters on a chip: a longer one would be wider than a narrow picture.
const CHIP: usize = 56;
/// Width of a letter of small print, in points, with its part of the chip around it.
const LETTER: f32 = 7.5;
/// A search that takes longer, in seconds, is seen to be under way.
const PATIENCE: f64 = 0.1;
/// Height of a row, kept where there is nothing to say, so that the picture does not jump.
const ROW: f32 = 24.0;

/// Shows the row that asks for the best settings, and below it what came of it or what would help.
pub(super) fn advice(
    ui: &mut Ui,
    context: &Picture<'_>,
    report: &Report,
    plan: &mut Plan,
    queue: &mut Queue,
) {
    ui.horizontal_wrapped(|ui| {
        ui.set_min_height(ROW);
        ui.spacing_mut().item_spacing.x = 6.0;
        objectives(ui, context, plan, queue);
    });
    let top = ui.cursor().top();
    came_of_it(ui, context, report, plan, queue);
    let used = ui.cursor().top() - top;
    ui.add_space((2.0 * ROW - used).max(0.0));
}

/// What came of the search, or what would help.
fn came_of_it(
    ui: &mut Ui,
    context: &Picture<'_>,
    report: &Report,
    plan: &mut Plan,
    queue: &mut Queue,
) {
    let texts = context.texts;
    let impossible = matches!(
        context.answer.map(|(answer, fresh)| (&**answer, fresh)),
        Some((Answer::Impossible(_), true))
    );
    if let Some(applied) = context.fitting.in_force(&context.live.settings)
        && !impossible
    {
        chose(ui, texts, applied, queue);
        return;
    }
    ui.horizontal_wrapped(|ui| {
        match context.answer.map(|(answer, fresh)| (&**answer, fresh)) {
            Some((Answer::Impossible(impossible), true)) => {
                if !is_said(report, &impossible.message) {
                    let text = RichText::new(&impossible.message).color(Tokens::of(ui).bad);
                    ui.add(Label::new(text).wrap());
                }
                way_out(ui, texts, impossible, plan, queue);
                return;
            }
            Some((Answer::Wrong(reason), true)) => {
                widgets::fact(ui, sentence(reason));
            }
            _ => {}
        }
        fixes(ui, texts, report, plan);
    });
}

fn objectives(ui: &mut Ui, context: &Picture<'_>, plan: &mut Plan, queue: &mut Queue) {
    let texts = context.texts;
    let fit = Command::Fit(None);
    if widgets::chip_accent(ui, fit.text(texts))
        .on_hover_text(fit.hover(texts, ui.ctx()))
        .clicked()
    {
        queue.send(fit);
    }
    let chosen = fitting::objective(&plan.fit);
    for objective in Objective::ALL {
        let name = texts.objective(objective);
        if widgets::chip(ui, name, objective == chosen)
            .on_hover_text(texts.objectives_help)
            .clicked()
        {
            queue.send(Command::Fit(Some(objective)));
        }
    }
    pinned(ui, texts, plan);
    if let Some(since) = context.fitting.wanted {
        let waited = ui.input(|input| input.time) - since;
        if waited > PATIENCE {
            ui.spinner();
            widgets::fact(ui, texts.searching);
        } else {
            let rest = (PATIENCE - waited) as f32;
            ui.ctx().request_repaint_after_secs(rest);
        }
    }
}

/// What the search must leave alone, and how to let it: a menu.
fn pinned(ui: &mut Ui, texts: &Texts, plan: &mut Plan) {
    if plan.fit.pinned.is_empty() {
        return;
    }
    let engine = engine::find(&plan.engine);
    let label = |name: &String| {
        let setting = engine.and_then(|engine| setting::find(engine, name));
        setting.map_or_else(|| name.clone(), |setting| setting.label.to_owned())
    };
    let count = plan.fit.pinned.len().to_string();
    let link = widgets::link(ui, &fill(texts.pinned_count, &[("count", &count)]));
    let mut gone = Vec::new();
    let menu = Popup::menu(&link).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    menu.show(|ui| {
        for name in &plan.fit.pinned {
            let unpin = fill(texts.unpin, &[("setting", &label(name))]);
            if ui.add(Button::new(unpin)).clicked() {
                gone.push(name.clone());
            }
        }
        ui.separator();
        let all = ui.add(Button::new(texts.unpin_all));
        if all.on_hover_text(texts.unpin_all_help).clicked() {
            gone.clone_from(&plan.fit.pinned);
            ui.close();
        }
    });
    link.on_hover_text(texts.pinned_menu_help);
    for name in gone {
        pins::unpin(&mut plan.fit, &name);
    }
}

/// Does the verdict above give this reason already?
fn is_said(report: &Report, reason: &str) -> bool {
    let mut errors = report
        .notes
        .iter()
        .filter(|note| note.severity == Severity::Error);
    errors.any(|error| reason.ends_with(&error.message))
}

/// Which pin would have to give.
fn way_out(
    ui: &mut Ui,
    texts: &Texts,
    impossible: &Impossible,
    plan: &mut Plan,
    queue: &mut Queue,
) {
    let Impossible {
        pin,
        message: _,
        set,
        gain,
    } = impossible;
    if let Some(pin) = pin {
        let engine = engine::find(&plan.engine);
        let setting = engine.and_then(|engine| setting::find(engine, pin));
        let label = setting.map_or(pin.as_str(), |setting| setting.label);
        if widgets::chip(ui, &fill(texts.unpin_and_fit, &[("setting", label)]), false).clicked() {
            queue.send(Command::Unpin(vec![pin.clone()]));
        }
    }
    if !set.is_empty() {
        let fix = Fix {
            set: set.clone(),
            gain: *gain,
        };
        // What changes may take more words than there is room for.
        let changes = notes::fix_text(texts, plan, &fix);
        if widgets::chip(ui, texts.make_it_fit, false)
            .on_hover_text(changes)
            .clicked()
        {
            notes::apply(plan, &fix);
        }
    }
}

/// What was chosen, and what it gave up.
fn chose(ui: &mut Ui, texts: &Texts, applied: &Applied, queue: &mut Queue) {
    let Applied {
        objective,
        found,
        before,
    } = applied;
    let figures = options::sentence(texts, found);
    let nothing_new = *before == found.settings;
    let template = if nothing_new {
        texts.chose_nothing_new
    } else {
        texts.chose
    };
    let objective = texts.objective(*objective);
    let mut text = fill(template, &[("objective", objective), ("figures", &figures)]);
    if !found.choice.gives_up.is_empty() {
        text += &fill(texts.gave_up, &[("what", &found.choice.gives_up)]);
    }
    ui.horizontal_top(|ui| {
        // The link keeps its place behind the sentence, which has two lines.
        let font = TextStyle::Body.resolve(ui.style());
        let width = (ui.available_width() - 96.0).max(160.0);
        let mut job = LayoutJob::simple(text, font, Tokens::of(ui).text, width);
        job.wrap.max_rows = 2;
        let sentence = ui.painter().layout_job(job);
        ui.add(Label::new(sentence).sense(Sense::hover()))
            .on_hover_ui(|ui| options::details(ui, texts, found));
        let show = Command::Show(Tab::Options);
        if widgets::link(ui, texts.other_choices)
            .on_hover_text(show.hover(texts, ui.ctx()))
            .clicked()
        {
            queue.send(show);
        }
    });
}

fn fixes(ui: &mut Ui, texts: &Texts, report: &Report, plan: &mut Plan) {
    let refused = report.verdict == Verdict::Refused;
    let helps = |note: &&Note| {
        if refused {
            note.severity == Severity::Error
        } else {
            note.fix.as_ref().is_some_and(|fix| fix.gain.is_some())
        }
    };
    let of_notes = report.notes.iter().filter(helps);
    let mut fixes: Vec<(Fix, &str)> = of_notes
        .filter_map(|note| Some((note.fix.clone()?, note.message.as_str())))
        .collect();
    let tight = report.verdict == Verdict::Tight && !report.margin_kept_by_engine();
    if tight && let Some(fix) = shorter_context(report, plan) {
        fixes.push((fix, texts.fits_up_to_help));
    }
    for (fix, why) in fixes.iter().take(FIXES) {
        let changes = notes::fix_text(texts, plan, fix);
        // A chip is no wider than the picture.
        let letters = (ui.max_rect().width() / LETTER) as usize;
        let short = shortened(&changes, letters.min(CHIP));
        let help = if short == changes {
            (*why).to_owned()
        } else {
            format!("{changes}\n{why}")
        };
        if widgets::chip(ui, &short, false)
            .on_hover_text(help)
            .clicked()
        {
            notes::apply(plan, fix);
        }
    }
}

/// The longest context that fits, where that is less than the plan's.
fn shorter_context(report: &Report, plan: &Plan) -> Option<Fix> {
    let axis = engine::find(&plan.engine)?.axes().first()?.setting;
    let most = i64::try_from(report.derived.max_context_tokens?).ok()?;
    let Some(Value::Integer(now)) = report.settings.get(axis) else {
        return None;
    };
    let mut set = Settings::new();
    set.insert(axis.to_owned(), Value::Integer(most));
    (*now > most).then_some(Fix { set, gain: None })
}

/// A text that fits onto a chip.
fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(letters).collect();
    short.push('…');
    short
}

/// A reason as a sentence of its own.
fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
