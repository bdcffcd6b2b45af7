#!/bin/sh
# record.sh RECORD SCRIPT [ARGUMENT]... - runs a script of this folder (census.sh, say) and puts what
# it prints above the history in perf/records/RECORD.md, also where it misses a goal. Where it gives
# up, the record stays as it is.
[ $# -ge 2 ] || { echo "usage: perf/scripts/record.sh RECORD SCRIPT [ARGUMENT]..." >&2; exit 64; }
here=$(cd "$(dirname "$0")" && pwd) || exit 1
record=$here/../records/$1.md script=$2
shift 2
printed=$(mktemp) || exit 1
trap 'rm -f "$printed"' EXIT
"$here/$script" "$@" >"$printed"
status=$?
if [ $status -ne 0 ] && ! grep -q '^Goal: .*MISSED' "$printed"; then
    echo "error: $script ended with $status; $record is as it was" >&2
    exit $status
fi
printf '\n' >>"$printed"
[ ! -f "$record" ] || sed -n '/^## History$/,$p' "$record" >>"$printed"
cat "$printed" >"$record"
exit $status
