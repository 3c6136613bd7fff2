//! The application on a desk without a display: a machine that is made up, dialogs that answer by themselves, and no
//! threads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use eframe::egui::{
    DroppedFile, Key, Modifiers, Role, Theme, ViewportCommand, ViewportEvent, ViewportId,
};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, Node};
use plimsoll::app::chooser::{PathChooser, PathRequest};
use plimsoll::app::jobs::Threads;
use plimsoll::app::preferences::Preferences;
use plimsoll::app::{App, HubMaker, Surroundings, theme};
use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::MachineCatalog;
use plimsoll::hardware::Os;
use plimsoll::hardware::detection::{DetectedCard, Detection};
use plimsoll::hardware::facts::{CardFacts, HostFacts};
use plimsoll::source::library::Places;
use plimsoll::units::Bytes;

use crate::pixels::Rasteriser;

/// A dialog that answers what the test put there; nothing there means that there is no dialog.
#[derive(Default)]
pub(crate) struct Answers {
    answer: Mutex<Option<PathBuf>>,
    asked: Mutex<Vec<String>>,
}

impl PathChooser for Answers {
    fn choose(&self, request: &PathRequest) -> Option<PathBuf> {
        self.asked.lock().unwrap().push(request.file_name.clone());
        self.answer.lock().unwrap().clone()
    }
}

/// The application, made in its first frame.
#[derive(Default)]
pub(crate) struct Stage {
    app: Option<App>,
    pieces: Option<Surroundings>,
}

pub(crate) struct Desk {
    pub(crate) harness: Harness<'static, Stage>,
    answers: Arc<Answers>,
}

/// A detected machine like a preset of the catalogue.
pub(crate) fn detected(preset: &str) -> Detection {
    let machines = MachineCatalog::embedded().unwrap();
    let gpus = GpuCatalog::embedded().unwrap();
    let mut machine = machines.find(preset).unwrap().machine(&gpus).unwrap();
    machine.host.in_use = Bytes::from_gib(6);
    for (index, gpu) in machine.gpus.iter_mut().enumerate() {
        gpu.uuid = Some(format!("GPU-{index}"));
        gpu.memory.in_use = Bytes::from_mib(640);
    }
    let cards = machine
        .gpus
        .iter()
        .map(|gpu| DetectedCard {
            id: gpu.uuid.clone().unwrap(),
            gpu: gpu.clone(),
            facts: CardFacts::default(),
            aside: None,
        })
        .collect();
    Detection {
        cards,
        machine,
        host: HostFacts::default(),
        findings: Vec::new(),
    }
}

/// What somebody has.
#[derive(Default)]
pub(crate) struct Belongings {
    /// The home folder, where programs keep models.
    pub(crate) home: Option<PathBuf>,
    /// Folders in which to look for models.
    pub(crate) folders: Vec<PathBuf>,
    /// The folder of own presets.
    pub(crate) presets: Option<PathBuf>,
    /// How a hub is reached.
    pub(crate) hub: Option<HubMaker>,
}

impl Desk {
    /// A window on a machine like this preset.
    pub(crate) fn new(preset: &str) -> Self {
        Self::open(detected(preset), None, Theme::Dark, [1440.0, 900.0])
    }

    /// A window that opens a file at first.
    pub(crate) fn opening(preset: &str, file: &Path) -> Self {
        Self::open(detected(preset), Some(file), Theme::Dark, [1440.0, 900.0])
    }

    pub(crate) fn open(
        detection: Detection,
        file: Option<&Path>,
        theme: Theme,
        size: [f32; 2],
    ) -> Self {
        Self::with(detection, file, theme, size, Belongings::default())
    }

    /// A window of somebody who has models, folders and presets.
    pub(crate) fn with(
        detection: Detection,
        file: Option<&Path>,
        theme: Theme,
        size: [f32; 2],
        own: Belongings,
    ) -> Self {
        let preferences = Preferences {
            model_folders: own.folders,
            ..Preferences::default()
        };
        let answers = Arc::new(Answers::default());
        let chooser: Arc<dyn PathChooser> = Arc::clone(&answers) as Arc<dyn PathChooser>;
        let stage = Stage {
            app: None,
            pieces: Some(Surroundings {
                chooser,
                detector: Arc::new(move |_| detection.clone()),
                threads: Threads::Inline,
                preferences_file: None,
                presets: own.presets,
                places: own.home.map(|home| Places {
                    root: home.join("root"),
                    home: Some(home),
                    environment: BTreeMap::new(),
                    os: Os::Linux,
                }),
                hub: own.hub,
                open: file.map(Path::to_owned),
            }),
        };
        let harness = Harness::builder()
            .with_size(size)
            .with_pixels_per_point(1.0)
            .with_theme(theme)
            .with_max_steps(12)
            .renderer(Rasteriser::default())
            .with_context_setup(move |context| {
                theme::install(context);
                context.set_theme(theme);
            })
            .build_ui_state(
                move |ui, stage: &mut Stage| {
                    let Stage { app, pieces } = stage;
                    let app = app.get_or_insert_with(|| {
                        let theme = ui.ctx().theme();
                        let app = App::new(ui.ctx(), preferences.clone(), pieces.take().unwrap());
                        ui.ctx().set_theme(theme);
                        app
                    });
                    app.ui(ui);
                },
                stage,
            );
        let mut desk = Self { harness, answers };
        desk.run();
        desk
    }

    pub(crate) fn run(&mut self) {
        self.harness.run();
    }

    pub(crate) fn app(&self) -> &App {
        self.harness.state().app.as_ref().unwrap()
    }

    /// What the next dialog answers.
    pub(crate) fn answer(&self, path: &Path) {
        *self.answers.answer.lock().unwrap() = Some(path.to_owned());
    }

    /// Names that were suggested in dialogs.
    pub(crate) fn suggested(&self) -> Vec<String> {
        self.answers.asked.lock().unwrap().clone()
    }

    pub(crate) fn node<'a>(&'a self, role: Role, label: &'a str) -> Node<'a> {
        self.harness.get_by_role_and_label(role, label)
    }

    pub(crate) fn click(&mut self, role: Role, label: &str) {
        self.node(role, label).scroll_to_me();
        self.run();
        self.node(role, label).click();
        self.run();
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.harness
            .event(eframe::egui::Event::Text(text.to_owned()));
        self.run();
    }

    pub(crate) fn key(&mut self, key: Key) {
        self.harness.key_press(key);
        self.run();
    }

    pub(crate) fn command(&mut self, key: Key) {
        self.harness.key_press_modifiers(Modifiers::COMMAND, key);
        self.run();
    }

    /// Chooses from the list behind a field by searching.
    pub(crate) fn search(&mut self, field: &str, text: &str) {
        self.click(Role::ComboBox, field);
        self.type_text(text);
        self.key(Key::Enter);
    }

    /// Chooses a word from a drop-down list.
    pub(crate) fn choose(&mut self, field: &str, word: &str) {
        self.click(Role::ComboBox, field);
        self.click(Role::ListBoxOption, word);
    }

    /// Moves a slider as assistive technology does.
    pub(crate) fn slide(&mut self, name: &str, value: i64) {
        self.node(Role::Slider, name).scroll_to_me();
        self.run();
        self.node(Role::Slider, name)
            .set_value_accesskit(value as f64);
        self.run();
    }

    /// Every label and name in the window that contains `text`.
    pub(crate) fn texts_with(&self, text: &str) -> Vec<String> {
        self.harness
            .query_all_by(|node| {
                let has = |found: Option<String>| found.is_some_and(|found| found.contains(text));
                has(node.label()) || has(node.value()) || has(node.placeholder().map(str::to_owned))
            })
            .map(|node| {
                let node = node.accesskit_node();
                node.label().or_else(|| node.value()).unwrap_or_default()
            })
            .collect()
    }

    #[track_caller]
    pub(crate) fn sees(&self, text: &str) {
        assert!(!self.texts_with(text).is_empty(), "nothing says `{text}`");
    }

    #[track_caller]
    pub(crate) fn misses(&self, text: &str) {
        let found = self.texts_with(text);
        assert!(found.is_empty(), "something says `{text}`: {found:?}");
    }

    /// GiB of a row of the table on a device, as a screen reader says them.
    #[track_caller]
    pub(crate) fn figure(&self, row: &str, device: &str) -> f64 {
        let start = format!("{row}, ");
        let rows = self.texts_with(&start);
        let row = rows
            .iter()
            .find(|spoken| spoken.starts_with(&start) && spoken.contains(" GiB"))
            .unwrap_or_else(|| panic!("no row `{row}` among {rows:?}"));
        let part = row
            .split(", ")
            .find_map(|part| part.strip_prefix(device))
            .unwrap_or_else(|| panic!("no {device} in `{row}`"));
        part.trim().trim_end_matches(" GiB").parse().unwrap()
    }
}

impl Desk {
    /// Replaces the text of a field.
    pub(crate) fn replace_text(&mut self, field: &str, text: &str) {
        self.node(Role::TextInput, field).focus();
        self.run();
        self.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        self.run();
        self.type_text(text);
    }

    /// How many cards can be ticked.
    pub(crate) fn check_boxes(&self) -> usize {
        self.harness.query_all_by_role(Role::CheckBox).count()
    }

    /// Ticks or unticks a card.
    pub(crate) fn tick(&mut self, index: usize) {
        let node = self
            .harness
            .query_all_by_role(Role::CheckBox)
            .nth(index)
            .unwrap();
        node.click();
        self.run();
    }

    /// Closes the window as its frame would; says whether the window refused.
    pub(crate) fn close(&mut self) -> bool {
        let viewports = &mut self.harness.input_mut().viewports;
        let root = viewports.entry(ViewportId::ROOT).or_default();
        root.events.push(ViewportEvent::Close);
        self.harness.step();
        let refused = self
            .harness
            .output()
            .viewport_output
            .values()
            .flat_map(|viewport| &viewport.commands)
            .any(|command| *command == ViewportCommand::CancelClose);
        let viewports = &mut self.harness.input_mut().viewports;
        viewports
            .entry(ViewportId::ROOT)
            .or_default()
            .events
            .clear();
        self.run();
        refused
    }

    /// Lets a file fall on the window.
    pub(crate) fn drop_file(&mut self, path: &Path) {
        let dropped = Arc::new(Dropped(path.to_owned()));
        self.harness.input_mut().dropped_files.push(dropped);
        self.run();
    }
}

/// A file that falls on the window.
#[derive(Debug)]
struct Dropped(PathBuf);

impl DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("the window reads what it opens by itself".to_owned())
    }
}
