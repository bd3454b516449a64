#!/usr/bin/env bash
# RUSTC_WRAPPER of the static build: calls the compiler with fixed names for the folders of this machine, as told in
# KSQL_TRIMMED_FOLDERS (one FOLDER=NAME a line, made by reproducible.sh).
set -euo pipefail
trimmed=()
while IFS= read -r pair; do trimmed+=("--remap-path-prefix=$pair"); done <<<"$KSQL_TRIMMED_FOLDERS"
exec "$@" "${trimmed[@]}"
