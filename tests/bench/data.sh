#!/usr/bin/env bash
# What a request costs in the gate, beside a plain relay (the least that a proxy does), and haproxy, taking turns on loopback:
# operations a second, median and 99th percentile in us, and the CPU time of all its processes in us per operation.
# usage: data.sh SALLYPORT [ROUNDS]
set -euo pipefail
here=$(realpath "$(dirname "$0")") sallyport=$(realpath "$1") rounds=${2:-3}
folder=$(mktemp -d)
started=()
stop() {
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$folder"
}
trap stop EXIT
export XDG_STATE_HOME=$folder XDG_RUNTIME_DIR=$folder XDG_CONFIG_HOME=$folder
cc -O2 -D_GNU_SOURCE -o "$folder/load" "$here/load.c"
address=127.128.0.2
await() { for ((i = 0; i < 200; i++)); do ! "$@" || return 0; sleep 0.05; done; echo "data.sh: not ready: $*" >&2; return 1; }
start() { "$@" & started+=($!); } # in the background
port_in() { await test -s "$1" && cat "$1"; }

start "$folder/load" serve "$address" 1 >"$folder/origin"
origin=$(port_in "$folder/origin")
start "$folder/load" relay "$address" "$origin" >"$folder/relay"
relay=$(port_in "$folder/relay") relay_pids=${started[-1]}

printf 'allow http://bench.test:%s\nallow bench.test:%s\ndeny other.test\n' "$origin" "$origin" >"$folder/policy"
start "$sallyport" proxy --listen 127.0.0.1:0 --no-tty --report none --policy "$folder/policy" --resolve "bench.test:$address" 2>"$folder/said"
gate=${started[-1]}
await grep -q 'are served at' "$folder/said"
ours=$(sed -n 's/.*are served at 127.0.0.1:\([0-9]*\).*/\1/p' "$folder/said")
our_pids="$gate $(pgrep -P "$gate" | tr '\n' ' ')"

printf '%s\n' global 'nbthread 1' defaults 'mode http' 'timeout connect 5s' 'timeout client 30s' 'timeout server 30s' 'frontend f' \
    'bind 127.0.0.1:18080' 'default_backend b' 'backend b' 'http-reuse always' "server s $address:$origin" >"$folder/haproxy"
start haproxy -f "$folder/haproxy" -db
haproxy_pids=${started[-1]}
await "$folder/load" ask kept 18080 "bench.test:$origin" 1 1 "$haproxy_pids" >/dev/null 2>&1

row() { # NAME KIND CONNECTIONS COUNT PORT PIDS
    local rate median slow cpu
    # shellcheck disable=SC2086 # words
    read -r rate median slow cpu <<<"$("$folder/load" ask "$2" "$5" "bench.test:$origin" "$3" "$4" $6)"
    printf '%-10s %-8s %3s  %9s /s  p50 %6s us  p99 %6s us  cpu %6s us\n' "$1" "$2" "$3" "$rate" "$median" "$slow" "$cpu"
}
for ((round = 0; round < rounds; round++)); do
    for what in 'kept 1 20000' 'kept 32 60000' 'new 8 8000' 'connect 8 8000' 'ping 8 40000'; do
        read -r kind connections count <<<"$what"
        case $kind in connect | ping) ;; *) row haproxy "$kind" "$connections" "$count" 18080 "$haproxy_pids" ;; esac
        # The relay is asked as the origin would be: a tunnel to it answers CONNECT like any request.
        row relay "$kind" "$connections" "$count" "$relay" "$relay_pids"
        row sallyport "$kind" "$connections" "$count" "$ours" "$our_pids"
    done
done
