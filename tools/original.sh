#!/usr/bin/env bash
# Prints the path of the original's command line program, installing it below target/ when it is not there yet.
# Says why on stderr and fails when Node.js or the npm registry is missing: interop tests and `make bench` then skip it.
set -euo pipefail
cd "$(dirname "$0")/.."
package=@rex0220/ksql-flownet@1.0.0
home=${CARGO_TARGET_DIR:-target}/original
program=$home/node_modules/.bin/ksql-flownet

for tool in node npm; do
    command -v "$tool" >/dev/null || { echo "original: $tool is not installed" >&2; exit 1; }
done
if [ ! -x "$program" ]; then
    mkdir -p "$home"
    npm install --prefix "$home" --no-audit --no-fund --ignore-scripts "$package" >"$home/install.log" 2>&1 ||
        { echo "original: npm could not install $package (see $home/install.log)" >&2; exit 1; }
fi
readlink -f "$program"
