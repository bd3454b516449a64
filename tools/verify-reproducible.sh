#!/usr/bin/env bash
# Builds the static programs twice from the same files, under conditions that differ in what must not matter: folder and
# its depth, cargo's home, language, time zone, umask. Fails unless each program has the same SHA-256 both times.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d "${TMPDIR:-/tmp}/reproducible.XXXXXX")
trap 'rm -rf "$work"' EXIT

first=$work/a second=$work/another/and/deeper/folder
mkdir -p "$first" "$second"
for copy in "$first" "$second"; do
    # What git knows, as it is in the work tree: no target folder, no left-overs.
    git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --ignore-failed-read -cf - |
        tar -xf - -C "$copy"
done
ln -s "${CARGO_HOME:-$HOME/.cargo}" "$work/second-cargo-home"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
unset CARGO_TARGET_DIR

(umask 022 && cd "$first" && TZ=Asia/Tokyo LANG=C.UTF-8 tools/static.sh) >"$work/first.txt"
(umask 077 && cd "$second" && TZ=America/New_York LC_ALL=POSIX CARGO_HOME=$work/second-cargo-home tools/static.sh) >"$work/second.txt"

[ "$(wc -l <"$work/first.txt")" = 3 ] || { echo "verify-reproducible: no three programs were built" >&2; exit 1; }
different=0
while read -r path size _ _ sum && read -r _ other_size _ _ other_sum <&3; do
    name=${path##*/}
    if [ "$sum" = "$other_sum" ]; then
        echo "$name: the same twice, $size bytes, sha256 $sum"
    else
        echo "$name: DIFFERENT: $size bytes $sum, then $other_size bytes $other_sum"
        different=1
    fi
done <"$work/first.txt" 3<"$work/second.txt"
exit $different
