#!/bin/sh
# Each rule of the house, broken once in a small tree: floors.sh, style.sh and links.sh fail on it
# and name the file; on the same tree without it they do not.
. "$srcdir/tests/lib/lib.sh"

more=0
# tree: a small one that breaks nothing; src/hw/cpu has $more sources more than it needs
tree() {
    rm -rf tree
    (mkdir -p tree && cd tree && mkdir -p include/base include/hw include/jobs src/base/deck \
        src/hw/cpu src/jobs tests/rules jobs)
    cp "$srcdir/tests/rules/code.awk" tree/tests/rules
    echo 'int hps_low(void);' >tree/include/base/low.h
    echo 'int hps_high(void);' >tree/include/hw/high.h
    echo 'int hps_many(void);' >tree/include/jobs/many.h
    echo 'int hps_shared(void);' >tree/src/hw/cpu/high_impl.h
    echo '#include "base/low.h"' >tree/src/base/deck/low.c
    printf '%s\n' '#include "hw/high.h"' '#include "hw/cpu/high_impl.h"' >tree/src/hw/cpu/high.c
    printf '%s\n' '#include "jobs/many.h"' '#include "ps/ps.h"' >tree/src/jobs/many.c
    for i in $(seq "$more"); do echo 'int x;' >"tree/src/hw/cpu/x$i.c"; done
}

# broken SCRIPT WORDS FILE LINE...: the tree with lines added to a file of it; the script fails and
# says of that file these words
broken() {
    script=$1 words=$2 file=$3
    shift 3
    tree
    sh "$srcdir/tests/rules/$script" tree >out 2>&1 || fail "$script: without a fault: $(cat out)"
    mkdir -p "tree/${file%/*}"
    printf '%s\n' "$@" >>"tree/$file"
    if sh "$srcdir/tests/rules/$script" tree >out 2>&1; then
        fail "$script does not see: $words"
    elif ! grep -q "^$file.*$words" out; then
        fail "$script does not say '$words' of $file: $(cat out)"
    else
        ok "$script: $words"
    fi
}

echo '-- floors'
broken floors.sh 'floor base looks up to hw' src/base/deck/low.c '#include "hw/high.h"'
broken floors.sh 'floor hw looks up to elsewhere' include/hw/high.h '#include "elsewhere/x.h"'
broken floors.sh 'cellar is no floor' src/cellar/x.c 'int x;'
broken floors.sh 'base/attic is no wing' src/base/attic/x.c 'int x;'
broken floors.sh 'hw/cpu is no wing' include/hw/cpu/x.h 'int x;'
broken floors.sh 'is private to hw/cpu' src/hw/x.c '#include "hw/cpu/high_impl.h"'
broken floors.sh 'is private to hw/cpu' include/hw/high.h '#include "hw/cpu/high_impl.h"'
broken floors.sh 'is behind the doors of ps' src/jobs/many.c '#include "ps/table.h"'
broken floors.sh 'a private header lies' include/hw/x_impl.h 'int x;'
broken floors.sh 'a contract lies in include/hw' src/hw/cpu/x.h 'int x;'
more=24
broken floors.sh 'hw/cpu has more than 25' src/hw/cpu/z.cu 'int z;'
more=0

echo '-- style'
long='a line of 101 columns'
broken style.sh "$long" src/hw/x.c "/*$(printf '%97s' '')*/"
broken style.sh "$long" tests/e2e/x.sh "$(printf '#%100s' x)"
broken style.sh 'blanks at the end' src/hw/x.c 'int x; '
broken style.sh 'only say.c prints' src/hw/x.c 'int f(void) { return printf("x"); }'
broken style.sh 'only quit.c ends' src/hw/x.c 'void f(void) { exit(1); }'
broken style.sh 'only world.c names MPI_COMM_WORLD' src/hw/x.c 'MPI_Comm c = MPI_COMM_WORLD;'
broken style.sh 'memory comes from hps_mem_new' src/hw/x.c 'void *f(void) { return malloc(1); }'
broken style.sh 'is asked in the lists only' src/hw/x.c '#ifdef HAVE_CUDA'
broken style.sh 'outside HPS_MPI' src/hw/x.c 'int f(void) { return MPI_Barrier(c); }'
broken style.sh 'an HDF5 call is ignored' src/hw/x.c 'H5Fclose(f);'
broken style.sh 'a CUDA call is ignored' src/hw/x.c 'cudaFree(p);'
broken style.sh 'a PAPI call is ignored' src/hw/x.c 'PAPI_start(s);'
broken style.sh 'a short if on two lines' src/hw/x.c '    if (x)' '        f();' '    g();'
broken style.sh 'an if with an else on one' src/hw/x.c '    if (x) f();' '    else' '        g();'
broken style.sh 'a function of 61 lines' src/hw/x.c 'int f(void)' '{' "$(seq -f 'g(%g);' 58)" '}'
broken style.sh 'a file of 501 lines' src/hw/x.c "$(seq -f 'int x%g;' 501)"
broken style.sh 'a file of 501 lines' tests/unit/x.c "$(seq -f 'int x%g;' 501)"

echo '-- links'
broken links.sh 'there is no b.md' jobs/a.md 'See [b](b.md).'
broken links.sh 'there is no src/x.c' jobs/a.md 'See `src/x.c`.'
broken links.sh 'there is no heading b' jobs/a.md '# A' 'See [b](#b).'
verdict
