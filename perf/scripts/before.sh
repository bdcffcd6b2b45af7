#!/bin/sh
# before.sh COMMIT [NETWORK]... - is training without servers as fast as it was at an earlier commit?
# That one and HEAD are built alike (CONFIGURE: arguments of configure), then pair.sh measures the
# earlier program beside itself, which is what the machine alone makes of equal programs, and HEAD's
# beside the earlier one. ROUNDS and STEPS are those of pair.sh. Builds take ten minutes on two
# cores, a round 30 s a network.
commit=${1:?which commit?}
shift
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/heterps.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# built COMMIT FOLDER: the program is FOLDER/build/heterps
built() {
    echo "building $1" >&2
    mkdir -p "$scratch/$2/build"
    git archive "$1" | tar x -C "$scratch/$2"
    # shellcheck disable=SC2086 # several arguments
    (cd "$scratch/$2" && autoreconf -i -f && cd build && ../configure ${CONFIGURE:-} &&
        make -j "$(nproc)" heterps) >"$scratch/out" 2>&1 && return
    tail -n 20 "$scratch/out" >&2
    echo "error: $1 is not built" >&2
    exit 1
}

built "$commit" old
built HEAD new
old=$scratch/old/build/heterps new=$scratch/new/build/heterps
echo "Commit $(git log -1 --format='%h (%s)' "$commit") over itself, then $(git log -1 --format='%h (%s)' HEAD) over it."
echo
HETERPS=$old perf/scripts/pair.sh "$old" "$@" | grep -v '^Goal'
HETERPS=$new perf/scripts/pair.sh "$old" "$@"
