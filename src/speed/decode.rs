//! Tokens per second: what is read per token, over how fast it is read.

use super::class::{self, CLASSES, Class, RamClass};
use super::ram::{Bandwidth, Basis};
use super::{Estimate, Figure, Missing, short};
use crate::engine::traffic::{DeviceTraffic, Together, Traffic};
use crate::hardware::{Gpu, Machine};
use crate::projection::Why;
use crate::units::Bytes;

/// Seconds, with the range they may be in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Time {
    pub(super) fast: f64,
    pub(super) likely: f64,
    pub(super) slow: f64,
}

/// How fast the devices of a plan are.
pub(super) struct Rates<'a> {
    traffic: &'a Traffic,
    /// GPUs with work.
    pub(super) gpus: Vec<GpuRate<'a>>,
    /// Main memory.
    pub(super) ram: Bandwidth,
    ram_class: Option<&'static RamClass>,
    cores: Option<u32>,
    remote_nodes: usize,
}

/// Nodes with work beyond the first.
fn remote_nodes(traffic: &Traffic, machine: &Machine) -> usize {
    let nodes = traffic.gpus.chunks(machine.gpus.len().max(1)).skip(1);
    nodes
        .filter(|node| node.iter().any(|gpu| !gpu.is_idle()))
        .count()
}

/// How fast a GPU is.
pub(super) struct GpuRate<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) work: &'a DeviceTraffic,
    pub(super) class: &'static Class,
    /// Bytes per second by the data sheet.
    pub(super) bandwidth: f64,
}

/// 10^9.
pub(super) const GIGA: f64 = 1e9;
const MICRO: f64 = 1e-6;

impl Time {
    pub(super) fn exact(likely: f64) -> Self {
        Self {
            fast: likely,
            likely,
            slow: likely,
        }
    }

    /// From fast, likely and slow.
    fn of([fast, likely, slow]: [f64; 3]) -> Self {
        Self { fast, likely, slow }
    }

    fn slower(self, other: Self) -> Self {
        Self {
            fast: self.fast.max(other.fast),
            likely: self.likely.max(other.likely),
            slow: self.slow.max(other.slow),
        }
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            fast: self.fast * factor,
            likely: self.likely * factor,
            slow: self.slow * factor,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            fast: self.fast + other.fast,
            likely: self.likely + other.likely,
            slow: self.slow + other.slow,
        }
    }
}

impl<'a> Rates<'a> {
    /// The rates of the devices that have work.
    pub(super) fn of(traffic: &'a Traffic, machine: &'a Machine) -> Result<Self, Missing> {
        short::check(traffic, machine)?;
        let mut gpus = Vec::with_capacity(traffic.gpus.len());
        // Nodes are alike.
        let cards = machine.gpus.iter().cycle();
        for (gpu, work) in cards.zip(&traffic.gpus) {
            if work.is_idle() {
                continue;
            }
            let bandwidth = gpu.bandwidth_gb_s.filter(|rate| *rate > 0.0);
            let (Some(bandwidth), Some(class)) = (bandwidth, class::of_gpu(gpu)) else {
                let name = gpu.name.clone();
                return Err(Missing::Bandwidth { name });
            };
            gpus.push(GpuRate {
                gpu,
                work,
                class,
                bandwidth: bandwidth * GIGA,
            });
        }
        let ram = Bandwidth::of(machine);
        Ok(Self {
            traffic,
            gpus,
            ram,
            ram_class: CLASSES.of_ram(ram.likely),
            cores: machine.host.physical_cores,
            remote_nodes: remote_nodes(traffic, machine),
        })
    }

    /// Work of the processor.
    pub(super) fn host(&self) -> &DeviceTraffic {
        &self.traffic.host
    }

    /// Tokens that a slot holds.
    pub(super) fn context(&self) -> u64 {
        self.traffic.context
    }

    /// Physical cores, where known.
    pub(super) fn cores(&self) -> Option<u32> {
        self.cores
    }

    /// Tokens per second of so many streams together, each behind so many tokens.
    pub(super) fn tokens_per_second(&self, streams: u64, depth: u64) -> Estimate {
        let time = self.step(streams as f64, depth);
        Estimate::of_times(time.fast, time.likely, time.slow, streams as f64)
    }

    /// Seconds of one step of so many streams.
    fn step(&self, streams: f64, depth: u64) -> Time {
        let gpus = self.gpus.iter().map(|gpu| gpu.step(streams, depth));
        self.combined(gpus)
            .and(self.exchange())
            .and(self.host_step(streams, depth))
            .and(self.stand_ins(streams, streams, depth))
    }

    /// Times of the GPUs, one after the other or at once.
    pub(super) fn combined(&self, gpus: impl Iterator<Item = Time>) -> Time {
        match self.traffic.together {
            Together::InTurn => gpus.fold(Time::default(), Time::and),
            Together::AtOnce => gpus.fold(Time::default(), Time::slower),
        }
    }

    /// Seconds per step for what GPUs and nodes tell each other.
    fn exchange(&self) -> Time {
        let links = &CLASSES.links;
        let further = self.gpus.len().saturating_sub(1) as f64;
        let between = match self.traffic.together {
            Together::InTurn => Time::exact(further * links.further_gpu_ms / 1e3),
            Together::AtOnce if further == 0.0 => Time::default(),
            Together::AtOnce => {
                let layers = self.gpus.first().map_or(0, |gpu| gpu.work.layers);
                // After the mixer and after the feed-forward network.
                Time::of(links.exchange_us).times(MICRO * 2.0 * layers as f64)
            }
        };
        between.and(self.between_nodes())
    }

    /// Seconds per batch on the way to other nodes and back.
    pub(super) fn between_nodes(&self) -> Time {
        Time::of(CLASSES.links.node_ms).times(self.remote_nodes as f64 / 1e3)
    }

    fn host_step(&self, streams: f64, depth: u64) -> Time {
        let work = &self.traffic.host;
        let Some(class) = self.ram_class.filter(|_| !work.is_idle()) else {
            return Time::default();
        };
        // Bytes as if all were read at the full rate.
        let mut bytes = 0.0;
        for read in &work.weights {
            let eta = if read.used < read.of {
                class.expert_eta
            } else {
                class.eta
            };
            let [_, alike, _] = CLASSES.links.alike;
            bytes += read.bytes.get() as f64 * read.share(streams.powf(alike)) / eta;
        }
        bytes += streams * read_per_stream(work, depth) / class.eta;
        let time = self.at_full_rate(bytes, class);
        time.and(self.host_products(streams - 1.0, depth))
    }

    /// Seconds for so many bytes as if all were read at the full rate of main memory.
    fn at_full_rate(&self, bytes: f64, class: &RamClass) -> Time {
        let [low, high] = class.spread;
        let seconds = |gb_s: f64| bytes / (gb_s * GIGA);
        Time {
            fast: seconds(self.ram.high) / high,
            likely: seconds(self.ram.likely),
            slow: seconds(self.ram.low) / low,
        }
    }

    /// Seconds in which the processor reads so many bytes of caches.
    pub(super) fn ram_time(&self, bytes: f64) -> Time {
        self.ram_class.map_or_else(Time::default, |class| {
            self.at_full_rate(bytes / class.eta, class)
        })
    }

    /// Why the rates of decoding are what they are, one reason per kind of device.
    pub(super) fn why(&self) -> Vec<(Figure, Why)> {
        let mut reasons = Vec::with_capacity(4);
        let mut seen: Vec<&str> = Vec::new();
        for gpu in &self.gpus {
            if !seen.contains(&gpu.class.id.as_str()) {
                seen.push(&gpu.class.id);
                reasons.push((Figure::Decode, self.gpu_why(gpu.class)));
            }
        }
        if let Some(class) = self.ram_class.filter(|_| !self.traffic.host.is_idle()) {
            reasons.push((Figure::Decode, self.host_why(class)));
        }
        reasons.extend(self.stand_in_reasons());
        reasons
    }

    fn gpu_why(&self, class: &'static Class) -> Why {
        let same = || {
            let gpus = self.gpus.iter();
            gpus.filter(|gpu| gpu.class.id == class.id)
        };
        let bytes: f64 = same().map(|gpu| gpu.work.weight_bytes(1.0)).sum();
        let layers: u64 = same().map(|gpu| gpu.work.layers).sum();
        let bandwidth = same().map(|gpu| gpu.bandwidth).fold(f64::MAX, f64::min) / GIGA;
        Why::new(
            "speed/decode/gpu",
            "{class}: {bytes} of weights per token over {percent} % of {bandwidth} GB/s, and {layer_us} µs for each of {layers} layers",
            &class.basis,
        )
        .with("class", class.label.as_str())
        .with("bytes", Bytes::new(bytes as u64))
        .with("percent", class.eta * 100.0)
        .with("bandwidth", bandwidth)
        .with("layer_us", class.layer_us)
        .with("layers", layers)
    }

    fn host_why(&self, class: &'static RamClass) -> Why {
        let bytes = self.traffic.host.weight_bytes(1.0);
        let template = match self.ram.basis {
            Basis::Known => {
                "{bytes} of weights per token in main memory over {percent} % of {bandwidth} GB/s"
            }
            Basis::Pool => {
                "{bytes} of weights per token in the shared memory over {percent} % of {bandwidth} GB/s"
            }
            Basis::FewChannels => {
                "{bytes} of weights per token in main memory over {percent} % of {low} to {high} GB/s, as one or two channels may have; `ram_bandwidth_gb_s` narrows it"
            }
            Basis::TwoChannels => {
                "{bytes} of weights per token in main memory over {percent} % of {low} to {high} GB/s, as two channels may have; `ram_bandwidth_gb_s` narrows it"
            }
            Basis::ManyChannels => {
                "{bytes} of weights per token in main memory over {percent} % of {low} to {high} GB/s, as four to twelve channels may have; `ram_bandwidth_gb_s` narrows it"
            }
        };
        let has_experts = self
            .traffic
            .host
            .weights
            .iter()
            .any(|read| read.used < read.of);
        let eta = if has_experts {
            class.expert_eta
        } else {
            class.eta
        };
        Why::new("speed/decode/host", template, &class.basis)
            .with("bytes", Bytes::new(bytes as u64))
            .with("percent", eta * 100.0)
            .with("bandwidth", self.ram.likely)
            .with("low", self.ram.low)
            .with("high", self.ram.high)
    }
}

/// Bytes of cache and state that a token of one stream reads; states are written back too.
pub(super) fn read_per_stream(work: &DeviceTraffic, depth: u64) -> f64 {
    work.cache_bytes(depth) + 2.0 * work.state_bytes.get() as f64
}

impl GpuRate<'_> {
    fn step(&self, streams: f64, depth: u64) -> Time {
        let Self {
            work,
            class,
            bandwidth,
            ..
        } = *self;
        let dense_layers = work.layers.saturating_sub(work.expert_layers);
        let layers = MICRO * class.layer_us * dense_layers as f64
            + MICRO * class.expert_layer_us * work.expert_layers as f64;
        let weights = |alike: f64| {
            // Bytes as if all formats were read equally fast.
            let reads = work.weights.iter().map(|read| {
                let factor = CLASSES.format_factor(read.format);
                read.bytes.get() as f64 * read.share(streams.powf(alike)) / factor
            });
            reads.sum::<f64>() / (class.eta * bandwidth) + layers
        };
        let [low, high] = if work.expert_layers > 0 {
            class.expert_spread
        } else {
            class.spread
        };
        let [fast, likely, slow] = CLASSES.links.alike;
        let cached = streams * read_per_stream(work, depth) / bandwidth;
        let [cache_low, cache_likely, cache_high] = class.eta_cache;
        let time = Time {
            fast: weights(fast) / high + cached / cache_high,
            likely: weights(likely) + cached / cache_likely,
            slow: weights(slow) / low + cached / cache_low,
        };
        // Products of one stream hide behind reading; those of further streams come on top.
        time.and(self.products(streams - 1.0, work.operations()))
    }
}
