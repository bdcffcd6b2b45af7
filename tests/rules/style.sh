#!/bin/sh
# The house rules that a script can check: lengths, the one voice, the lists, no result ignored.
cd "${1:-${srcdir:-.}}" || exit 99
bad=0
sizes=$(mktemp) || exit 99
trap 'rm -f "$sizes"' EXIT

for f in $(find include src -name '*.[ch]' -o -name '*.cu' | sort); do
    awk -f tests/rules/code.awk "$f" >"$sizes.one" || bad=1
    grep '^length ' "$sizes.one" >>"$sizes"
    grep -v '^length ' "$sizes.one"
    rm -f "$sizes.one"
done
for f in tests/*/*.[ch] tests/*.sh tests/*/*.sh tests/slurm/* tests/*.am jobs/*.sh \
    configure.ac Makefile.am src/*.am src/m4/*; do
    [ -f "$f" ] || continue
    awk '
    length($0) > 100 { print FILENAME ":" FNR ": a line of " length($0) " columns"; bad = 1 }
    END { if (FNR > 500) { print FILENAME ": a file of " FNR " lines"; bad = 1 }; exit bad }
    ' "$f" || bad=1
done

awk '{ print $2 }' "$sizes" | sort -n | awk '
{ n[NR] = $1; if ($1 < 60) under++ }
END {
    if (NR)
        printf "%d functions: median %d lines, %.1f %% under 60, longest %d\n",
               NR, n[int((NR + 1) / 2)], 100 * under / NR, n[NR]
}'
exit $bad
