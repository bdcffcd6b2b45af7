#!/bin/bash
# deaths.sh [EVERY] - a rank dies at each of its MPI calls in turn, in a short run of each verb that
# works on ranks (tests/lib/deaths.sh). On two ranks it is killed at each call, on three and four at
# each EVERY-th (default 16); it aborts or exits at each EVERY-th; it hangs or is stopped, which
# lasts, at each of four times that; and calls are delayed, by 50 seeds on each layout.
#
#   HPS_DEATHS=DIR   where it works (default build-tests/deaths). What is done there is not done
#                    again, so it may be interrupted; for another program, remove the folder first
#   HPS_JOBS=N       runs at a time (default: cores + 2)
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
every=${1:-16} seeds=50
dir=${HPS_DEATHS:-$srcdir/build-tests/deaths}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
[ -f "$HPS_BUILD/tests/lib/bad_mpi.so" ] || make -C "$HPS_BUILD" tests/lib/bad_mpi.so >&2 ||
    give_up 'tests/lib/bad_mpi.so is not built'
export HETERPS=$HPS_BUILD/heterps HPS_DEATH_KEEP=$dir/kept

deaths() { sh "$srcdir/tests/lib/deaths.sh" "$@"; }

[ -f "$dir/world/whole" ] || {
    rm -rf "$dir/world" "$dir/done"
    deaths world "$dir/world" 2 3 4 >&2 || give_up 'there is no undisturbed run'
    touch "$dir/world/whole" "$dir/done"
}
for n in 2 3 4; do deaths count "$dir/world" $n; done >"$dir/counts"

# cases: what there is to do, a line each: ACT VERB RANKS RANK WHO N HOW; what lasts longest first
cases() {
    awk -v every="$every" -v seeds=$seeds '
        function each(how, by) {
            for (i = 1 + (n++ * 7) % by; i <= $5; i += by) print "one", $1, $2, $3, $4, i, how
        }
        { line[NR] = $0 }
        END {
            for (r = 1; r <= NR; r++) { $0 = line[r]; each("stop", 4 * every) }
            for (r = 1; r <= NR; r++) { $0 = line[r]; each("sleep", 4 * every) }
            for (r = 1; r <= NR; r++) {
                $0 = line[r]
                each("kill", $2 == 2 ? 1 : every)
                each("abort", every)
                each("exit", every)
            }
            for (r = 2; r <= 4; r++)
                for (s = 1; s <= seeds; s++) {
                    print "delay train", r, s
                    print "delay apart", r, s
                    print "delay served", r, s
                    print "delay eval", r, s
                }
        }' "$dir/counts"
}

# What is done begins with "VERB RANKS RANK WHO N HOW".
cases >"$dir/cases"
awk 'FILENAME == ARGV[1] { done[$1, $2, $3, $4, $5, $6]; next }
    $1 == "one" ? !(($2, $3, $4, $5, $6, $7) in done) : !(($2, $3, "all", "all", $4, $1) in done)' \
    "$dir/done" "$dir/cases" | sed "s,^[a-z]*,& $dir/world," >"$dir/todo"

# progress: every half minute, until this script ends
progress() {
    local all was began now
    all=$(wc -l <"$dir/cases") was=$(wc -l <"$dir/done") began=$(date +%s)
    while sleep 30; do
        now=$(wc -l <"$dir/done")
        [ "$now" -gt "$was" ] || continue
        note "$now of $all, $(grep -c ' bad ' "$dir/done") wrong," \
            "$(((all - now) * ($(date +%s) - began) / (now - was) / 60)) min left"
    done
}
progress &
watcher=$!
trap 'kill $watcher 2>/dev/null; cd /; rm -rf "$HPS_TMP"' EXIT
xargs -r -P "${HPS_JOBS:-$(($(nproc) + 2))}" -L 1 sh "$srcdir/tests/lib/deaths.sh" \
    <"$dir/todo" >>"$dir/done"

# of VERB RANKS HOW COLUMN: of what was done so, the number, the longest time in s, or the codes
of() {
    awk -v verb="$1" -v n="$2" -v how="$3" -v want="$4" '
        $1 == verb && $2 == n && $6 == how && $9 != "none" {
            count++
            if ($8 > most) most = $8
            if (!($7 in code)) codes = codes (codes ? ", " : "") $7
            code[$7]
        }
        END {
            print !count ? "" : want == "runs" ? count : want == "s" ? most / 10 : codes
        }' "$dir/done"
}
calls() { # VERB RANKS WHO: of each rank
    awk -v verb="$1" -v n="$2" -v who="$3" '$1 == verb && $2 == n && $4 == who {
        text = text (text ? ", " : "") $5 } END { print text ? text : "0" }' "$dir/counts"
}

title 'Deaths: a rank ends at each of its MPI calls'
header verb ranks "program's calls of each rank" "library's" killed 'longest, s' aborts exits \
    'hangs, stopped' 'longest, s' delayed
for n in 2 3 4; do
    for verb in train apart check plan eval; do
        row $verb $n "$(calls $verb $n own)" "$(calls $verb $n lib)" "$(of $verb $n kill runs)" \
            "$(of $verb $n kill s)" "$(of $verb $n abort runs)" "$(of $verb $n exit runs)" \
            "$(of $verb $n sleep runs), $(of $verb $n stop runs)" "$(of $verb $n stop s)" \
            "$(of $verb $n delay runs)"
    done
done
echo
header 'how it ends' "the launcher's codes"
for how in kill abort exit sleep stop; do
    row $how "$(awk -v how=$how '$6 == how && $9 != "none" { print $7 }' "$dir/done" | sort -nu |
        paste -s -d , | sed 's/,/, /g')"
done
echo
goal 'all is done' [ "$(sort -u "$dir/done" | wc -l)" -ge "$(wc -l <"$dir/cases")" ]
goal 'none hangs, leaves a process, a broken file or another result' \
    [ "$(grep -c ' bad ' "$dir/done")" -eq 0 ]
[ "$hps_failed" -eq 0 ] || grep ' bad ' "$dir/done" >&2
the_end
