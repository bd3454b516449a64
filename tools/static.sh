#!/usr/bin/env bash
# Builds the three programs as static x86_64 musl programs: no loader, no shared library, one file each that runs on any
# Linux of that processor. Puts them into target/static and prints path, size and SHA-256 of each.
#
# The compiler is rustup's where it has the musl target (rustup target add x86_64-unknown-linux-musl); else Debian's, for
# which tools/musl-std.sh makes the standard library. Both want musl-gcc (package musl-tools) for the C code in ring.
#
#   KSQL_STATIC_COMPILER   rustup or debian: take this one
#   CARGO, CARGO_HOME, CARGO_TARGET_DIR, SOURCE_DATE_EPOCH   as usual
set -euo pipefail
cd "$(dirname "$0")/.."
target=x86_64-unknown-linux-musl
cargo=${CARGO:-cargo}

die() {
    echo "static: $*" >&2
    exit 1
}

[ "$(uname -sm)" = "Linux x86_64" ] || die "builds on Linux x86_64 only; this is $(uname -sm)"
for tool in musl-gcc gcc ar readelf; do
    command -v $tool >/dev/null || die "$tool is missing: apt-get install musl-tools gcc binutils"
done

rustc=${RUSTC:-rustc}
compiler=${KSQL_STATIC_COMPILER:-}
if [ -z "$compiler" ]; then
    compiler=debian
    [ -d "$("$rustc" --print sysroot)/lib/rustlib/$target/lib" ] && compiler=rustup
fi
case $compiler in
rustup) ;;
debian) rustc=$(tools/musl-std.sh) ;;
*) die "KSQL_STATIC_COMPILER must be rustup or debian" ;;
esac

root=$(pwd -P)
cargo_home=${CARGO_HOME:-$HOME/.cargo}
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
sysroot=$("$rustc" --print sysroot)
rustc_commit=$("$rustc" -vV | sed -n 's/^commit-hash: //p')
# shellcheck source=tools/reproducible.sh
. tools/reproducible.sh

export RUSTC=$rustc CARGO_TARGET_DIR=$target_dir
export CC_x86_64_unknown_linux_musl=musl-gcc AR_x86_64_unknown_linux_musl=ar
# gcc links: musl-gcc would ask for musl's loader.
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=gcc

echo "static: building with $("$rustc" --version) ($compiler)" >&2
build() { "$cargo" build --locked --target $target "$@"; }
# The control plane by itself, so that nothing of the other two's dependencies is even compiled in.
build --profile small --no-default-features --bin ksql-flownet
build --profile release --bin ksql-flow --bin kintone-sandbox

static_dir=$target_dir/static
mkdir -p "$static_dir"
for built in small/ksql-flownet release/ksql-flow release/kintone-sandbox; do
    program=$static_dir/${built##*/}
    install -m 0755 "$target_dir/$target/$built" "$program"
    if readelf -lW "$program" | grep -q INTERP; then die "$program asks for a loader"; fi
    if readelf -dW "$program" | grep -q '(NEEDED)'; then die "$program needs shared libraries"; fi
    printf '%s  %s bytes  sha256 %s\n' "$program" "$(stat -c %s "$program")" "$(sha256sum "$program" | cut -d' ' -f1)"
done

# For dist.sh: what the programs were made with, and the notices of what the compiler links in.
package_notice() { # NAME=FILE of the Debian package that owns a file
    local owner
    owner=$(dpkg -S "$(realpath "$1")" 2>/dev/null | sed -n '1s/:.*//p') || true
    [ -z "$owner" ] || printf 'notice=%s=/usr/share/doc/%s/copyright\n' "$2" "$owner"
}
{
    echo "compiler=$("$rustc" --version)"
    if [ "$compiler" = rustup ]; then
        echo "notice=rust-std=$sysroot/share/doc/rust/COPYRIGHT-library.html"
    else
        echo "notice=rust-std=/usr/share/doc/rustc-web/copyright"
        package_notice "$(gcc -print-file-name=libgcc_eh.a)" gcc-unwinder
    fi
    package_notice "$(command -v musl-gcc)" musl
} >"$static_dir/build"
