#!/usr/bin/env bash
# What a request and a MiB cost in the gate, beside no proxy, two relays (the least that a proxy does, with recv and send, and within the kernel), and
# the proxies of this kind that are installed (haproxy as a reverse proxy, Apache Traffic Server, squid, tinyproxy, dante), taking turns on loopback:
# operations a second, median and 99th percentile in us, and the CPU time of all its processes in us per operation; then the bytes of an idle tunnel.
# usage: data.sh SALLYPORT [ROUNDS]
set -euo pipefail
ulimit -n "$(ulimit -Hn)"
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
names=() ports=() pids=() hosts=() kinds=()
peer() { # NAME PORT PID HOST KINDS
    local kind=${5%% *}
    [ "$kind" != body ] || kind=kept
    await "$folder/load" ask "$kind" "$2" "$4" 1 1 "$3" >/dev/null 2>&1
    names+=("$1") ports+=("$2") pids+=("$3") hosts+=("$4") kinds+=("$5")
}

start "$folder/load" serve "$address" 1 >"$folder/origin"
origin=$(port_in "$folder/origin")
start "$folder/load" serve "$address" 1048576 >"$folder/bodies"
bodies=$(port_in "$folder/bodies")
streams="ping down up both"
peer direct "$address:$origin" "${started[0]}" "$address:$origin" "kept new $streams"
peer direct "$address:$bodies" "${started[1]}" "$address:$bodies" body
for relay in relay splice; do
    start "$folder/load" "$relay" "$address" "$origin" >"$folder/$relay"
    peer "$relay" "$(port_in "$folder/$relay")" "${started[-1]}" "bench.test:$origin" "kept new connect $streams"
    start "$folder/load" "$relay" "$address" "$bodies" >"$folder/$relay.bodies"
    peer "$relay" "$(port_in "$folder/$relay.bodies")" "${started[-1]}" "bench.test:$bodies" body
done

for port in "$origin" "$bodies"; do printf 'allow http://bench.test:%s\nallow bench.test:%s\n' "$port" "$port"; done >"$folder/policy"
printf 'deny other.test\nlimit connections 20000\n' >>"$folder/policy"
start "$sallyport" proxy --listen 127.0.0.1:0 --no-tty --report none --policy "$folder/policy" --resolve "bench.test:$address" 2>"$folder/said"
await grep -q 'are served at' "$folder/said"
ours=$(sed -n 's/.*are served at 127.0.0.1:\([0-9]*\).*/\1/p' "$folder/said" | head -1)
peer sallyport "$ours" "${started[-1]}" "bench.test:$origin" "kept new connect socks $streams idle"
peer sallyport "$ours" "${started[-1]}" "bench.test:$bodies" body

if command -v haproxy >/dev/null; then
    printf '%s\n' global 'nbthread 1' defaults 'mode http' 'timeout connect 5s' 'timeout client 30s' 'timeout server 30s' 'frontend f' \
        'bind 127.0.0.1:18080' 'default_backend b' 'backend b' 'http-reuse always' "server s $address:$origin" \
        'frontend g' 'bind 127.0.0.1:18085' 'default_backend c' 'backend c' 'http-reuse always' "server s $address:$bodies" >"$folder/haproxy"
    start haproxy -f "$folder/haproxy" -db
    peer haproxy 18080 "${started[-1]}" "bench.test:$origin" "kept new"
    peer haproxy 18085 "${started[-1]}" "bench.test:$bodies" body
fi
if command -v squid >/dev/null; then
    touch "$folder/squid.log" && chmod 755 "$folder" && chmod 666 "$folder/squid.log"
    printf '%s\n' 'http_port 127.0.0.1:18081' 'http_access allow all' 'cache deny all' "access_log stdio:$folder/squid.log" 'cache_log /dev/null' \
        'pid_filename none' 'shutdown_lifetime 0 seconds' 'netdb_filename none' 'workers 1' >"$folder/squid"
    start squid -N -f "$folder/squid"
    peer squid 18081 "${started[-1]}" "$address:$origin" "kept new connect $streams"
    peer squid 18081 "${started[-1]}" "$address:$bodies" body
fi
if command -v traffic_server >/dev/null; then
    settings=(HTTP_SERVER_PORTS=18084:ipv4 URL_REMAP_REMAP_REQUIRED=0 REVERSE_PROXY_ENABLED=0 HTTP_CACHE_HTTP=0 HTTP_CONNECT_PORTS=* EXEC_THREAD_AUTOCONFIG=0
        EXEC_THREAD_LIMIT=1 LOG_LOGGING_ENABLED=0)
    start env "${settings[@]/#/PROXY_CONFIG_}" traffic_server >/dev/null 2>&1
    peer ats 18084 "${started[-1]}" "$address:$origin" "kept new connect $streams idle"
    peer ats 18084 "${started[-1]}" "$address:$bodies" body
fi
if command -v tinyproxy >/dev/null; then
    printf '%s\n' 'Port 18082' 'Listen 127.0.0.1' 'Timeout 60' 'MaxClients 100' 'LogLevel Critical' >"$folder/tinyproxy"
    start tinyproxy -d -c "$folder/tinyproxy" >/dev/null
    peer tinyproxy 18082 "${started[-1]}" "$address:$origin" "new connect $streams" # it keeps no connection
fi
if command -v danted >/dev/null; then
    printf '%s\n' 'logoutput: /dev/null' 'internal: 127.0.0.1 port = 18083' "external: 127.0.0.1" 'socksmethod: none' 'clientmethod: none' \
        'client pass { from: 0/0 to: 0/0 }' 'socks pass { from: 0/0 to: 0/0 }' >"$folder/danted"
    start danted -f "$folder/danted"
    peer dante 18083 "${started[-1]}" "$address:$origin" socks
fi

row() { # NAME KIND CONNECTIONS COUNT PORT HOST PID
    local rate median slow cpu kind=$2
    [ "$kind" != body ] || kind=kept
    read -r rate median slow cpu <<<"$("$folder/load" ask "$kind" "$5" "$6" "$3" "$4" "$7")"
    printf '%-10s %-8s %3s  %9s /s  p50 %6s us  p99 %6s us  cpu %6s us\n' "$1" "$2" "$3" "$rate" "$median" "$slow" "$cpu"
}
for ((round = 0; round < rounds; round++)); do
    for what in 'kept 1 20000' 'kept 32 60000' 'new 8 8000' 'connect 8 8000' 'socks 8 8000' 'body 4 1000' 'ping 8 40000' 'down 4 1500' 'up 4 1500' 'both 2 1500'; do
        read -r kind connections count <<<"$what"
        for ((peer = 0; peer < ${#names[@]}; peer++)); do
            [[ " ${kinds[peer]} " != *" $kind "* ]] ||
                row "${names[peer]}" "$kind" "$connections" "$count" "${ports[peer]}" "${hosts[peer]}" "${pids[peer]}"
        done
    done
done
for ((peer = 0; peer < ${#names[@]}; peer++)); do
    [[ " ${kinds[peer]} " != *" idle "* ]] ||
        printf '%-10s %-8s %3s  %9s bytes each\n' "${names[peer]}" idle 9000 "$("$folder/load" idle "${ports[peer]}" "${hosts[peer]}" 9000 "${pids[peer]}")"
done
