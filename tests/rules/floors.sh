#!/bin/sh
# The floors of the house, and their wings: an #include looks sideways or down, never up; a private
# header (*_impl.h, beside its sources) is included in its folder alone; ps is entered by its doors;
# a folder has at most 25 sources. `floors.sh DIR`: of the tree in DIR.
cd "${1:-${srcdir:-.}}" || exit 99
find include src -name '*.[ch]' -o -name '*.cu' | sort | xargs awk '
BEGIN {
    n = split("base life hw data net plan comm ps step profile train jobs app", f, " ")
    for (i = 1; i <= n; i++)
        at[f[i]] = i
    n = split("base/deck base/file base/h5 base/sort hw/cpu hw/cuda hw/node hw/perf data/import " \
              "net/layer plan/exact plan/search plan/learn ps/request ps/tier ps/exchange " \
              "train/ckpt train/report app/info jobs/trace jobs/policy jobs/price " \
              "jobs/authors jobs/list jobs/show jobs/speed", f, " ")
    for (i = 1; i <= n; i++)
        wing[f[i]]
    n = split("ps/ps.h ps/clock.h ps/cyclic.h ps/dense.h ps/snapshot.h ps/tier_sample.h " \
              "ps/tier_try.h ps/versions.h", f, " ")
    for (i = 1; i <= n; i++)
        door[f[i]]
    most = 25
}
function wrong(what) { print FILENAME (line ? ":" line : "") ": " what; bad = 1 }
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
# of each file: is there such a floor, such a wing, and room for it?
FNR == 1 {
    line = 0
    n = split(FILENAME, p, "/")
    here = folder(substr(FILENAME, length(p[1]) + 2))
    if (!(p[2] in at))
        wrong(p[2] " is no floor")
    else if (n > 3 && !(p[1] == "src" && here in wing))
        wrong(here " is no wing")
    if (p[1] == "include" && FILENAME ~ /_impl\.h$/)
        wrong("a private header lies beside its sources")
    if (p[1] == "src" && FILENAME ~ /\.h$/ && FILENAME !~ /_impl\.h$/)
        wrong("a contract lies in include/" p[2])
    if (FILENAME !~ /\.h$/ && ++sources[here] == most + 1)
        wrong(here " has more than " most " sources")
}
match($0, /^#include "[^"]*\//) {
    line = FNR
    name = substr($0, 11)
    sub(/".*/, "", name)
    split(name, q, "/")
    if (!(q[1] in at) || at[q[1]] > at[p[2]])
        wrong("floor " p[2] " looks up to " q[1])
    if (q[1] == "train" && p[2] == "jobs")
        wrong("jobs looks at train")
    if (q[1] == "ps" && p[2] != "ps" && !(name in door))
        wrong(name " is behind the doors of ps")
    if (name ~ /_impl\.h$/ && (p[1] == "include" || folder(name) != here))
        wrong(name " is private to " folder(name))
}
END { exit bad }'
