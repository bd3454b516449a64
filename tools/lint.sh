#!/usr/bin/env bash
# Everything that can be judged without running the programs: format, clippy for the full and for the small build, man
# pages, shell scripts, and the rules of deny.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

for tool in mandoc shellcheck; do
    command -v $tool >/dev/null || {
        echo "lint: $tool is missing (apt-get install $tool)" >&2
        exit 1
    }
done

"$cargo" fmt --check
"$cargo" clippy --locked --all-targets -- -D warnings
"$cargo" clippy --locked --no-default-features --bin ksql-flownet -- -D warnings

mapfile -t pages < <(compgen -G 'man/*.[1-8]'; compgen -G 'man/*/*.[1-8]')
mandoc -T lint -W warning "${pages[@]}"
shellcheck --external-sources --severity=warning tools/*.sh .ci/run

tools/deny.sh
