#!/usr/bin/env bash
# kintone requests first, then time and memory: ours beside the original's, on the same sandbox.
# The original needs Node.js and the npm registry; without them only our figures are printed.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v python3 >/dev/null || { echo "bench: python3 is needed to measure processes" >&2; exit 1; }
cargo build --locked --release --bins --example scripted-runner
original=$(tools/original.sh || true)
exec python3 tools/bench.py --bin target/release --runner target/release/examples/scripted-runner \
    --original "$original" "$@"
