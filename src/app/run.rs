//! From the command line to a window, and what to say where there can be none.

use std::panic;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use eframe::egui::{Context, Event, RawInput, Ui, Vec2, ViewportBuilder};

use crate::catalog::gpus::GpuCatalog;
use crate::hardware::probe::{self, Sources};
use crate::source::hub::Hub;
use crate::source::library::Places;
use crate::store::Folders;

use super::chooser::DesktopChooser;
use super::jobs::Threads;
use super::preferences::{Colours, Preferences};
use super::screenshot::Screenshot;
use super::{App, HubMaker, Surroundings, icon};

/// Smallest window, in points: below this, figures would be cut off.
const SMALLEST: Vec2 = Vec2::new(960.0, 540.0);

/// What the command line asks of the window.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Plan file, model file or folder to open.
    pub path: Option<PathBuf>,
    /// Where to save a picture of the window, which then closes.
    pub screenshot: Option<PathBuf>,
    /// Inner size in points ("1280x720").
    pub size: Option<String>,
    /// "dark" or "light".
    pub theme: Option<String>,
}

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No X11 or Wayland.
    #[error(
        "there is no display for the window; the command line needs none: `plimsoll project PLAN` \
         (`plimsoll --help` lists all commands)"
    )]
    NoDisplay,
    /// Libraries of the desktop.
    #[error(
        "a library of the desktop is missing, so the window cannot open (Debian: apt install libx11-6 libx11-xcb1 \
         libxcursor1 libxi6 libxkbcommon-x11-0 libgl1); the command line needs none: `plimsoll project PLAN`"
    )]
    MissingLibrary,
    /// OpenGL.
    #[error(
        "OpenGL is missing or too old here, so the window cannot be drawn (Debian: apt install libgl1 \
         libgl1-mesa-dri draws without a GPU); the command line needs none: `plimsoll project PLAN`"
    )]
    NoOpenGl,
    /// `--size`.
    #[error("`{0}` is no window size; write for example 1280x720")]
    Size(String),
    /// `--theme`.
    #[error("`{0}` is no theme; write dark or light")]
    Theme(String),
    /// `--screenshot`.
    #[error("no picture was saved: {0}")]
    Screenshot(String),
}

/// Opens the window and waits until it is closed.
///
/// # Errors
/// There can be no window here, or an option makes no sense.
pub fn run(options: Options) -> Result<(), Error> {
    let Options {
        path,
        screenshot,
        size,
        theme,
    } = options;
    // A picture shows what comes with the program, whatever this user's taste; and it leaves no traces.
    let folders = match &screenshot {
        Some(_) => None,
        None => Folders::of_user().ok(),
    };
    let file = folders.as_ref().map(Folders::preferences);
    let mut preferences = file
        .as_deref()
        .map_or_else(Preferences::default, Preferences::read);
    if let Some(theme) = theme {
        preferences.theme = colours(&theme)?;
    }
    let size = match size {
        Some(size) => window_size(&size)?,
        None => preferences.window_size(),
    };
    let screenshot = screenshot.map(Screenshot::new);
    let surroundings = Surroundings {
        chooser: Arc::new(DesktopChooser),
        detector: Arc::new(|progress| {
            let sources = Sources::from_environment(|name| std::env::var(name).ok());
            match GpuCatalog::embedded() {
                Ok(gpus) => gpus.detect(&sources, progress),
                Err(_) => probe::detect(&sources, progress),
            }
        }),
        threads: Threads::Real,
        preferences_file: file,
        presets: folders.as_ref().map(Folders::presets),
        places: folders.as_ref().map(|_| Places::of_user()),
        hub: folders.as_ref().map(|_| {
            let hub: HubMaker = Arc::new(Hub::of_user);
            hub
        }),
        open: path,
    };
    open(preferences, surroundings, size, screenshot.clone())?;
    screenshot.map_or(Ok(()), |screenshot| {
        screenshot.outcome().map_err(Error::Screenshot)
    })
}

fn colours(theme: &str) -> Result<Colours, Error> {
    match theme {
        "dark" => Ok(Colours::Dark),
        "light" => Ok(Colours::Light),
        other => Err(Error::Theme(other.to_owned())),
    }
}

fn window_size(size: &str) -> Result<[f32; 2], Error> {
    let parsed = size.split_once('x').and_then(|(width, height)| {
        Some([width.parse::<u16>().ok()?, height.parse::<u16>().ok()?])
    });
    match parsed {
        // As small as a window can be made by hand, and no smaller.
        Some([width, height]) if width > 0 && height > 0 => Ok([
            f32::from(width).max(SMALLEST.x),
            f32::from(height).max(SMALLEST.y),
        ]),
        _ => Err(Error::Size(size.to_owned())),
    }
}

fn open(
    preferences: Preferences,
    surroundings: Surroundings,
    size: [f32; 2],
    screenshot: Option<Screenshot>,
) -> Result<(), Error> {
    let mut viewport = ViewportBuilder::default()
        .with_title("Plimsoll")
        .with_app_id("plimsoll")
        .with_inner_size(size)
        .with_icon(icon::window_icon());
    if screenshot.is_none() {
        viewport = viewport.with_min_inner_size(SMALLEST);
    }
    let options = eframe::NativeOptions {
        viewport,
        renderer: eframe::Renderer::Glow,
        ..eframe::NativeOptions::default()
    };
    let started = Arc::new(AtomicBool::new(false));
    let inside = Arc::clone(&started);
    quietly_until(&started, move || {
        eframe::run_native(
            "plimsoll",
            options,
            Box::new(move |creation| {
                let app = App::new(&creation.egui_ctx, preferences, surroundings);
                Ok(Box::new(Window {
                    app,
                    screenshot,
                    started: inside,
                }))
            }),
        )
    })
}

/// Runs the event loop. A panic before the first frame is a library that cannot be loaded (xkbcommon-dl panics where
/// winit returns errors for all others), and gets a sentence instead of a trace.
fn quietly_until(
    started: &Arc<AtomicBool>,
    start: impl FnOnce() -> eframe::Result,
) -> Result<(), Error> {
    let usual = Arc::new(panic::take_hook());
    let (hook, hook_started) = (Arc::clone(&usual), Arc::clone(started));
    panic::set_hook(Box::new(move |panicked| {
        if hook_started.load(Ordering::Relaxed) {
            hook(panicked);
        } else {
            log::debug!("{panicked}");
        }
    }));
    let result = panic::catch_unwind(panic::AssertUnwindSafe(start));
    panic::set_hook(Box::new(move |panicked| usual(panicked)));
    match result {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            // Its text names paths of the machine that built winit, so it is for those who ask.
            log::debug!("{error:?}");
            Err(explain(&error))
        }
        Err(panicked) if started.load(Ordering::Relaxed) => panic::resume_unwind(panicked),
        Err(_) => Err(Error::MissingLibrary),
    }
}

fn explain(error: &eframe::Error) -> Error {
    match error {
        eframe::Error::Winit(_) | eframe::Error::WinitEventLoop(_) => {
            let text = format!("{error:?} {error}");
            if text.contains("librar") {
                Error::MissingLibrary
            } else {
                Error::NoDisplay
            }
        }
        _ => Error::NoOpenGl,
    }
}

const fn is_of_pointer(event: &Event) -> bool {
    matches!(
        event,
        Event::PointerMoved(_)
            | Event::MouseMoved(_)
            | Event::PointerButton { .. }
            | Event::PointerGone
            | Event::MouseWheel { .. }
            | Event::Touch { .. }
    )
}

/// eframe's view of the window.
struct Window {
    app: App,
    screenshot: Option<Screenshot>,
    started: Arc<AtomicBool>,
}

impl eframe::App for Window {
    /// A picture does not depend on where the pointer happens to be.
    fn raw_input_hook(&mut self, _: &Context, input: &mut RawInput) {
        if self.screenshot.is_some() {
            input.events.retain(|event| !is_of_pointer(event));
        }
    }

    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        self.started.store(true, Ordering::Relaxed);
        self.app.ui(ui);
        let size = ui.ctx().content_rect().size();
        self.app.preferences.window = (size.x, size.y);
        if let Some(screenshot) = &mut self.screenshot {
            self.app.state.quitting = true;
            screenshot.frame(ui.ctx(), self.app.settled());
        }
    }

    fn on_exit(&mut self, _: Option<&eframe::glow::Context>) {
        self.app.keep_preferences();
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::Pos2;

    use super::*;

    #[test]
    fn sizes_and_themes_are_checked() {
        assert_eq!(window_size("1280x720").ok(), Some([1280.0, 720.0]));
        assert_eq!(window_size("10x600").ok(), Some([960.0, 600.0]));
        for size in ["", "1280", "x", "-1x3", "0x600", "99999999x1"] {
            let error = window_size(size).expect_err(size).to_string();
            assert!(error.contains("1280x720"), "{error}");
        }
        assert!(colours("Dark").is_err());
        assert_eq!(colours("light").ok(), Some(Colours::Light));
    }

    #[test]
    fn a_picture_knows_no_pointer() {
        assert!(is_of_pointer(&Event::PointerMoved(Pos2::ZERO)));
        assert!(!is_of_pointer(&Event::Text("a".to_owned())));
    }

    #[test]
    fn a_panic_before_the_first_frame_is_explained() {
        let started = Arc::new(AtomicBool::new(false));
        let error = quietly_until(&started, || panic!("no library")).expect_err("explained");
        assert!(matches!(error, Error::MissingLibrary));
    }
}
