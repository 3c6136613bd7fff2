"""Times the Python package `gguf` on the file of tests/bench/open.rs, then that bench on the same file.

Run in the project's folder, with `pip install gguf`: python tests/bench/open.py
"""

import os
import subprocess
import sys
import tempfile
import time

import gguf
import numpy

TOKENS, LAYERS, WIDTH = 150_000, 111, 64


def write(path: str) -> None:
    """1,000 tensors and a vocabulary, by the package's own writer; the tensors are small, the header is not."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(131072)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(4)
    writer.add_head_count_kv(4)
    writer.add_token_list([f"tok{number}" for number in range(TOKENS)])
    writer.add_token_scores([-0.5] * TOKENS)
    writer.add_token_types([1] * TOKENS)
    writer.add_token_merges([f"t{number // 7} k{number}" for number in range(TOKENS)])
    matrix = numpy.zeros((WIDTH, WIDTH), dtype=numpy.float16)
    norm = numpy.ones(WIDTH, dtype=numpy.float32)
    writer.add_tensor("token_embd.weight", numpy.zeros((TOKENS, WIDTH), dtype=numpy.float16))
    for layer in range(LAYERS):
        for part in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{part}.weight", norm)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            writer.add_tensor(f"blk.{layer}.{part}.weight", matrix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.gguf")
        write(path)
        times = []
        for _ in range(5):
            began = time.perf_counter()
            reader = gguf.GGUFReader(path)
            times.append(time.perf_counter() - began)
        print(f"gguf (Python): {min(times) * 1000:.0f} ms at best for {len(reader.tensors)} tensors", flush=True)
        command = sys.argv[1:] or ["cargo", "bench", "--no-default-features", "--bench", "open"]
        subprocess.run(command, env={**os.environ, "GGUF": path}, check=True)


if __name__ == "__main__":
    main()
