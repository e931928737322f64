#!/usr/bin/env bash
# What the same million names cost others: haproxy's map (a look-up as CPU time of the process, with the map minus without it, each
# request making 500 of them for random names of which half are there; and loading it), and squid's dstdomain ACL (loading only: one
# look-up is lost in what a request costs there). Those that are not installed are said to be missing. usage: policy_peers.sh NAMES
set -euo pipefail
names=$1
count=$(wc -l <"$names")
lookups=500 requests=2000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Seconds and MiB of a command that ends by itself.
cost() {
    python3 - "$@" <<'END'
import resource, subprocess, sys, time
start = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(f"{time.monotonic() - start:.2f} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f}")
END
}

# A configuration; $1 is what follows the name: the map, or nothing.
haproxy_config() {
    printf 'global\n  nbthread 1\n'
    printf 'defaults\n  mode http\n  timeout client 30s\n  timeout server 30s\n  timeout connect 5s\n'
    printf 'frontend f\n  bind unix@%s/socket\n' "$work"
    for ((i = 0; i < lookups; i++)); do
        printf '  http-request set-var(txn.i) rand(%d)\n' $((count * 2))
        printf '  http-request set-var(txn.m) var(txn.i),mod(997)\n'
        printf '  http-request set-var(txn.n) str(h),concat(,txn.i,.d),concat(,txn.m,.example.org)%s\n' "$1"
    done
    printf '  http-request return status 200\n'
}

# CPU seconds that haproxy takes for all requests.
haproxy_run() {
    haproxy -q -db -f "$1" &
    local pid=$! before after
    while ! curl -sf --unix-socket "$work/socket" http://a.test/ >/dev/null 2>&1; do kill -0 "$pid"; sleep 0.2; done
    before=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
    curl -sf --unix-socket "$work/socket" "http://a.test/[1-$requests]" >/dev/null
    after=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    rm -f "$work/socket"
    echo $(((after - before) * 1000000000 / $(getconf CLK_TCK)))
}

bench_haproxy() {
    awk '{ print $1, "1" }' "$names" >"$work/map"
    haproxy_config "" >"$work/without.cfg"
    haproxy_config ",map_str($work/map,0)" >"$work/with.cfg"
    printf 'haproxy map      load '
    read -r base_s base_mib < <(cost haproxy -c -f "$work/without.cfg")
    read -r with_s with_mib < <(cost haproxy -c -f "$work/with.cfg")
    awk -v a="$with_s" -v b="$base_s" -v m="$with_mib" -v n="$base_mib" -v c="$count" \
        'BEGIN { printf "%.2f s, %.0f MiB (%.0f bytes a name)\n", a - b, m - n, (m - n) * 1048576 / c }'
    local without with
    without=$(haproxy_run "$work/without.cfg")
    with=$(haproxy_run "$work/with.cfg")
    printf 'haproxy map      mean %d ns a look-up\n' $(((with - without) / (lookups * requests)))
}

bench_squid() {
    local squid=$1
    printf 'http_port 127.0.0.1:3128\npid_filename none\ncache_log /dev/null\naccess_log none\n' >"$work/without.conf"
    { cat "$work/without.conf"; printf 'acl names dstdomain "%s"\nhttp_access allow names\n' "$names"; } >"$work/with.conf"
    read -r base_s base_mib < <(cost "$squid" -k parse -f "$work/without.conf")
    read -r with_s with_mib < <(cost "$squid" -k parse -f "$work/with.conf")
    awk -v a="$with_s" -v b="$base_s" -v m="$with_mib" -v n="$base_mib" -v c="$count" \
        'BEGIN { printf "squid dstdomain  load %.2f s, %.0f MiB (%.0f bytes a name)\n", a - b, m - n, (m - n) * 1048576 / c }'
}

if command -v haproxy >/dev/null; then bench_haproxy; else echo "haproxy map      not measured: haproxy is not installed"; fi
if squid=$(PATH=$PATH:/usr/sbin command -v squid); then
    bench_squid "$squid"
else
    echo "squid dstdomain  not measured: squid is not installed"
fi
