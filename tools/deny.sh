#!/usr/bin/env bash
# Holds the dependencies against deny.toml with cargo-deny. Licences, bans and sources are always judged. Advisories need
# the RustSec database, a git repository that not every machine can reach: the last line says whether they were judged.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

if ! "$cargo" deny --version >/dev/null 2>&1; then
    echo "deny: cargo-deny is not installed (cargo install cargo-deny --locked); dependencies NOT judged" >&2
    exit 1
fi

"$cargo" deny check licenses bans sources

# An old clone is better than none; cargo-deny itself complains when it is too old.
timeout 60 "$cargo" deny fetch db >/dev/null 2>&1 || true
if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-db*/*/.git" >/dev/null; then
    "$cargo" deny check --disable-fetch advisories
    echo "deny: licences, bans, sources and advisories judged"
else
    echo "deny: licences, bans and sources judged; advisories NOT judged: the advisory database cannot be reached from here"
fi
