#!/usr/bin/env bash
# Everything that can be judged without running the programs: format, clippy for the full and for the small build, man
# pages, shell scripts' syntax, and the rules of deny.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

"$cargo" fmt --check
"$cargo" clippy --locked --all-targets -- -D warnings
"$cargo" clippy --locked --no-default-features --bin ksql-flownet -- -D warnings

for script in tools/*.sh .ci/run; do bash -n "$script"; done

pages=()
for page in man/*.[1-8] man/*/*.[1-8]; do [ -f "$page" ] && pages+=("$page"); done
if [ ${#pages[@]} -gt 0 ]; then
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W warning "${pages[@]}"
    else
        echo "lint: man pages not checked: mandoc is not installed" >&2
        exit 1
    fi
fi

tools/deny.sh
