#!/usr/bin/env bash
# Packs the programs of `make static` with all that must go with them: man pages, completions, the example network, licence
# texts of everything linked in, SBOM, checksums. The same programs give the same archive, byte for byte: entries are sorted,
# owned by nobody in particular and dated like the changelog.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC
umask 022

die() {
    echo "dist: $*" >&2
    exit 1
}

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
date=$(sed -n "s/^## $version - \([0-9-]*\)\$/\1/p" CHANGELOG.md)
[ -n "$date" ] || die "CHANGELOG.md has no dated heading for $version"

built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/static
[ -f "$built/build" ] || die "no static programs; make static"
# What static.sh wrote: compiler, and notices that go with what the compiler links in.
compiler=$(sed -n 's/^compiler=//p' "$built/build")
mapfile -t notices < <(sed -n 's/^notice=//p' "$built/build")

name=ksql-flownet-$version-x86_64-linux
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/$name
mkdir -p "$root/bin"

programs=("$built"/{kintone-sandbox,ksql-flow,ksql-flownet})
install -m 0755 "${programs[@]}" "$root/bin"
tools/install-pages.sh "$root/share/man"
tools/install-completions.sh "$root/bin/ksql-flownet" "$root/share"
cp -R examples "$root"
cp LICENSE CHANGELOG.md README.md README.ja.md "$root"
python3 tools/inventory.py "$root" --compiler "$compiler" --date "$date" --program "${programs[@]}" --notice "${notices[@]}"
(cd "$root" && find . -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum >SHA256SUMS)

mkdir -p dist
archive=$name.tar.gz
tar -C "$stage" --sort=name --format=ustar --owner=root:0 --group=root:0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="$date 00:00:00 UTC" -cf - "$name" | gzip -9 -n >"dist/$archive"
(cd dist && sha256sum "$archive" | tee "$archive.sha256")
