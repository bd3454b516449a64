#!/usr/bin/env bash
# Fuzzing with libFuzzer, without cargo-fuzz and on the stable compiler (there is no unsafe code, so no sanitizer either):
#   tools/fuzz.sh [TARGET|all] [SECONDS]      default: all, 60 seconds each
#   tools/fuzz.sh [TARGET|all] keep           writes the smallest inputs that reach all that was reached to
#                                             tests/foreign_bytes/kept, which every test run goes through again
# Begins with those and with what the test vectors hold; inputs found stay in fuzz/corpus/TARGET, one that fails in
# fuzz/artifacts/TARGET.
# Needs a C++ compiler and Python 3.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
cargo=${CARGO:-cargo}
wanted=${1:-all} seconds=${2:-60}
host=$(rustc -vV | sed -n 's/^host: //p')

mapfile -t targets < <(sed -n 's|^path = "targets/\(.*\)\.rs"$|\1|p' Cargo.toml)
if [ "$wanted" != all ]; then
    printf '%s\n' "${targets[@]}" | grep -Fxq -- "$wanted" || {
        echo "fuzz: no target '$wanted'; there are: ${targets[*]}" >&2
        exit 2
    }
    targets=("$wanted")
fi

# With --target, build scripts and macros stay as they are; only what is fuzzed counts its branches.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares"
bins=()
for target in "${targets[@]}"; do bins+=(--bin "$target"); done
"$cargo" build --target "$host" "${bins[@]}"
python3 ../tools/fuzz_seeds.py

program() { echo "${CARGO_TARGET_DIR:-target}/$host/debug/$1"; }

if [ "$seconds" = keep ]; then
    for target in "${targets[@]}"; do
        rm -rf "smallest/$target"
        mkdir -p "smallest/$target"
        # By branches reached, not by how often: few inputs, each with a reason to be there.
        "$(program "$target")" -merge=1 -use_counters=0 -max_len=512 "smallest/$target" "corpus/$target" 2>/dev/null
        python3 ../tools/fuzz_seeds.py keep "$target"
    done
    wc -lc ../tests/foreign_bytes/kept/*.txt
    exit
fi

failed=0
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target" "artifacts/$target"
    echo "fuzz: $target, $seconds s"
    "$(program "$target")" "corpus/$target" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=1024 -max_len=16384 -artifact_prefix="artifacts/$target/" -print_final_stats=1 \
        >"artifacts/$target.log" 2>&1 || { failed=1; echo "fuzz: $target FAILED, see fuzz/artifacts/$target.log" >&2; }
    sed -n 's/^stat::\(number_of_executed_units\|peak_rss_mb\): */  \1 /p' "artifacts/$target.log"
done
exit $failed
