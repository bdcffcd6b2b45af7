#!/bin/sh
# What e_cuda.sh asks of CUDA's stand-in holds on the machine's own GPU: the same losses, the same
# bits with room for some of the rows and with graphs. What only a stand-in can show (counts of
# calls, a kernel that fails, a card that is full) is left to that one.
[ -c /dev/nvidia0 ] || {
    echo 'skipped: no GPU'
    exit 77
}
CARD='*NVIDIA*'
. "${srcdir:?}/tests/e2e/e_cuda.sh"
