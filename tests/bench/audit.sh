#!/usr/bin/env bash
# What questions about an audit log cost: the index made from nothing, then each question five times; the fastest counts, because
# other processes only add. usage: audit.sh SALLYPORT [RECORDS...]
set -euo pipefail
sallyport=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- 100000 1000000
tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
export HOME=$top XDG_STATE_HOME=$top XDG_RUNTIME_DIR=$top
log=$top/sallyport/audit.jsonl
mkdir "$top/sallyport"

# Milliseconds of one question.
ask() {
    local from
    from=$(date +%s%N)
    "$sallyport" audit "$@" >"$top/answer"
    echo $((($(date +%s%N) - from) / 1000000))
}

for records in "$@"; do
    rm -rf "$top/sallyport/audit"
    python3 "$tests/cli/generate_log.py" "$records" "$log"
    cold=$(ask query --limit 1)
    printf '%s records, %s MiB; index %s MiB, made in %s ms\n' "$records" "$(($(stat -c %s "$log") >> 20))" \
        "$(($(du -sk "$top/sallyport/audit" | cut -f1) >> 10))" "$cold"
    record=$(sed -n '1s/^[^ ]* [^ ]*  \([^ ]*\).*/\1/p' "$top/answer")
    while read -r question; do
        best=999999
        for _ in 1 2 3 4 5; do
            # shellcheck disable=SC2086 # its words
            ms=$(ask $question)
            [ "$ms" -ge "$best" ] || best=$ms
        done
        printf '%6s ms  %s\n' "$best" "$question"
    done <<END
query
query --verdict deny --since 1d
query --domain tracker.test
query --host nothing.test
query --program curl
query --program nothing
query --person ana --user 1000
query --rule nothing
query --run 000001
show $record
why $record
summary
summary --since 60d
report
report --since 60d --by host
report --since 60d --by run
report --since 60d --by person
report --last
END
done
