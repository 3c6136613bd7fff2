//! Processor time of one frame of the whole window, without a display. `cargo bench --bench frame`

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui::{Context, Event, Pos2, RawInput, Rect, Vec2};
use plimsoll::app::chooser::{PathChooser, PathRequest};
use plimsoll::app::jobs::Threads;
use plimsoll::app::preferences::Preferences;
use plimsoll::app::tab::Tab;
use plimsoll::app::{App, Surroundings};
use plimsoll::hardware::detection::Detection;
use plimsoll::hardware::facts::HostFacts;
use plimsoll::hardware::{Host, Machine, Os};
use plimsoll::plan::{MachineRef, Plan, Value};
use plimsoll::units::Bytes;

fn main() {
    divan::main();
}

struct NoDialogs;

impl PathChooser for NoDialogs {
    fn choose(&self, _: &PathRequest) -> Option<PathBuf> {
        None
    }
}

struct Bench {
    context: Context,
    app: App,
}

impl Bench {
    fn new(tab: Tab) -> Self {
        let context = Context::default();
        let mut app = App::new(
            &context,
            Preferences::default(),
            Surroundings {
                chooser: Arc::new(NoDialogs),
                detector: Arc::new(|_| nothing()),
                threads: Threads::Inline,
                preferences_file: None,
                presets: None,
                places: None,
                hub: None,
                open: None,
            },
        );
        let Plan {
            model,
            machine,
            settings,
            ..
        } = &mut app.document.plan;
        model.preset = Some("DeepSeek-R1".to_owned());
        *machine = Some(MachineRef {
            preset: Some("8x-h200".to_owned()),
            ..MachineRef::default()
        });
        // A plan made in the window writes its choices out.
        settings.insert("n_gpu_layers".to_owned(), Value::Text("all".to_owned()));
        settings.insert("ctx_size".to_owned(), Value::Integer(16_384));
        app.state.tab = tab;
        let mut bench = Self { context, app };
        for _ in 0..8 {
            bench.frame(None);
        }
        bench
    }

    /// One frame with everything that the processor does for it: layout, and triangles for the GPU.
    fn frame(&mut self, pointer: Option<Pos2>) -> usize {
        let Self { context, app } = self;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, Vec2::new(1440.0, 900.0))),
            events: pointer.map(Event::PointerMoved).into_iter().collect(),
            ..RawInput::default()
        };
        let mut output = context.run_ui(input, |ui| app.ui(ui));
        let shapes = std::mem::take(&mut output.shapes);
        let triangles = context.tessellate(shapes, output.pixels_per_point).len();
        output.drop_without_applying_deltas();
        triangles
    }
}

fn nothing() -> Detection {
    Detection {
        machine: Machine {
            name: "Bench".to_owned(),
            os: Os::Linux,
            host: Host::with_ram(Bytes::from_gib(64)),
            gpus: Vec::new(),
            nodes: 1,
        },
        cards: Vec::new(),
        host: HostFacts::default(),
        findings: Vec::new(),
    }
}

/// Nothing changed, the pointer moves over the picture.
#[divan::bench(args = [Tab::Memory, Tab::Curves])]
fn pointer_moves(bencher: divan::Bencher, tab: Tab) {
    let mut bench = Bench::new(tab);
    let mut x = 400.0;
    bencher.bench_local(|| {
        x = if x > 900.0 { 400.0 } else { x + 7.0 };
        bench.frame(Some(Pos2::new(x, 300.0)))
    });
}

/// The context changes in every frame, as while its slider is dragged.
#[divan::bench]
fn context_is_dragged(bencher: divan::Bencher) {
    let mut bench = Bench::new(Tab::Memory);
    let mut tokens = 4096;
    bencher.bench_local(|| {
        tokens = if tokens > 131_072 { 4096 } else { tokens + 256 };
        let settings = &mut bench.app.document.plan.settings;
        settings.insert("ctx_size".to_owned(), Value::Integer(tokens));
        bench.frame(None)
    });
}
