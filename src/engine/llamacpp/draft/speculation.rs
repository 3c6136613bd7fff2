//! How a plan drafts tokens.

/// `--spec-type` (`common_speculative_type` in `common/common.h`, 0.6.0-dev).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum SpecType {
    /// Nobody drafts.
    None,
    /// A small model.
    Simple,
    /// Prediction blocks.
    Mtp,
    /// A head over hidden states of the model.
    Eagle3,
    /// A drafter of whole blocks.
    Dflash,
    /// The same with a Markov head.
    Dspark,
    /// Repetitions found in the text.
    NgramSimple,
    /// The same by map.
    NgramMapK,
    /// The same by map with several continuations.
    NgramMapK4v,
    /// The same by a shared table.
    NgramMod,
    /// The same by statistics.
    NgramCache,
}

/// Who drafts, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Speculation {
    /// Who.
    pub(in super::super) kind: SpecType,
    /// Most tokens of a draft model or head (`--spec-draft-n-max`).
    pub(in super::super) draft_max: u64,
    /// Tokens that prediction blocks draft are sampled on their device.
    pub(in super::super) samples_on_device: bool,
}

impl Speculation {
    /// Every word of the command line.
    pub(in super::super) const WORDS: &'static [(&'static str, SpecType)] = &[
        ("none", SpecType::None),
        ("draft-simple", SpecType::Simple),
        ("draft-mtp", SpecType::Mtp),
        ("draft-eagle3", SpecType::Eagle3),
        ("draft-dflash", SpecType::Dflash),
        ("draft-dspark", SpecType::Dspark),
        ("ngram-simple", SpecType::NgramSimple),
        ("ngram-map-k", SpecType::NgramMapK),
        ("ngram-map-k4v", SpecType::NgramMapK4v),
        ("ngram-mod", SpecType::NgramMod),
        ("ngram-cache", SpecType::NgramCache),
    ];

    /// Most tokens drafted at once (`common_speculative_n_max` with the defaults of `common_params_speculative`,
    /// `common/common.h` 0.6.0-dev): the model checks them all, and one more, in one batch.
    pub(in super::super) fn tokens(self) -> u64 {
        match self.kind {
            SpecType::None => 0,
            SpecType::Simple
            | SpecType::Mtp
            | SpecType::Eagle3
            | SpecType::Dflash
            | SpecType::Dspark => self.draft_max,
            SpecType::NgramSimple | SpecType::NgramMapK | SpecType::NgramMapK4v => 48,
            SpecType::NgramMod => 64,
            SpecType::NgramCache => 8,
        }
    }

    /// Copies of a recurrent state that can be gone back to (`need_n_rs_seq`, `common/common.h` 0.6.0-dev).
    pub(in super::super) fn rollback(self) -> u64 {
        match self.kind {
            SpecType::Mtp | SpecType::Eagle3 | SpecType::Dflash | SpecType::Dspark => {
                self.draft_max
            }
            SpecType::None
            | SpecType::Simple
            | SpecType::NgramSimple
            | SpecType::NgramMapK
            | SpecType::NgramMapK4v
            | SpecType::NgramMod
            | SpecType::NgramCache => 0,
        }
    }

    /// The model's own prediction blocks are loaded (`load_mtp` in `common_model_params_to_llama`,
    /// `common/common.cpp` 0.6.0-dev).
    pub(in super::super) fn loads_prediction(self) -> bool {
        self.kind == SpecType::Mtp
    }

    /// Rows of logits that a batch needs at most (`common_speculative_get_output_limits`, `common/speculative.cpp`
    /// 0.6.0-dev).
    pub(in super::super) fn rows(self, sequences: u64, batch: u64) -> u64 {
        sequences
            .saturating_mul(self.tokens().saturating_add(1))
            .min(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_slots_and_draft() {
        // `llama-server` b10434 with two slots: n_outputs_max 8 with a draft of three tokens, 2 without.
        for (kind, slots, batch, rows) in [
            (SpecType::Simple, 2, 2048, 8),
            (SpecType::None, 2, 2048, 2),
            (SpecType::NgramMod, 4, 2048, 260),
            (SpecType::NgramMod, 64, 2048, 2048),
        ] {
            let speculation = Speculation {
                kind,
                draft_max: 3,
                samples_on_device: true,
            };
            assert_eq!(speculation.rows(slots, batch), rows, "{kind:?}");
        }
    }
}
