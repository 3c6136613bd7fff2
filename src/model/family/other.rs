//! Models that are no decoders of text: known by their size, run by no engine of text.

use crate::model::config::{Config, Error, Limit};
use crate::model::{Encoder, Model, product, sum};

/// BERT with its masked-language head, as `BertForMaskedLM` stores it: the head's matrix is the embedding.
pub(super) fn bert(config: &Config<'_>) -> Result<Model, Error> {
    let hidden = config.size("hidden_size", Limit::Width)?;
    let width = config.size("intermediate_size", Limit::Width)?;
    let vocab = config.size("vocab_size", Limit::Rows)?;
    let positions = config.size("max_position_embeddings", Limit::Tokens)?;
    let types = config.size_or("type_vocab_size", Limit::Rows, 2)?;
    let layers = config.size("num_hidden_layers", Limit::Layers)?;
    let norm = product(&[2, hidden]);
    let layer = sum(&[
        product(&[4, sum(&[product(&[hidden, hidden]), hidden])]),
        product(&[2, hidden, width]),
        width,
        hidden,
        product(&[2, norm]),
    ]);
    let parameters = sum(&[
        product(&[sum(&[vocab, positions, types]), hidden]),
        norm,
        product(&[layers, layer]),
        // The head: a square projection with bias, a norm, a bias per word.
        product(&[hidden, hidden]),
        hidden,
        norm,
        vocab,
    ]);
    Ok(Model {
        model_type: config.text("model_type")?.unwrap_or_default().to_owned(),
        hidden_size: hidden,
        vocab_size: vocab,
        context_length: positions,
        max_position_embeddings: positions,
        tie_word_embeddings: true,
        other: Some(Encoder {
            parameters,
            hidden_size: hidden,
            num_hidden_layers: layers,
        }),
        ..Model::default()
    })
}

/// ResNet with bottleneck blocks and its classifier.
pub(super) fn resnet(config: &Config<'_>) -> Result<Model, Error> {
    let depths = config.indices("depths")?;
    let widths = config.indices("hidden_sizes")?;
    if depths.len() != widths.len() || widths.iter().any(|width| *width > 1 << 20) {
        return Err(config.inconsistent("hidden_sizes", "does not match `depths`"));
    }
    let channels = config.size_or("num_channels", Limit::Width, 3)?;
    let stem = config.size_or("embedding_size", Limit::Width, 64)?;
    // The number of ImageNet classes, where the configuration lists its labels elsewhere.
    let labels = config.size_or("num_labels", Limit::Rows, 1000)?;
    let mut parameters = convolution(7, channels, stem);
    let mut input = stem;
    for (depth, width) in depths.iter().zip(&widths) {
        // Bottleneck blocks narrow to a quarter inside (transformers' ResNetBottleNeckLayer).
        let inner = width / 4;
        let block = |input| {
            sum(&[
                convolution(1, input, inner),
                convolution(3, inner, inner),
                convolution(1, inner, *width),
            ])
        };
        let further = depth.saturating_sub(1);
        parameters = sum(&[
            parameters,
            block(input),
            convolution(1, input, *width),
            product(&[further, block(*width)]),
        ]);
        input = *width;
    }
    parameters = sum(&[parameters, product(&[input, labels]), labels]);
    Ok(Model {
        model_type: config.text("model_type")?.unwrap_or_default().to_owned(),
        hidden_size: input,
        other: Some(Encoder {
            parameters,
            hidden_size: input,
            num_hidden_layers: depths
                .iter()
                .fold(0, |sum: u64, depth| sum.saturating_add(*depth)),
        }),
        ..Model::default()
    })
}

/// A convolution without bias and the batch norm behind it.
fn convolution(kernel: u64, input: u64, output: u64) -> u64 {
    sum(&[
        product(&[kernel, kernel, input, output]),
        product(&[2, output]),
    ])
}
