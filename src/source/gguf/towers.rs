//! From a projector's file (`mmproj`) to the towers in it (`tools/mtmd/clip.cpp` and `clip-impl.h`, 0.6.0-dev).

use super::error::{Error, Reason};
use super::facts::lacking;
use super::metadata::Metadata;
use super::{Gguf, Kind, refused};
use crate::model::{Encoder, FileTensor, Shares, Tower, TowerKind, Vision};

/// What turns pictures and sounds into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Towers {
    /// The one for pictures.
    pub vision: Option<Vision>,
    /// The one for sounds.
    pub audio: Option<Encoder>,
}

/// Projectors whose towers are known, with the patches along an edge that become one token where the file does not say
/// (`clip_model_loader::load_hparams`), and whether pictures keep their own size.
const KNOWN: [(&str, TowerKind, u64, bool); 8] = [
    ("qwen2.5vl_merger", TowerKind::Qwen25, 2, true),
    ("qwen3vl_merger", TowerKind::Qwen3, 2, true),
    ("pixtral", TowerKind::Pixtral, 1, false),
    ("llama4", TowerKind::Llama4, 1, false),
    ("gemma3", TowerKind::Siglip, 4, false),
    ("gemma4v", TowerKind::Gemma4, 3, true),
    ("kimivl", TowerKind::Moon, 2, true),
    ("kimik25", TowerKind::Moon, 2, true),
];

impl Gguf {
    /// The towers of a projector: hyper-parameters from the metadata, sizes from the tensors.
    ///
    /// # Errors
    /// A file of another kind, or one that lacks what every tower has.
    pub fn towers(&self) -> Result<Towers, Error> {
        let fail = |reason| refused(self.name(), reason);
        if self.kind != Kind::Projector {
            return Err(fail(Reason::NotAProjector(self.kind.describe())));
        }
        let tensors = &self.checkpoint.tensors;
        // Both switches may be missing in files from before there were towers for sounds.
        let said = |key| self.metadata.get(key).and_then(serde_json::Value::as_bool);
        let sees = said("clip.has_vision_encoder").unwrap_or(true);
        let hears = said("clip.has_audio_encoder").unwrap_or(false);
        Ok(Towers {
            vision: sees
                .then(|| vision(&self.metadata, tensors))
                .transpose()
                .map_err(fail)?,
            audio: hears
                .then(|| audio(&self.metadata, tensors))
                .transpose()
                .map_err(fail)?,
        })
    }
}

fn needed(metadata: &Metadata, key: &str) -> Result<u64, Reason> {
    let number = metadata.number(key).filter(|number| *number > 0);
    number.ok_or_else(|| Reason::Lacking(lacking(metadata, key)))
}

fn is_of_sounds(tensor: &FileTensor) -> bool {
    tensor.name.starts_with("a.") || tensor.name.starts_with("mm.a.")
}

fn vision(metadata: &Metadata, tensors: &[FileTensor]) -> Result<Vision, Reason> {
    let number = |key: &str| metadata.number(key).filter(|number| *number > 0);
    let projector = metadata
        .text("clip.vision.projector_type")
        .or_else(|| metadata.text("clip.projector_type"));
    let known = KNOWN.iter().find(|(name, ..)| Some(*name) == projector);
    let (kind, merge, any_size) = known
        .map_or((TowerKind::Other, 1, false), |(_, kind, merge, any)| {
            (*kind, *merge, *any)
        });
    let shares = tensors
        .iter()
        .filter(|tensor| !is_of_sounds(tensor))
        .map(share)
        .fold(Shares::default(), Shares::plus);
    let merge = number("clip.vision.spatial_merge_size")
        .or_else(|| number("clip.vision.projector.scale_factor"))
        .unwrap_or(merge);
    Ok(Vision {
        encoder: Encoder {
            parameters: shares.total(),
            hidden_size: needed(metadata, "clip.vision.embedding_length")?,
            num_hidden_layers: needed(metadata, "clip.vision.block_count")?,
        },
        tower: Tower {
            kind,
            shares,
            heads: number("clip.vision.attention.head_count").unwrap_or(0),
            intermediate_size: number("clip.vision.feed_forward_length").unwrap_or(0),
            image_size: number("clip.vision.image_size")
                .filter(|_| !any_size)
                .unwrap_or(0),
            output_size: number("clip.vision.projection_dim").unwrap_or(0),
        },
        deepstack: deepstack(metadata),
        patch_size: needed(metadata, "clip.vision.patch_size")?,
        spatial_merge_size: merge.min(1 << 10),
    })
}

/// Layers whose outputs go to the language model as well.
fn deepstack(metadata: &Metadata) -> u64 {
    let layers = metadata.get("clip.vision.is_deepstack_layers");
    let layers = layers.and_then(serde_json::Value::as_array);
    let taken = |layer: &&serde_json::Value| layer.as_bool() == Some(true);
    layers.map_or(0, |layers| layers.iter().filter(taken).count() as u64)
}

/// What a tensor is, by the loader's names (`TN_PATCH_EMBD`, `TN_POS_EMBD` in `clip-impl.h`).
fn share(tensor: &FileTensor) -> Shares {
    let elements = tensor.elements();
    let [_, rows, planes, deeper] = tensor.shape;
    let mut shares = Shares::default();
    if tensor.name.starts_with("v.patch_embd.weight") {
        shares.patches = elements;
    } else if tensor.name.starts_with("v.position_embd") {
        shares.positions = elements;
    } else if (rows, planes, deeper) == (1, 1, 1) {
        shares.vectors = elements;
    } else {
        shares.matrices = elements;
    }
    shares
}

fn audio(metadata: &Metadata, tensors: &[FileTensor]) -> Result<Encoder, Reason> {
    let own = tensors.iter().filter(|tensor| is_of_sounds(tensor));
    Ok(Encoder {
        parameters: own.map(FileTensor::elements).fold(0, u64::saturating_add),
        hidden_size: needed(metadata, "clip.audio.embedding_length")?,
        num_hidden_layers: needed(metadata, "clip.audio.block_count")?,
    })
}
