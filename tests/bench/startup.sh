#!/usr/bin/env bash
# What a start costs, beside the smallest sandbox of another make. usage: startup.sh SALLYPORT [ROUNDS]
set -euo pipefail
sallyport=$(realpath "$1") rounds=${2:-10}
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
export XDG_STATE_HOME=$state XDG_RUNTIME_DIR=$state XDG_CONFIG_HOME=$state
mkdir "$state/work" && cd "$state/work"

ours="$sallyport run --no-tty --report none -- true"
theirs='bwrap --unshare-all --ro-bind / / true'
# In short rounds, taking turns, so that both meet the same machine; -N: no shell in between.
for ((round = 0; round < rounds; round++)); do
    hyperfine -N --warmup 3 --runs 40 --export-json "$state/round$round.json" "$theirs" "$ours" true >"$state/log" 2>&1 ||
        { cat "$state/log" >&2; exit 1; }
done
python3 - "$state"/round*.json <<'END'
import json, statistics, sys

times, ratios = {}, []
for path in sys.argv[1:]:
    results = json.load(open(path))["results"]
    for result in results:
        times.setdefault(result["command"].split("/")[-1], []).extend(result["times"])
    ratios.append(results[1]["median"] / results[0]["median"])
for (command, all_of), name in zip(times.items(), ("bwrap --unshare-all --ro-bind / / true", "sallyport run -- true", "true")):
    ms = sorted(1000 * t for t in all_of)
    print(f"{name:42} median {statistics.median(ms):6.2f} ms   fastest {ms[0]:6.2f}   of {len(ms)}")
print(f"sallyport / bwrap: {statistics.median(ratios):.2f} (median of {len(ratios)} rounds, "
      f"{min(ratios):.2f} to {max(ratios):.2f})")
END
