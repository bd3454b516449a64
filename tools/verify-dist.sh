#!/usr/bin/env bash
# Packs the release twice, in different circumstances, and compares; then looks into the archive: its own checksums hold,
# the SBOM names the programs that are in it.
set -euo pipefail
cd "$(dirname "$0")/.."

(umask 022 && TZ=Asia/Tokyo tools/dist.sh) >/dev/null
archive=$(echo dist/*.tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mv "$archive" "$work/first.tar.gz"
(umask 077 && TZ=America/New_York LANG=C.UTF-8 tools/dist.sh)
cmp "$work/first.tar.gz" "$archive"

tar -C "$work" -xzf "$archive"
cd "$work"/ksql-flownet-*/
sha256sum --quiet -c SHA256SUMS
for program in bin/*; do
    grep -q "$(sha256sum "$program" | cut -d' ' -f1)" sbom.cdx.json || {
        echo "verify-dist: the SBOM does not name $program" >&2
        exit 1
    }
done
echo "release archive: the same twice, checksums and SBOM hold"
