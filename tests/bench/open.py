"""Times the Python package `gguf` and tests/bench/open.rs on the same file in the same run, and prints the ratio.

Run in the project's folder, with `pip install gguf`: python tests/bench/open.py
"""

import os
import statistics
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


def timed(path: str, times: list[float]) -> int:
    """Seconds that the package takes to open the file, added to the list; answers its number of tensors."""
    began = time.perf_counter()
    reader = gguf.GGUFReader(path)
    times.append(time.perf_counter() - began)
    return len(reader.tensors)


def milliseconds(figure: str) -> float:
    """A time as divan prints it."""
    number, unit = figure.split()
    return float(number) * {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1000}[unit]


def bench(command: list[str], path: str) -> tuple[float, float]:
    """Fastest and median milliseconds of the bench `header` on this file."""
    environment = {**os.environ, "GGUF": path}
    ran = subprocess.run(command, env=environment, check=True, text=True, encoding="utf-8", stdout=subprocess.PIPE)
    print(ran.stdout, flush=True)
    row = next(line for line in ran.stdout.splitlines() if "header" in line)
    # The name and the fastest time; the slowest; the median.
    first, _, median = row.split("│")[:3]
    return milliseconds(" ".join(first.split()[-2:])), milliseconds(median.strip())


def main() -> None:
    command = sys.argv[1:] or ["cargo", "bench", "--no-default-features", "--bench", "open"]
    # Built before anything is timed.
    subprocess.run([*command, "--", "--list"] if command[0] == "cargo" else [*command, "--list"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.gguf")
        write(path)
        # Before and after, so that both meet the same machine.
        times: list[float] = []
        for _ in range(5):
            tensors = timed(path, times)
        fastest, median = bench(command, path)
        for _ in range(5):
            tensors = timed(path, times)
    theirs_fastest, theirs_median = 1000 * min(times), 1000 * statistics.median(times)
    print(f"gguf (Python): {theirs_fastest:.0f} ms at best, {theirs_median:.0f} ms median, {tensors} tensors")
    print(f"plimsoll:      {fastest:.2f} ms at best, {median:.2f} ms median")
    at_best, of_medians = theirs_fastest / fastest, theirs_median / median
    print(f"ratio:         {at_best:.0f} at best, {of_medians:.0f} of medians")
    if min(at_best, of_medians) < 20 or median > 30:
        sys.exit("asked for: at most 30 ms, and 20 times as fast")


if __name__ == "__main__":
    main()
