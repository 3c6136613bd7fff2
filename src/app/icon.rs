//! The icon of the window.

use eframe::egui::IconData;

/// The mark on a dark ground, 256 pixels wide.
const PNG: &[u8] = include_bytes!("../../assets/icon/plimsoll-256.png");

/// The icon, or none where it cannot be decoded; a test keeps that from being released.
pub(super) fn window_icon() -> IconData {
    decode().unwrap_or_default()
}

fn decode() -> Option<IconData> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(PNG))
        .read_info()
        .ok()?;
    let mut rgba = vec![0; reader.output_buffer_size()?];
    let frame = reader.next_frame(&mut rgba).ok()?;
    (frame.color_type == png::ColorType::Rgba).then_some(IconData {
        rgba,
        width: frame.width,
        height: frame.height,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_can_be_decoded() {
        let icon = decode().expect("an icon");
        assert_eq!((icon.width, icon.height), (256, 256));
        assert_eq!(icon.rgba.len(), 256 * 256 * 4);
    }
}
