#!/usr/bin/env bash
# For Debian machines whose Rust has no musl target: compiles the standard library for it, once, from Debian's own sources,
# and prints the path of a rustc that uses it.
#
#   musl-std.sh             make it (or find it made) and print the compiler's path
#   musl-std.sh packages    print the packages that must be installed for that
#
# Nothing is downloaded: rust-web-src holds the library and the crates it needs. The result, about 110 MB, is kept in the
# user's cache folder under a name made of all versions that go into it, so an update of a package makes a new one.
#
#   MUSL_STD_DIR   keep it there instead
set -euo pipefail
export LC_ALL=C

tools=$(cd "$(dirname "$0")" && pwd -P)
target=x86_64-unknown-linux-musl
host=x86_64-unknown-linux-gnu
packages=(rustc-web libstd-rust-web-dev rust-web-src musl-tools musl-dev gcc binutils)
cargo=${CARGO:-cargo}

if [ "${1:-}" = packages ]; then
    echo "${packages[@]}"
    exit 0
fi

die() {
    echo "musl-std: $*" >&2
    exit 1
}

version() { dpkg-query -W -f='${db:Status-Status} ${Version}\n' "$1" 2>/dev/null | sed -n 's/^installed //p'; }
owned_file() { dpkg -L "$1" | grep -m1 -- "$2" || die "the package $1 has no $2"; }

command -v dpkg-query >/dev/null || die "this needs Debian; elsewhere: rustup target add $target"
versions=
for package in "${packages[@]}"; do
    found=$(version "$package")
    # --no-remove: rustc-web cannot be beside Debian's old rustc; nothing may be taken from the machine for it.
    [ -n "$found" ] || die "$package is missing: apt-get install --no-install-recommends --no-remove ${packages[*]}
(or, where it can be had: rustup target add $target)"
    versions+="$package $found "
done
[ "$(version rustc-web)" = "$(version rust-web-src)" ] || die "rustc-web and rust-web-src must have the same version"

rustc=$(owned_file rustc-web '/bin/rustc$')
rustc_sysroot=$("$rustc" --print sysroot)
library=$(realpath "$rustc_sysroot/lib/rustlib/src/rust/library") || die "no library sources in rust-web-src"
commit=$("$rustc" -vV | sed -n 's/^commit-hash: //p')
musl_lib=$(dirname "$(owned_file musl-dev '/libc\.a$')")
gcc_lib=$(dirname "$(gcc -print-libgcc-file-name)")

store=${MUSL_STD_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ksql-flownet/musl-std}
key=$( (echo "$versions"; cat "$0" "$tools/musl-unwind.c") | sha256sum | cut -c1-16)
sysroot=$store/$key

# What a linker needs beside the library. rustc takes it from self-contained/ and then links with plain gcc.
add_link_files() { # FOLDER
    cp "$musl_lib"/{crt1.o,rcrt1.o,Scrt1.o,crti.o,crtn.o,libc.a} "$1"
    cp "$gcc_lib"/{crtbegin.o,crtbeginS.o,crtend.o,crtendS.o} "$1"
    musl-gcc -O2 -fPIC -ffile-prefix-map="$tools=." -c "$tools/musl-unwind.c" -o "$1/musl-unwind.o"
    install -m 0644 "$gcc_lib/libgcc_eh.a" "$1/libunwind.a"
    ar rcsD "$1/libunwind.a" "$1/musl-unwind.o"
    rm "$1/musl-unwind.o"
}

# The library, from an empty project in an empty home, so that nothing of the user's settings gets in. RUSTC_BOOTSTRAP is
# set here only, where the compiler meets the library that was made for it.
compile_library() { # WORK LIB
    local work=$1 lib=$2 name
    mkdir -p "$work/src"
    printf '[package]\nname = "nothing"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n' >"$work/Cargo.toml"
    echo '#![no_std]' >"$work/src/lib.rs"
    # panic_abort must itself be compiled with panic=abort, or programs with that setting are refused.
    cat >"$work/rustc" <<W
#!/usr/bin/env bash
case " \$* " in *" --crate-name panic_abort "*) set -- "\$@" -Cpanic=abort ;; esac
exec "$rustc" "\$@"
W
    chmod +x "$work/rustc"
    for name in $(compgen -e | grep -E '^(CARGO_(PROFILE|BUILD|TARGET|ENCODED|UNSTABLE|INCREMENTAL)|RUSTC|RUSTFLAGS|RUSTDOC)'); do
        unset "$name"
    done
    # Bitcode in the library allows link-time optimisation of the programs.
    RUSTC=$work/rustc RUSTC_BOOTSTRAP=1 CARGO_HOME=$work/home \
        RUSTFLAGS="-Cembed-bitcode=yes --remap-path-prefix=${library%/library}=/rustc/$commit" \
        "$cargo" build --manifest-path "$work/Cargo.toml" --release --offline --target $target --target-dir "$work/target" \
        -Zbuild-std=std,panic_abort,proc_macro,test \
        --config 'source.crates-io.replace-with="vendored"' \
        --config "source.vendored.directory='$library/vendor'" \
        --config 'profile.release.codegen-units=1' >&2
    cp "$work/target/$target/release/deps/"*.rlib "$lib"
    rm -f "$lib"/libnothing-*.rlib
}

make_sysroot() (
    set -euo pipefail
    new=$(mktemp -d "$store/new.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    lib=$new/lib/rustlib/$target/lib
    mkdir -p "$lib/self-contained"
    ln -s "$rustc_sysroot/lib/rustlib/$host" "$new/lib/rustlib/$host"
    add_link_files "$lib/self-contained"
    compile_library "$new/work" "$lib"
    rm -rf "$new/work"
    printf '#!/bin/sh\nexec "%s" --sysroot "%s" "$@"\n' "$rustc" "$sysroot" >"$new/rustc"
    chmod +x "$new/rustc"
    mv "$new" "$sysroot"
)

mkdir -p "$store"
exec 9>"$store/lock"
flock 9 # of two that start together, one makes it
if [ ! -x "$sysroot/rustc" ]; then
    echo "musl-std: compiling the standard library for $target, once, into $sysroot" >&2
    make_sysroot
fi
echo "$sysroot/rustc"
