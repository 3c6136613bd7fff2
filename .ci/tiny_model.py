"""Writes a model of a few hundred kB that llama-server loads: two layers of random weights and a byte vocabulary."""

import sys

import gguf
import numpy

WIDTH, HEADS, INNER, LAYERS, CONTEXT = 128, 2, 256, 2, 4096


def write(path: str) -> None:
    random = numpy.random.default_rng(7)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)

    kinds = gguf.TokenType
    tokens = [("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)]
    tokens += [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)]
    tokens += [("\u2581", kinds.NORMAL)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)

    def matrix(name: str, rows: int, columns: int) -> None:
        writer.add_tensor(name, (random.standard_normal((rows, columns)) * 0.02).astype(numpy.float16))

    def norm(name: str) -> None:
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    matrix("token_embd.weight", len(tokens), WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        norm(f"{block}.attn_norm.weight")
        for part in ("q", "k", "v", "output"):
            matrix(f"{block}.attn_{part}.weight", WIDTH, WIDTH)
        norm(f"{block}.ffn_norm.weight")
        matrix(f"{block}.ffn_gate.weight", INNER, WIDTH)
        matrix(f"{block}.ffn_up.weight", INNER, WIDTH)
        matrix(f"{block}.ffn_down.weight", WIDTH, INNER)
    norm("output_norm.weight")
    matrix("output.weight", len(tokens), WIDTH)

    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])
