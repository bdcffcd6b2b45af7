#!/bin/sh
# One rank that ends the run ends all ranks, with its own code and one line that names the rank; the
# code of a rank that was killed comes before that of one whose MPI call failed for it.
. "$srcdir/tests/lib/lib.sh"

HETERPS=$(dirname "$HETERPS")/tests/mpi/m_say
[ -x "$HETERPS" ] || skip "$HETERPS is not built"
expect 70 "^\[2 [0-9.]+\] error: found a bug \(.*m_say\.c:[0-9]+\) on [^ ]+$" ranks 3 die
expect 66 "^\[1 [0-9.]+\] error: lost its input$" ranks 2 quit
for n in 1 3; do
    where='m_say\.c:[0-9]+\) on [^ ]+$'
    expect 70 "^\[$((n - 1)) [0-9.]+\] error: MPI_Send\(.*\): MPI_ERR_RANK: .*$where" \
        ranks $n call
done
expect 137 '^\[0 [0-9.]+\] error: MPI_ERR_OTHER: MPI_ERR_OTHER: ' ranks 2 killed
verdict
