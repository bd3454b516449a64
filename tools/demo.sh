#!/usr/bin/env bash
# The main job on the sandbox, step by step: a month that succeeds, the same month again, a month whose data gate fails.
# Needs nothing but the three programs; leaves no process and no file behind.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${DEMO_BIN_DIR:-target/debug}
export PATH="$PWD/$bin:$PATH" LC_ALL=C.UTF-8

dir=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null || true; }
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

step() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }

step "1. A kintone of our own: four system apps, orders and customers with generated records"
show kintone-sandbox seed --dir "$dir/kintone" --orders 2000 --customers 50
kintone-sandbox serve --apps "$dir/kintone/apps.json" --data "$dir/kintone/data" --port 0 >"$dir/serve.log" &
server=$!
for _ in $(seq 100); do
    base=$(sed -n 's/^kintone-sandbox: listening on //p' "$dir/serve.log")
    [ -z "$base" ] || break
    kill -0 "$server" 2>/dev/null || { cat "$dir/serve.log" >&2; exit 1; }
    sleep 0.1
done
[ -n "$base" ] || { echo "demo: the sandbox did not start" >&2; exit 1; }
echo "kintone-sandbox listens on $base"

# What a server's environment file would hold (ksql-flownet(1), ENVIRONMENT).
# shellcheck disable=SC1091
. "$dir/kintone/sandbox.env"
export KSQL_FLOWNET_BASE_URL=$base KSQL_FLOWNET_PROFILE=demo KSQL_FLOWNET_REQUESTED_BY=demo
example=$PWD/examples/monthly_summary
export KSQL_FLOW_BIN=ksql-flow KSQL_FLOW_CONFIG=$example/ksql.config.json
export KSQL_FLOW_WORKDIR=$dir/work
network=examples/monthly_summary/network.yaml

step "2. Is the definition good, and what would it do?"
show ksql-flownet validate "$network"
show ksql-flownet plan "$network" --scheduled-for 2026-08-01T00:00:00+09:00

step "3. August: count gate, data gate, aggregation"
show ksql-flownet run-network "$network" --scheduled-for 2026-08-01T00:00:00+09:00 --resume --verbose

step "4. The same command again: nothing to do"
show ksql-flownet run-network "$network" --scheduled-for 2026-08-01T00:00:00+09:00 --resume

step "5. October: its data gate finds test orders, so nothing is aggregated"
if show ksql-flownet run-network "$network" --scheduled-for 2026-10-01T00:00:00+09:00 --resume; then
    echo "demo: October should have failed" >&2
    exit 1
fi

step "6. What the records say"
show ksql-flownet status monthly_summary --profile demo --business-key monthly_summary@2026-08
show ksql-flownet status monthly_summary --profile demo --business-key monthly_summary@2026-10

step "7. The customers' sums beside sums computed another way (awk over the orders)"
cd "$dir" # the runner keeps its logs below the current folder
for table in orders customers; do
    ksql-flow run -f "$example/check/$table.sql" --profile demo --config "$KSQL_FLOW_CONFIG" \
        --export-csv "$dir/$table.csv" >/dev/null
done
awk -F, '
    { sub(/\r$/, "") }
    FNR == 1 { next }
    NR == FNR {
        if ($2 >= "2026-08-01" && $2 < "2026-09-01" && $3 == "受注完了") { count[$1]++; sum[$1] += $4 }
        next
    }
    !head++ { printf "%-12s %8s %12s %8s %12s\n", "customer", "count", "sum", "by awk", "by awk" }
    ($1 in count) {
        same = ($2 == count[$1] && $3 == sum[$1])
        if (++shown <= 5 || !same) printf "%-12s %8s %12s %8s %12s%s\n", $1, $2, $3, count[$1], sum[$1], same ? "" : "  DIFFERENT"
        checked++
        if (!same) wrong++
        delete count[$1]
    }
    END {
        for (c in count) { print "missing: " c; wrong++ }
        printf "%d customers compared, %d different\n", checked, wrong
        exit !(checked > 0 && !wrong)
    }
' "$dir/orders.csv" "$dir/customers.csv"

step "Done: NEW, NO-OP and FAILED as they should be, and every sum is right"
