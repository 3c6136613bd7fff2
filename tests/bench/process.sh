#!/usr/bin/env bash
# Figures of the whole process, printed: time of one projection, cost of opening the window, CPU while idle, memory.
# Needs Xvfb for the window.  tests/bench/process.sh [PROGRAM]
set -euo pipefail
program=$(realpath "${1:-target/release/plimsoll}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CONFIG_HOME="$folder" XDG_DATA_HOME="$folder" LIBGL_ALWAYS_SOFTWARE=1

cat >"$folder/plan.toml" <<'PLAN'
schema = 1
engine = "llama.cpp"
[model]
preset = "DeepSeek-R1"
[machine]
preset = "8x-h200"
[settings]
weights = "Q4_K_M"
ctx_size = 32768
parallel = 1
n_gpu_layers = "all"
PLAN

echo "machine: $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs), $(nproc) cores"

# Wall and CPU seconds of twenty projections, DeepSeek-R1 over eight GPUs, the process started anew each time.
TIMEFORMAT='%R %U %S'
runs=20
read -r wall user system < <({ time for _ in $(seq $runs); do "$program" project "$folder/plan.toml" >"$folder/out"; done; } 2>&1)
awk -v w="$wall" -v u="$user" -v s="$system" -v n=$runs \
    'BEGIN { printf "project, whole process: %.1f ms wall, %.1f ms CPU\n", w / n * 1000, (u + s) / n * 1000 }'

ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
hertz=$(getconf CLK_TCK)
Xvfb :97 -screen 0 1600x1000x24 -nolisten tcp >"$folder/xvfb" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
sleep 2
DISPLAY=:97 "$program" "$folder/plan.toml" >"$folder/log" 2>&1 &
window=$!
# The window is on the screen as soon as it has a name there.
until DISPLAY=:97 xdotool search --name Plimsoll >/dev/null 2>&1; do sleep 0.05; done
sleep 0.3
opened=$(ticks "$window")
sleep 5
settled=$(ticks "$window")
sleep 10
idle=$(ticks "$window")
memory=$(awk '/VmRSS/ { print $2 / 1024 }' "/proc/$window/status")
awk -v a="$opened" -v b="$settled" -v c="$idle" -v h="$hertz" -v m="$memory" 'BEGIN {
    printf "window: %.0f ms CPU until it is open (Mesa in software, detection included), %.0f ms after 5 s\n", a / h * 1000, b / h * 1000
    printf "idle: %.2f %% of one core over 10 s\n", (c - b) / h / 10 * 100
    printf "resident memory: %.0f MiB (Mesa in software included)\n", m
}'
kill "$window"
wait "$window" 2>/dev/null || true
