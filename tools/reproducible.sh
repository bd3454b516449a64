# shellcheck shell=bash
# The settings that make two builds of one commit the same, byte for byte, wherever and whenever they are made. Sourced by
# static.sh; the reason for each is beside it. `make verify-reproducible` proves the sum of them.
#
# Not here, because every release build wants them, are lines of [profile.release] in Cargo.toml:
#   codegen-units = 1, lto = "fat"      code is not divided by a number of threads, so their order cannot show
#   strip = "symbols", debug = false    symbols and debug information name folders and object files of the machine
# and Cargo.lock with --locked: the same sources of the same crates.

# What the caller has found out: where the project, cargo's home, the build and the compiler are, and the compiler's commit.
: "${root:?}" "${cargo_home:?}" "${target_dir:?}" "${sysroot:?}" "${rustc_commit:?}"

# Incremental pieces depend on what was built before.
export CARGO_INCREMENTAL=0
# Sorting and messages of the C tools follow the language of the machine, dates its zone.
export LC_ALL=C TZ=UTC
# For any tool that wants to write down a date: the one of the commit, or none.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
# Settings of the person who builds are not part of the source.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC_WORKSPACE_WRAPPER RUSTC_BOOTSTRAP
unset CFLAGS CPPFLAGS LDFLAGS ARFLAGS
for name in $(compgen -e CARGO_PROFILE_); do unset "$name"; done

# Panic messages and assertions hold the paths of source files. Each folder of the machine gets a fixed name. This is
# done in a wrapper around the compiler and not in RUSTFLAGS: cargo derives the names of symbols from RUSTFLAGS, so a
# path there would change the program that it is meant to keep the same.
trimmed_folders() { # prints FOLDER=NAME lines; where two match, the compilers take the last
    printf '%s\n' "$cargo_home=/cargo" "$root=/src" "$target_dir=/target"
    # The standard library's sources, where they are installed, are found under the name that its makers gave them.
    printf '%s\n' "$sysroot/lib/rustlib/src/rust=/rustc/$rustc_commit"
}
KSQL_TRIMMED_FOLDERS=$(trimmed_folders)
export KSQL_TRIMMED_FOLDERS
export RUSTC_WRAPPER=$root/tools/rustc-trimmed.sh

# The same for the C and assembly of ring. Its archive is made by ar, where D leaves out times and owners (binutils'
# default on Debian, not everywhere).
c_flags=-U_FORTIFY_SOURCE # musl has none of the functions that some compilers would call for it
while IFS= read -r pair; do c_flags+=" -ffile-prefix-map=$pair"; done <<<"$KSQL_TRIMMED_FOLDERS"
export CFLAGS_x86_64_unknown_linux_musl=$c_flags
export ARFLAGS_x86_64_unknown_linux_musl=D
