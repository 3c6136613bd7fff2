//! How fast a plan will be and what its formats cost, in words.

use std::fmt::Write as _;

use plimsoll::quality::Evidence;
use plimsoll::report::Report;
use plimsoll::speed::Figure;

/// One line per figure; none where nothing is known.
pub(super) fn lines(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        // Writing to a String cannot fail.
        writeln!(text, "{arguments}").ok();
    };
    if let Some(speed) = &report.speed {
        line(format_args!(
            "estimated decoding: {} tokens/s, {} with the context full",
            speed.decode, speed.decode_at_context
        ));
        if let Some(all) = &speed.decode_all {
            line(format_args!("  all slots together: {all} tokens/s"));
        }
        line(format_args!(
            "estimated prompt: {} tokens/s; a full context takes {} s to the first token",
            speed.prefill, speed.first_token_seconds
        ));
        line(format_args!(
            "estimated loading: {} s from a disk, {} s from the system's cache",
            speed.load_seconds, speed.reload_seconds
        ));
    }
    for (what, format, evidence) in formats(report) {
        match evidence {
            Some(evidence) if evidence.is_reference => {}
            Some(evidence) => line(format_args!(
                "loss by {what} {format}: {} ({})",
                evidence.effect,
                evidence.text()
            )),
            None => line(format_args!("loss by {what} {format}: no measurements")),
        }
    }
    text
}

/// The formats of a plan with what was measured of them.
fn formats(report: &Report) -> Vec<(&'static str, String, Option<&'static Evidence>)> {
    let word = |name: &str| match report.settings.get(name) {
        Some(plimsoll::plan::Value::Text(word)) => Some(word.clone()),
        _ => None,
    };
    let evidence = report.quality.weights;
    let weights = word("weights").map(|word| match evidence {
        // Nothing was measured of the file's own mixture.
        Some(nearest) if report.quality.weights_by_bits => {
            let format = nearest.format.clone();
            ("weights of about as many bits as", format, evidence)
        }
        // The file that is open is called what it calls itself.
        _ if word.eq_ignore_ascii_case("native") => match evidence {
            Some(evidence) => ("weights in", evidence.format.clone(), Some(evidence)),
            None => ("weights", "as in the file".to_owned(), None),
        },
        _ => ("weights in", word, evidence),
    });
    let cache = word("cache_type_k").zip(word("cache_type_v"));
    let cache = cache.map(|(keys, values)| {
        let format = format!("{keys}/{values}");
        ("a cache in", format, report.quality.cache)
    });
    weights.into_iter().chain(cache).collect()
}

/// What a figure is called.
pub(super) fn label(figure: Figure) -> &'static str {
    match figure {
        Figure::Decode => "decoding",
        Figure::Prefill => "prompt",
        Figure::Load => "loading",
    }
}
