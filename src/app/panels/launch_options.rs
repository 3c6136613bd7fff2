//! What a launch needs beside memory: where the model is, where to listen.

use eframe::egui::{CollapsingHeader, Label, RichText, Ui};

use crate::app::state::SetAside;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets::{self, NumberField};
use crate::plan::LaunchOptions;

/// Shows the options, folded away at first.
pub(super) fn options(ui: &mut Ui, texts: &Texts, options: &mut LaunchOptions, usual_port: u16) {
    let title = RichText::new(texts.launch_options).text_style(theme::small());
    CollapsingHeader::new(title)
        .id_salt("launch options")
        .show_unindented(ui, |ui| {
            let LaunchOptions {
                model_path,
                hf_repo,
                host,
                port,
                api_key_env,
                extra_args,
                // Named in the plan's file.
                draft_path: _,
                mmproj_path: _,
                lora_paths: _,
                control_vector_paths: _,
                // Chosen with the machine.
                gpus: _,
            } = options;
            text(ui, texts.model_path, texts.model_path_help, model_path);
            text(ui, texts.repository, texts.repository_help, hf_repo);
            text(ui, texts.host, texts.host_help, host);
            port_ui(ui, texts, port, usual_port);
            text(ui, texts.api_key, texts.api_key_help, api_key_env);
            arguments(ui, texts, extra_args);
        });
}

/// Says that the last model's file was left behind with it, and offers it again; nothing where none was.
pub(super) fn set_aside(
    ui: &mut Ui,
    texts: &Texts,
    options: &mut LaunchOptions,
    set_aside: &mut Option<SetAside>,
) {
    let Some(SetAside {
        model_path,
        hf_repo,
    }) = set_aside
    else {
        return;
    };
    let source = model_path.as_ref().or(hf_repo.as_ref());
    let text = fill(
        texts.source_set_aside,
        &[("source", source.map_or("", String::as_str))],
    );
    ui.add_space(GRID);
    ui.add(Label::new(RichText::new(text).color(Tokens::of(ui).warn)).wrap());
    let mut answered = false;
    ui.horizontal(|ui| {
        if widgets::link(ui, texts.use_it_again).clicked() {
            options.model_path = model_path.take();
            options.hf_repo = hf_repo.take();
            answered = true;
        }
        ui.add_space(GRID);
        answered |= widgets::link(ui, texts.leave_it).clicked();
    });
    // Another file that the user names is an answer too.
    if answered || options.model_path.is_some() || options.hf_repo.is_some() {
        *set_aside = None;
    }
}

fn text(ui: &mut Ui, label: &str, help: &str, value: &mut Option<String>) {
    let mut written = value.clone().unwrap_or_default();
    widgets::row(ui, RichText::new(label), help, |ui| {
        let field = widgets::line_edit(&mut written).desired_width(200.0);
        if ui
            .add(field)
            .accessible_name(label)
            .on_hover_text(help)
            .changed()
        {
            *value = (!written.is_empty()).then_some(written);
        }
    });
}

fn port_ui(ui: &mut Ui, texts: &Texts, port: &mut Option<u16>, usual: u16) {
    widgets::row(ui, RichText::new(texts.port), texts.port_help, |ui| {
        let field = NumberField {
            name: texts.port,
            range: (1.0, f64::from(u16::MAX)),
            speed: 0.2,
            decimals: 0,
            prefix: "",
            suffix: "",
        };
        if let (_, Some(number)) = field.show(ui, f64::from(port.unwrap_or(usual))) {
            *port = Some(number as u16);
        }
        if port.is_some() {
            let name = fill(texts.reset, &[("setting", texts.port)]);
            if widgets::reset(ui, &name, true).clicked() {
                *port = None;
            }
        }
    });
}

/// Words as in a shell.
fn arguments(ui: &mut Ui, texts: &Texts, arguments: &mut Vec<String>) {
    let id = ui.scope_id().with("arguments");
    let written = shlex::try_join(arguments.iter().map(String::as_str)).unwrap_or_default();
    // What is being typed need not be complete.
    let draft: Option<String> = ui.data(|data| data.get_temp(id));
    let mut line = draft
        .filter(|draft| shlex::split(draft).is_none_or(|words| words == *arguments))
        .unwrap_or(written);
    widgets::row(ui, RichText::new(texts.further), texts.further_help, |ui| {
        let field = widgets::line_edit(&mut line).desired_width(200.0);
        let response = ui
            .add(field)
            .accessible_name(texts.further)
            .on_hover_text(texts.further_help);
        if response.changed() {
            if let Some(words) = shlex::split(&line) {
                *arguments = words;
            }
            ui.data_mut(|data| data.insert_temp(id, line));
        }
    });
}
