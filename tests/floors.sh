#!/bin/sh
# An #include may look sideways or down, never up.
cd "${srcdir:-.}" && find include src -name '*.[ch]' -o -name '*.cu' | sort |
xargs awk '
BEGIN {
    n = split("base life hw data net plan comm ps step profile train jobs app", f, " ")
    for (i = 1; i <= n; i++)
        at[f[i]] = i
}
FNR == 1 {
    split(FILENAME, p, "/")
    if (!(p[2] in at)) { print FILENAME ": " p[2] " is no floor"; bad = 1 }
}
match($0, /^#include "[a-z]+\//) {
    split(substr($0, 11), q, "/")
    if (!(q[1] in at) || at[q[1]] > at[p[2]]) {
        print FILENAME ":" FNR ": floor " p[2] " looks up to " q[1]
        bad = 1
    }
}
END { exit bad }'
