#!/usr/bin/env bash
# Puts the man pages of man/ and man/ja/ under a man folder, or takes them away again.
#
#   install-pages.sh [--remove] MAN_FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

remove=no
[ "$1" = --remove ] && { remove=yes; shift; }
man=$1

for page in man/*.[1-8] man/*/*.[1-8]; do
    [ -f "$page" ] || continue
    language=${page#man/}
    language=${language%"${page##*/}"} # "" or "ja/"
    folder=$man/${language}man${page##*.}
    if [ $remove = yes ]; then
        rm -f "$folder/${page##*/}"
    else
        install -d "$folder"
        install -m 0644 "$page" "$folder"
    fi
done
