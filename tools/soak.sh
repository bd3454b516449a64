#!/usr/bin/env bash
# An hour of trouble, compressed: many Runs under random faults, races, and everything the suite leaves out for its time.
# SOAK_RUNS (200), RACE_ROUNDS (200), SOAK_SEED and RACE_SEED may be set; a failure prints what repeats it.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
export SOAK_RUNS=${SOAK_RUNS:-200} RACE_ROUNDS=${RACE_ROUNDS:-200}
export SOAK_SEED=${SOAK_SEED:-$RANDOM} RACE_SEED=${RACE_SEED:-$RANDOM}

echo "soak: SOAK_SEED=$SOAK_SEED RACE_SEED=$RACE_SEED"
"$cargo" test --locked --test soak --test races -- --nocapture
"$cargo" test --locked --test interop -- --ignored --nocapture
