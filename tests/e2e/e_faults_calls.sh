#!/bin/sh
# Whatever call fails, a run ends in time with a code of the design and a line that says why; what
# was whole stays whole, and the next run goes on to the same end. A sample of all calls, another
# one each time; HPS_SEED is that of a sample that failed.
. "$srcdir/tests/lib/lib.sh"
command -v cc >cc.path || skip 'no compiler at hand'
cc -shared -fPIC -w -o fail_call.so "$srcdir/tests/lib/fail_call.c" 2>err || skip 'no glibc'
! nm -D "$HETERPS" 2>/dev/null | grep -q -E '__(asan|tsan)_init' ||
    skip 'a sanitizer has its own malloc'
seed=${HPS_SEED:-$(date +%s)}
world=$HPS_TMP/faults
faults=$srcdir/tests/lib/faults.sh
echo "-- HPS_SEED=$seed"

# sample N FILE: so many of its lines
sample() {
    awk -v seed="$seed" -v n="$1" 'BEGIN { srand(seed) } { print rand(), $0 }' "$2" | sort -k 1,1n |
        head -n "$1" | cut -d ' ' -f 2-
}

# number VERB KIND, all VERB KIND, last VERB KIND: how many calls the program itself makes; each of
# them; the last one
number_of() { awk -v k="$1 $2 own once" '$1 " " $2 " " $3 " " $4 == k { print $5 }' calls; }
all() { seq "$(number_of "$1" "$2")" | sed "s/^/$1 $2 own once /"; }
last() { echo "$1 $2 own once $(number_of "$1" "$2")"; }

# train, another verb that starts MPI, and those that do not
sh "$faults" verbs >known
mpi='^(train|restart|ranks.*|eval|plan)$'
grep -E "$mpi" known | grep -v train >others
{ echo train && sample 1 others && grep -v -E "$mpi" known; } >drawn
# shellcheck disable=SC2046 # words
sh "$faults" world "$world" $(cat drawn) || { fail 'an undisturbed run'; verdict; }
# shellcheck disable=SC2046
sh "$faults" count "$world" $(cat drawn) | grep -v ' library ' >calls
! grep '^memory libjansson' "$world/ref/info.calls" || fail 'JSON takes memory that may fail'

# of each verb some kinds, of each kind one call
while read -r verb; do
    grep "^$verb " calls >mine
    sample 3 mine
done <drawn | awk -v seed="$seed" 'BEGIN { srand(seed) }
    { print $1, $2, $3, $4, 1 + int(rand() * $5) }' >runs
# and what once was wrong: names that may not last; the last status.json; presets without memory
{
    all import sync
    last train rename
    awk '$1 == "generate" && $3 == "libyaml" { print $1, $2, $3, $4, int(0.9 * $5) }' calls
} >>runs

xargs -P 2 -L 1 sh "$faults" one "$world" <runs >results
cat results
[ "$(wc -l <results)" -eq "$(wc -l <runs)" ] || fail 'not every run gave an answer'
! grep -q -E '^([^ ]+ ){7}bad ' results || fail "those marked bad; repeat with HPS_SEED=$seed"
verdict
