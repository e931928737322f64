#!/usr/bin/env bash
# What the gate carries, beside the same transfer without it: ratios, on loopback. usage: throughput.sh SALLYPORT
set -euo pipefail
here=$(realpath "$(dirname "$0")") sallyport=$(realpath "$1")
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
export XDG_STATE_HOME=$folder XDG_RUNTIME_DIR=$folder XDG_CONFIG_HOME=$folder
cc -O2 -D_GNU_SOURCE -pthread -o "$folder/server" "$here/server.c"
address=127.128.0.2
"$folder/server" "$address" >"$folder/port" &
server=$!
until [ -s "$folder/port" ]; do sleep 0.05; done
port=$(cat "$folder/port")
mkdir "$folder/work" && cd "$folder/work"

in_gate() { "$sallyport" run --no-tty --report none --default allow --resolve "bench.test:$address" -- "$@"; }
speed() { "$@" -sS -o /dev/null -w '%{speed_download}\n' --noproxy ''; }
best_of() { # RUNS COMMAND…: the largest number it prints
    local runs=$1 best=0 got
    shift
    for ((; runs > 0; runs--)); do
        got=$("$@")
        best=$(awk -v a="$best" -v b="$got" 'BEGIN { print (b > a) ? b : a }')
    done
    echo "$best"
}
row() { # NAME UNIT DIRECT VALUE
    awk -v n="$1" -v u="$2" -v d="$3" -v v="$4" 'BEGIN { printf "%-44s %10.0f %-8s  %.2f of direct\n", n, v, u, v / d }'
}
mib() { awk -v b="$1" 'BEGIN { print b / 1048576 }'; }

big=2000000000
direct=$(mib "$(best_of 3 speed curl "http://$address:$port/bytes/$big")")
row 'one stream, direct' MiB/s "$direct" "$direct"
for way in 'HTTP|' 'CONNECT|-p' 'SOCKS5|-x socks5h://127.0.0.1:61080'; do
    # shellcheck disable=SC2086 # words
    got=$(mib "$(best_of 3 speed in_gate curl ${way#*|} "http://bench.test:$port/bytes/$big")")
    row "one stream, ${way%%|*}" MiB/s "$direct" "$got"
done

# requests a second, one after the other: on one kept-alive connection, and on a new one each
count=3000
rate() { # COMMAND…: transfers a second
    local start end
    start=$(date +%s%N)
    "$@" >/dev/null
    end=$(date +%s%N)
    awk -v n="$count" -v t="$((end - start))" 'BEGIN { print n / (t / 1e9) }'
}
kept=$(best_of 3 rate curl -sS "http://$address:$port/bytes/1?[1-$count]")
row 'requests, kept alive, direct' /s "$kept" "$kept"
row 'requests, kept alive, HTTP' /s "$kept" "$(best_of 3 rate in_gate curl -sS "http://bench.test:$port/bytes/1?[1-$count]")"
each=$(best_of 3 rate curl -sS -H 'Connection: close' "http://$address:$port/bytes/1?[1-$count]")
row 'requests, a connection each, direct' /s "$each" "$each"
row 'requests, a connection each, HTTP' /s "$each" \
    "$(best_of 3 rate in_gate curl -sS -H 'Connection: close' -H 'Proxy-Connection: close' "http://bench.test:$port/bytes/1?[1-$count]")"
row 'requests, a connection each, CONNECT' /s "$each" \
    "$(best_of 3 rate in_gate curl -sS -p -H 'Connection: close' "http://bench.test:$port/bytes/1?[1-$count]")"
