//! A repository on a hub, as rows of the list of models.

use eframe::egui::{Align, Label, Layout, RichText, Ui};

use crate::app::command::{Command, Queue};
use crate::app::models::ModelCommand;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{GRID, Tokens};
use crate::app::widgets;
use crate::plain::one_line;
use crate::report::Verdict;
use crate::source::hub::{Address, Choice, Role};
use crate::units::Bytes;

use super::context::Inputs;

/// Room beside a button's word.
const BUTTON: f32 = 3.0 * GRID;

/// What can be asked for, or what there is to choose from.
pub(super) fn rows(context: &Inputs<'_>, typed: &str) -> Vec<widgets::Found<ModelCommand>> {
    let (texts, remote) = (context.texts, context.remote);
    let typed = typed.trim();
    let known = remote.listing.as_deref();
    if known.is_none() || typed != remote.asked && !typed.is_empty() {
        let ready = Address::is_meant(typed) && remote.is_reachable();
        let row = widgets::Found {
            name: fill(texts.fetch_named, &[("name", &one_line(typed))]),
            remark: texts.fetch_remark.to_owned(),
            stays: true,
            hover: texts.fetch_help.to_owned(),
            what: Some(ModelCommand::Fetch(typed.to_owned())),
        };
        return ready.then_some(row).into_iter().collect();
    }
    let choices = known.map_or(&[][..], |listing| &listing.choices);
    let row = |(place, choice): (usize, &Choice)| {
        let verdict = remote.verdicts.get(place).copied().flatten();
        row(texts, place, choice, verdict)
    };
    choices.iter().enumerate().map(row).collect()
}

fn row(
    texts: &Texts,
    place: usize,
    choice: &Choice,
    verdict: Option<Verdict>,
) -> widgets::Found<ModelCommand> {
    let mut facts = vec![choice.container.name().to_owned()];
    facts.push(Bytes::new(choice.bytes).to_string());
    if choice.files.len() > 1 {
        let count = choice.files.len().to_string();
        facts.push(fill(texts.parts, &[("count", &count)]));
    }
    let may = choice.role == Role::Model && choice.missing == 0;
    if choice.missing > 0 {
        let count = choice.missing.to_string();
        facts.push(fill(texts.parts_missing, &[("count", &count)]));
    }
    facts.extend(verdict.map(|verdict| {
        let word = match verdict {
            Verdict::Fits => texts.fits,
            Verdict::Tight => texts.tight,
            Verdict::Exceeds => texts.exceeds,
            Verdict::Refused => texts.refused,
        };
        word.to_lowercase()
    }));
    let files: Vec<String> = choice.files.iter().map(|file| one_line(file)).collect();
    widgets::Found {
        name: one_line(&choice.label),
        remark: facts.join(" · "),
        stays: true,
        hover: files.join("\n"),
        what: may.then_some(ModelCommand::OpenChoice(place)),
    }
}

/// How far reading is, or what stood in the way.
pub(super) fn below(ui: &mut Ui, context: &Inputs<'_>, typed: &str, queue: &mut Queue) {
    let (texts, remote) = (context.texts, context.remote);
    ui.separator();
    if let Some((what, bytes)) = &remote.progress {
        ui.horizontal(|ui| {
            ui.spinner();
            let stop = Command::Models(ModelCommand::StopFetch);
            if widgets::link(ui, stop.text(texts)).clicked() {
                queue.send(stop);
            }
            let size = Bytes::new(*bytes).to_string();
            let text = fill(texts.fetching, &[("what", what), ("size", &size)]);
            widgets::line(ui, &text);
        });
        return;
    }
    if let Some(problem) = &remote.problem {
        let text = RichText::new(problem).color(Tokens::of(ui).bad);
        // A list stretches what stands in it, the gaps between words too.
        ui.with_layout(Layout::top_down(Align::Min), |ui| {
            ui.add(Label::new(text).wrap());
        });
    }
    match &remote.listing {
        Some(listing) => {
            let words = [
                ("name", listing.repository.as_str()),
                ("commit", listing.commit.get(..7).unwrap_or(&listing.commit)),
            ];
            widgets::fact(ui, one_line(&fill(texts.listed, &words)));
        }
        None if remote.is_reachable() => {
            widgets::fact(ui, texts.hub_help);
        }
        None => {
            widgets::fact(ui, texts.no_hub);
        }
    }
    let ready = Address::is_meant(typed) && remote.is_reachable();
    ui.add_space(GRID);
    ui.add_enabled_ui(ready, |ui| {
        let fetch = Command::Models(ModelCommand::Fetch(typed.to_owned()));
        // As wide as its word: a list stretches what stands in it.
        ui.horizontal(|ui| {
            ui.spacing_mut().button_padding.x = BUTTON;
            if widgets::ghost(ui, fetch.text(texts))
                .on_hover_text(fetch.hover(texts, ui.ctx()))
                .clicked()
            {
                queue.send(fetch);
            }
        });
    });
}
