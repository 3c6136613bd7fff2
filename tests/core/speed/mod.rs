//! Estimates of speed against published measurements.
#![expect(
    clippy::print_stdout,
    reason = "the tables are for whoever runs this with --nocapture"
)]

mod row;
mod short;

use std::collections::BTreeMap;

use plimsoll::speed::{self, Estimate};

use row::{Bench, Row, rows};

/// One comparison.
struct Seen {
    id: u64,
    class: String,
    source: String,
    measured: f64,
    estimate: Estimate,
}

impl Seen {
    fn error(&self) -> f64 {
        (self.estimate.likely / self.measured - 1.0).abs()
    }

    fn inside(&self) -> bool {
        (self.estimate.low..=self.estimate.high).contains(&self.measured)
    }
}

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values[(share * last as f64).round() as usize]
}

fn share_inside<'a>(seen: impl Iterator<Item = &'a Seen> + Clone) -> f64 {
    seen.clone().filter(|seen| seen.inside()).count() as f64 / seen.count() as f64
}

/// One line per group, and the last for all.
fn print(title: &str, seen: &[Seen], group: impl Fn(&Seen) -> String) {
    let mut groups: BTreeMap<String, Vec<&Seen>> = BTreeMap::new();
    for seen in seen {
        groups.entry(group(seen)).or_default().push(seen);
        groups.entry("~ all".to_owned()).or_default().push(seen);
    }
    println!("{title:56} rows  median   p90  inside   measured / likely, p10 to p90");
    for (name, seen) in groups {
        let mut errors: Vec<f64> = seen.iter().map(|seen| seen.error()).collect();
        let mut ratios: Vec<f64> = seen
            .iter()
            .map(|seen| seen.measured / seen.estimate.likely)
            .collect();
        println!(
            "{name:56} {:4}  {:5.1}%  {:4.0}%  {:5.0}%   {:.2} to {:.2}",
            seen.len(),
            100.0 * quantile(&mut errors, 0.5),
            100.0 * quantile(&mut errors, 0.9),
            100.0 * share_inside(seen.iter().copied()),
            quantile(&mut ratios, 0.1),
            quantile(&mut ratios, 0.9),
        );
    }
}

/// Every row with its estimate; `measured` picks the figure.
fn compare(
    keep: impl Fn(&Row) -> bool,
    estimate: impl Fn(&Bench, &Row) -> Option<(f64, Estimate)>,
) -> Vec<Seen> {
    let bench = Bench::new();
    rows()
        .iter()
        .filter(|row| keep(row))
        .filter_map(|row| {
            let (measured, estimate) = estimate(&bench, row)?;
            let machine = bench.machine(row);
            let class = speed::of_gpu(&machine.gpus[0]).expect("a class");
            let experts = if bench.has_experts(row) {
                " experts"
            } else {
                ""
            };
            let streams = if row.batch > 1 { ", streams" } else { "" };
            let ram = if row.n_cpu_moe.is_some() { ", RAM" } else { "" };
            Some(Seen {
                id: row.id,
                class: format!("{}{experts}{streams}{ram}", class.id),
                source: row.source.clone(),
                measured,
                estimate,
            })
        })
        .collect()
}

fn decode(bench: &Bench, row: &Row) -> Option<(f64, Estimate)> {
    let machine = bench.machine(row);
    let traffic = bench.traffic(row, &machine);
    let estimate = speed::decode(&traffic, &machine, row.batch, row.depth).expect("known rates");
    Some((row.tg?, estimate))
}

fn prefill(bench: &Bench, row: &Row) -> Option<(f64, Estimate)> {
    let machine = bench.machine(row);
    let traffic = bench.traffic(row, &machine);
    let tokens = row.pp_len.unwrap_or(512);
    let estimate = speed::prefill(&traffic, &machine, tokens, row.depth).expect("known rates");
    Some((row.pp?, estimate))
}

/// The promise: 12 % in the middle, and eight of ten measurements in the range shown.
#[test]
fn decoding_agrees_with_benchmarks() {
    let seen = compare(|row| row.trust == "bench", decode);
    print("decode by class", &seen, |seen| seen.class.clone());
    print("decode by source", &seen, |seen| seen.source.clone());
    let mut errors: Vec<f64> = seen.iter().map(Seen::error).collect();
    assert!(seen.len() >= 350, "{} rows", seen.len());
    assert!(quantile(&mut errors, 0.5) <= 0.12);
    assert!(share_inside(seen.iter()) >= 0.8);
}

/// Experts in main memory. Few rows say where their experts were and how fast memory was; the constants rest on these
/// among others, so this is no check from outside.
#[test]
fn experts_in_main_memory_are_within_the_range() {
    let seen = compare(|row| row.n_cpu_moe.is_some(), decode);
    for seen in &seen {
        let Estimate { low, likely, high } = seen.estimate;
        println!(
            "{} {} measured {:.1}: {low:.1} to {high:.1}, likely {likely:.1}",
            seen.id, seen.class, seen.measured
        );
    }
    assert!(share_inside(seen.iter()) >= 0.8);
}

/// Nothing published lets prompts be predicted closer than a range, so the range is what is tested.
#[test]
fn prompts_are_within_the_range() {
    let seen = compare(|row| row.trust == "bench", prefill);
    print("prefill by class", &seen, |seen| seen.class.clone());
    assert!(seen.len() >= 300, "{} rows", seen.len());
    assert!(share_inside(seen.iter()) >= 0.8);
}
