//! Model files as other programs write them, small or full of holes.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A configuration that a folder or repository may hold.
pub(crate) const CONFIG: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024,
    "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
    "intermediate_size": 3072, "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": true}"#;

/// safetensors with one tensor.
pub(crate) fn safetensors() -> Vec<u8> {
    let header = r#"{"model.norm.weight":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(&[0; 8]);
    file
}

/// A folder with a configuration and a file of weights.
pub(crate) fn folder(parent: &Path, name: &str) -> PathBuf {
    let model = parent.join(name);
    std::fs::create_dir_all(&model).unwrap();
    std::fs::write(model.join("config.json"), CONFIG).unwrap();
    std::fs::write(model.join("model.safetensors"), safetensors()).unwrap();
    model
}

/// A GGUF file in the making (version 3, little endian; `docs/gguf.md` of ggml).
#[derive(Default)]
pub(crate) struct Gguf {
    keys: Vec<u8>,
    key_count: u64,
    tensors: Vec<u8>,
    tensor_count: u64,
    end: u64,
}

impl Gguf {
    fn name(bytes: &mut Vec<u8>, name: &str) {
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name.as_bytes());
    }

    pub(crate) fn text(mut self, key: &str, value: &str) -> Self {
        Self::name(&mut self.keys, key);
        self.keys.extend(8_u32.to_le_bytes());
        Self::name(&mut self.keys, value);
        self.key_count += 1;
        self
    }

    pub(crate) fn number(mut self, key: &str, value: u32) -> Self {
        Self::name(&mut self.keys, key);
        self.keys.extend(4_u32.to_le_bytes());
        self.keys.extend(value.to_le_bytes());
        self.key_count += 1;
        self
    }

    /// A tensor of F16.
    pub(crate) fn tensor(mut self, name: &str, shape: &[u64]) -> Self {
        Self::name(&mut self.tensors, name);
        self.tensors.extend((shape.len() as u32).to_le_bytes());
        for size in shape {
            self.tensors.extend(size.to_le_bytes());
        }
        self.tensors.extend(1_u32.to_le_bytes());
        self.tensors.extend(self.end.to_le_bytes());
        let bytes = 2 * shape.iter().product::<u64>();
        self.end += bytes.next_multiple_of(32);
        self.tensor_count += 1;
        self
    }

    /// Writes the header; the tensors are a hole.
    pub(crate) fn write(self, path: &Path) -> PathBuf {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend(self.tensor_count.to_le_bytes());
        bytes.extend(self.key_count.to_le_bytes());
        bytes.extend(self.keys);
        bytes.extend(self.tensors);
        let begin = (bytes.len() as u64).next_multiple_of(32);
        let mut file = File::create(path).unwrap();
        file.write_all(&bytes).unwrap();
        file.set_len(begin + self.end).unwrap();
        path.to_owned()
    }

    /// A small Llama.
    pub(crate) fn llama() -> Self {
        let mut file = Self::default()
            .text("general.architecture", "llama")
            .text("general.name", "Small")
            .number("general.file_type", 1)
            .number("llama.block_count", 2)
            .number("llama.context_length", 4096)
            .number("llama.embedding_length", 256)
            .number("llama.feed_forward_length", 512)
            .number("llama.attention.head_count", 4)
            .number("llama.attention.head_count_kv", 2)
            .number("llama.vocab_size", 1000)
            .tensor("token_embd.weight", &[256, 1000])
            .tensor("output_norm.weight", &[256])
            .tensor("output.weight", &[256, 1000]);
        for block in 0..2 {
            for (name, shape) in [
                ("attn_norm", &[256][..]),
                ("attn_q", &[256, 256]),
                ("attn_k", &[256, 128]),
                ("attn_v", &[256, 128]),
                ("attn_output", &[256, 256]),
                ("ffn_norm", &[256]),
                ("ffn_gate", &[256, 512]),
                ("ffn_up", &[256, 512]),
                ("ffn_down", &[512, 256]),
            ] {
                file = file.tensor(&format!("blk.{block}.{name}.weight"), shape);
            }
        }
        file
    }
}
