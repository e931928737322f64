#!/usr/bin/env bash
# What a million host rules cost, beside a plain hash table of the same names. usage: policy.sh BENCH-POLICY [RULES]
set -euo pipefail
for _ in 1 2 3; do
    "$1" "${2:-1000000}"
done
