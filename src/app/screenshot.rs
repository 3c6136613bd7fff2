//! A picture that the window takes of itself, for the README and for tests of the real window.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use eframe::egui::{ColorImage, Context, ViewportCommand};

/// Frames before the picture: fonts, layout and hover have settled by then.
const SETTLE: u32 = 8;

/// A picture to be taken.
#[derive(Clone, Debug)]
pub(crate) struct Screenshot {
    path: PathBuf,
    calm_frames: u32,
    outcome: Arc<OnceLock<Result<(), String>>>,
}

impl Screenshot {
    /// To be saved there as PNG.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            calm_frames: 0,
            outcome: Arc::default(),
        }
    }

    /// Counts a frame; takes the picture once the window is calm, and closes it.
    pub(crate) fn frame(&mut self, context: &Context, calm: bool) {
        if !calm {
            self.calm_frames = 0;
            return;
        }
        self.calm_frames += 1;
        if self.calm_frames < SETTLE {
            context.request_repaint();
        } else if self.calm_frames == SETTLE {
            let (path, outcome) = (self.path.clone(), Arc::clone(&self.outcome));
            let window = context.clone();
            context.request_screenshot(move |image: Arc<ColorImage>| {
                // Only the first picture counts.
                outcome.set(write(&image, &path)).ok();
                window.send_viewport_cmd(ViewportCommand::Close);
                window.request_repaint();
            });
            context.request_repaint();
        }
    }

    /// How it went.
    pub(crate) fn outcome(&self) -> Result<(), String> {
        self.outcome
            .get()
            .cloned()
            .unwrap_or_else(|| Err("the window was closed before".to_owned()))
    }
}

fn write(image: &ColorImage, path: &Path) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{error}: {}", path.display());
    let file = std::fs::File::create(path).map_err(|error| failed(&error))?;
    let [width, height] = image
        .size
        .map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    let mut encoder = png::Encoder::new(std::io::BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels: Vec<u8> = image
        .pixels
        .iter()
        .flat_map(|pixel| {
            let [red, green, blue, _] = pixel.to_array();
            [red, green, blue]
        })
        .collect();
    let mut writer = encoder.write_header().map_err(|error| failed(&error))?;
    writer
        .write_image_data(&pixels)
        .map_err(|error| failed(&error))
}
