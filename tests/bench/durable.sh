#!/usr/bin/env bash
# Requests a second on kept-alive connections: with `durable strict`, with `durable batch`, and with the log in memory. usage: durable.sh SALLYPORT
set -euo pipefail
here=$(realpath "$(dirname "$0")") sallyport=$(realpath "$1")
folder=$(mktemp -d -p /var/tmp) memory=$(mktemp -d -p /dev/shm)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder" "$memory"' EXIT
export XDG_RUNTIME_DIR=$folder XDG_CONFIG_HOME=$folder
cc -O2 -D_GNU_SOURCE -pthread -o "$folder/server" "$here/server.c"
address=127.128.0.2
"$folder/server" "$address" >"$folder/port" &
server=$!
until [ -s "$folder/port" ]; do sleep 0.05; done
port=$(cat "$folder/port")
mkdir "$folder/work" && cd "$folder/work"
for durable in strict batch; do
    printf 'version 1\ndefault allow\ndurable %s\n' "$durable" >"../$durable.policy"
done

count=3200 rounds=5
rate() { # CLIENTS DURABLE STATE: requests a second; each client has a connection of its own
    local start end
    start=$(date +%s%N)
    XDG_STATE_HOME=$3 "$sallyport" run --no-tty --report none --policy "../$2.policy" --resolve "bench.test:$address" -- bash -c "
        for i in \$(seq $1); do curl -sS 'http://bench.test:$port/bytes/1?[1-$((count / $1))]' >/dev/null & done; wait"
    end=$(date +%s%N)
    echo $((count * 1000000 / ((end - start) / 1000)))
}
median() { sort -n | sed -n "$(((rounds + 1) / 2))p"; }
for clients in 1 8 64; do
    for ((i = 0; i < rounds; i++)); do # taking turns
        rate "$clients" batch "$memory" >>"../memory.$clients"
        rate "$clients" batch "$folder" >>"../batch.$clients"
        rate "$clients" strict "$folder" >>"../strict.$clients"
    done
    without=$(median <"../memory.$clients")
    for kind in memory batch strict; do
        awk -v c="$clients" -v k="$kind" -v v="$(median <"../$kind.$clients")" -v w="$without" \
            'BEGIN { printf "%2d clients, %-6s %8d /s  %.2f\n", c, k, v, v / w }'
    done
done
