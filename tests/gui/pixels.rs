//! Pictures without a GPU: egui's triangles on the processor, the same on every machine.

use std::collections::HashMap;

use eframe::egui::{
    ClippedPrimitive, Color32, ColorImage, Context, FullOutput, Pos2, Rect, TextureId,
    TexturesDelta,
    epaint::{ImageData, ImageDelta, Mesh, Primitive, Vertex},
};
use egui_kittest::TestRenderer;
use image::{Rgba, RgbaImage};

/// Draws what egui tessellates.
#[derive(Default)]
pub(crate) struct Rasteriser {
    textures: HashMap<TextureId, ColorImage>,
}

impl TestRenderer for Rasteriser {
    fn handle_delta(&mut self, delta: &mut TexturesDelta) {
        for (id, changes) in std::mem::take(&mut delta.set) {
            for change in changes {
                self.change(id, &change);
            }
        }
        for id in std::mem::take(&mut delta.free) {
            self.textures.remove(&id);
        }
    }

    fn render(&mut self, context: &Context, output: &FullOutput) -> Result<RgbaImage, String> {
        let scale = output.pixels_per_point;
        let size = context.content_rect().size() * scale;
        let mut canvas = Canvas {
            width: size.x.round() as usize,
            height: size.y.round() as usize,
            pixels: Vec::new(),
        };
        canvas.pixels = vec![Color32::BLACK; canvas.width * canvas.height];
        for ClippedPrimitive {
            clip_rect,
            primitive,
        } in context.tessellate(output.shapes.clone(), scale)
        {
            let Primitive::Mesh(mesh) = primitive else {
                return Err("a paint callback cannot be drawn here".to_owned());
            };
            let texture = self
                .textures
                .get(&mesh.texture_id)
                .ok_or("a texture is missing")?;
            canvas.mesh(&mesh, texture, clip_rect, scale);
        }
        let mut image = RgbaImage::new(canvas.width as u32, canvas.height as u32);
        for (pixel, colour) in image.pixels_mut().zip(&canvas.pixels) {
            *pixel = Rgba(colour.to_array());
        }
        Ok(image)
    }
}

impl Rasteriser {
    fn change(&mut self, id: TextureId, change: &ImageDelta) {
        let ImageData::Color(image) = &change.image;
        let (Some([x, y]), Some(texture)) = (change.pos, self.textures.get_mut(&id)) else {
            self.textures.insert(id, (**image).clone());
            return;
        };
        for row in 0..image.height() {
            let from = row * image.width();
            let to = (y + row) * texture.width() + x;
            texture.pixels[to..to + image.width()]
                .copy_from_slice(&image.pixels[from..from + image.width()]);
        }
    }
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Color32>,
}

impl Canvas {
    fn mesh(&mut self, mesh: &Mesh, texture: &ColorImage, clip: Rect, scale: f32) {
        let clip = Rect::from_min_max(
            (clip.min.to_vec2() * scale).round().to_pos2(),
            (clip.max.to_vec2() * scale).round().to_pos2(),
        );
        for corners in mesh.indices.chunks_exact(3) {
            let corners = [0, 1, 2].map(|index| mesh.vertices[corners[index] as usize]);
            self.triangle(corners, texture, clip, scale);
        }
    }

    fn triangle(&mut self, corners: [Vertex; 3], texture: &ColorImage, clip: Rect, scale: f32) {
        let points = corners.map(|corner| corner.pos * scale);
        let area = cross(points[0], points[1], points[2]);
        if area == 0.0 {
            return;
        }
        let bounds = Rect::from_points(&points).intersect(clip);
        let range = |low: f32, high: f32, end: usize| {
            (low.floor().max(0.0) as usize)..(high.ceil().max(0.0) as usize).min(end)
        };
        for y in range(bounds.top(), bounds.bottom(), self.height) {
            for x in range(bounds.left(), bounds.right(), self.width) {
                let at = Pos2::new(x as f32 + 0.5, y as f32 + 0.5);
                if !clip.contains(at) {
                    continue;
                }
                let weights = [(1, 2), (2, 0), (0, 1)]
                    .map(|(a, b)| (cross(points[a], points[b], at) / area, points[a], points[b]));
                if weights
                    .iter()
                    .all(|(weight, a, b)| inside(*weight, *a, *b, area))
                {
                    let weights = weights.map(|(weight, ..)| weight);
                    self.blend(x, y, shade(&corners, weights, texture));
                }
            }
        }
    }

    /// Premultiplied alpha in gamma space, as egui's shaders do it.
    fn blend(&mut self, x: usize, y: usize, source: [f32; 4]) {
        let pixel = &mut self.pixels[y * self.width + x];
        let target = pixel.to_array();
        let mixed = [0, 1, 2, 3].map(|channel| {
            let value = source[channel] + f32::from(target[channel]) * (1.0 - source[3] / 255.0);
            value.round().clamp(0.0, 255.0) as u8
        });
        *pixel = Color32::from_rgba_premultiplied(mixed[0], mixed[1], mixed[2], mixed[3]);
    }
}

fn cross(a: Pos2, b: Pos2, c: Pos2) -> f32 {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

/// A pixel on an edge belongs to one triangle only: top and left edges are in.
fn inside(weight: f32, a: Pos2, b: Pos2, area: f32) -> bool {
    if weight != 0.0 {
        return weight > 0.0;
    }
    let edge = (b - a) * area.signum();
    edge.y < 0.0 || (edge.y == 0.0 && edge.x > 0.0)
}

fn shade(corners: &[Vertex; 3], weights: [f32; 3], texture: &ColorImage) -> [f32; 4] {
    let mix = |value: &dyn Fn(&Vertex) -> f32| -> f32 {
        corners
            .iter()
            .zip(weights)
            .map(|(corner, weight)| value(corner) * weight)
            .sum()
    };
    let texel = sample(
        texture,
        mix(&|corner| corner.uv.x),
        mix(&|corner| corner.uv.y),
    );
    [0, 1, 2, 3].map(|channel| {
        let vertex = mix(&|corner| f32::from(corner.color.to_array()[channel]));
        vertex * texel[channel] / 255.0
    })
}

/// Bilinear, clamped at the edges.
fn sample(texture: &ColorImage, u: f32, v: f32) -> [f32; 4] {
    let [width, height] = texture.size;
    let (x, y) = (u * width as f32 - 0.5, v * height as f32 - 0.5);
    let texel = |x: f32, y: f32| {
        let x = x.clamp(0.0, (width - 1) as f32) as usize;
        let y = y.clamp(0.0, (height - 1) as f32) as usize;
        texture.pixels[y * width + x].to_array().map(f32::from)
    };
    let (left, top) = (x.floor(), y.floor());
    let (right, down) = (x - left, y - top);
    let corners = [
        (texel(left, top), (1.0 - right) * (1.0 - down)),
        (texel(left + 1.0, top), right * (1.0 - down)),
        (texel(left, top + 1.0), (1.0 - right) * down),
        (texel(left + 1.0, top + 1.0), right * down),
    ];
    [0, 1, 2, 3].map(|channel| {
        corners
            .iter()
            .map(|(texel, share)| texel[channel] * share)
            .sum()
    })
}
