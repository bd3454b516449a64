#!/usr/bin/env bash
# Lets ksql-flownet write its completions to where bash, zsh and fish look for them, or takes them away again.
#
#   install-completions.sh PROGRAM SHARE_FOLDER
#   install-completions.sh --remove SHARE_FOLDER
set -euo pipefail

program=$1 share=$2
for target in bash:bash-completion/completions/ksql-flownet zsh:zsh/site-functions/_ksql-flownet \
    fish:fish/vendor_completions.d/ksql-flownet.fish; do
    file=$share/${target#*:}
    if [ "$program" = --remove ]; then
        rm -f "$file"
        continue
    fi
    install -d "$(dirname "$file")"
    "$program" completions "${target%%:*}" >"$file"
    chmod 0644 "$file"
done
