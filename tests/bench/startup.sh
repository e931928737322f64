#!/usr/bin/env bash
# What a start costs, beside the smallest sandbox of another make. usage: startup.sh SALLYPORT [RUNS]
set -euo pipefail
sallyport=$(realpath "$1") runs=${2:-200}
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
export XDG_STATE_HOME=$state XDG_RUNTIME_DIR=$state XDG_CONFIG_HOME=$state
cd "$state"

ours="$sallyport run --no-tty --report none -- true"
theirs='bwrap --unshare-all --ro-bind / / true'
# alternating in one call, so that both meet the same machine; -N: no shell in between
hyperfine -N --warmup 20 --runs "$runs" --export-csv "$state/times.csv" "$theirs" "$ours" true >&2
python3 - "$state/times.csv" <<'END'
import csv, sys
theirs, ours, plain = [row for row in csv.DictReader(open(sys.argv[1]))]
ms = lambda row, key: float(row[key]) * 1000
for name, row in (("bwrap --unshare-all --ro-bind / / true", theirs), ("sallyport run -- true", ours), ("true", plain)):
    print(f"{name:42} median {ms(row, 'median'):6.2f} ms   mean {ms(row, 'mean'):6.2f}   min {ms(row, 'min'):6.2f}")
print(f"sallyport / bwrap, median: {float(ours['median']) / float(theirs['median']):.2f}")
END
