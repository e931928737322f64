#!/usr/bin/env bash
# What a million host rules cost, beside a plain hash table of the same names, and beside what others do with them.
# usage: policy.sh BENCH-POLICY [RULES]
set -euo pipefail
names=$(mktemp)
trap 'rm -f "$names"' EXIT
for _ in 1 2 3; do
    "$1" "${2:-1000000}" "$names"
done
"$(dirname "${BASH_SOURCE[0]}")/policy_peers.sh" "$names"
