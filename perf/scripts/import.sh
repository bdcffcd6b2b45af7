#!/bin/sh
# import.sh - lines a second of `heterps import criteo` on one core, from plain text and from gzip,
# and its memory: medians of five imports; and what bounds them: reading the text, finding its lines,
# unpacking it, alone. The text is made up and seeded: 100,000 lines of Criteo's form (a fifth of the
# numbers and a twelfth of the categories missing), ten times.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
goal_lines_s=800000 goal_packed_s=400000 goal_mib=200 imports=5

make -C "$HPS_BUILD" perf/bin/lines >&2 || give_up 'perf/bin/lines is not built'
mkdir -p build/perf/bin
ln -s "$HPS_BUILD/perf/bin/lines" build/perf/bin/lines

title 'Import: Criteo lines a second on one core, and memory'
note 'making the text'
awk 'function draw() { seed = seed * 16807 % 2147483647; return seed }
BEGIN {
    seed = 7
    for (i = 0; i < 5000; i++)
        category[i] = sprintf("%04x%04x", draw() % 65536, draw() % 65536)
    for (line = 0; line < 100000; line++) {
        out = draw() % 4 == 0
        for (d = 0; d < 13; d++) {
            x = draw()
            out = out "\t" (x % 5 ? x % (x % 2 ? 10 : 3000) : "")
        }
        for (c = 0; c < 26; c++) {
            x = draw()
            out = out "\t" (x % 12 ? category[x % 5000] : "")
        }
        print out
    }
}' >part.txt
for _ in 1 2 3 4 5 6 7 8 9 10; do cat part.txt; done >criteo.txt
gzip -c criteo.txt >criteo.txt.gz

# imports_of WHAT FILE CORES: a row of the table; $lines_s and $mib are set. On one core the rate is
# that of the processor's seconds: a core that does nothing else; the clock's seconds stand beside it.
# On two, where a thread unpacks beside the one that reads lines, it is the clock's.
imports_of() {
    : >clock
    : >processor
    mib=0
    for run in $(seq $imports); do
        note "$1, import $run of $imports"
        said taskset -c "$3" build/heterps import criteo --output out.h5 "$2"
        sed -n 's/^\([0-9.]*\) s (.*/\1/p' out >>clock
        sed -n 's/.*(\([0-9.]*\) s of processor.*/\1/p' out >>processor
        mib=$(larger "$mib" "$(sed -n 's/.*, \([0-9]*\) MiB of memory/\1/p' out)")
    done
    if [ "$3" = 0 ]; then counts=processor; else counts=clock; fi
    lines_s=$(median <$counts | awk '{ printf "%.0f\n", 1000000 / $1 }')
    row "$1" "$(wc -c <"$2")" "$(digits 3 "$(median <clock)")" \
        "$(digits 3 "$(median <processor)")" "$lines_s" "$mib"
}

# bound_of WHAT HOW FILE: a row of what one thing takes alone
bound_of() {
    : >seconds
    for run in $(seq $imports); do
        note "$1, $run of $imports"
        said taskset -c 0 build/perf/bin/lines "$2" "$3"
        sed -n 's/ s, .*//p' out >>seconds
    done
    row "$1" "$(digits 3 "$(median <seconds)")" \
        "$(median <seconds | awk '{ printf "%.0f\n", 1000000 / $1 }')" \
        "$(median <seconds | awk -v b="$(wc -c <criteo.txt)" '{ printf "%.0f\n", b / $1 / 1e6 }')"
}

header text bytes 'seconds for 1,000,000 lines' 'of the processor' lines/s 'peak memory, MiB'
imports_of 'plain' criteo.txt 0
plain=$lines_s most=$mib
imports_of 'gzip' criteo.txt.gz 0
packed=$lines_s
[ "$(nproc)" -lt 2 ] || imports_of 'gzip, two cores' criteo.txt.gz 0,1
printf '\nWhat bounds it, each alone on one core:\n\n'
header part 'seconds of the processor' lines/s 'MB/s of text'
bound_of 'read (1 MiB at a time)' read criteo.txt
bound_of 'read, find the lines' lines criteo.txt
bound_of "unpack ($(build/heterps --version | sed -n 's/^gzip *//p')), find the lines" lines \
    criteo.txt.gz
bound_of 'unpack (zlib)' zlib criteo.txt.gz
sort -u commands >once && mv once commands
commands
echo
goal "at least $goal_lines_s lines/s from plain text" at_most $goal_lines_s "$plain"
goal "at least $goal_packed_s lines/s from gzip" at_most $goal_packed_s "$packed"
goal "at most $goal_mib MiB of memory" at_most "$(larger "$most" "$mib")" $goal_mib
the_end
