#!/bin/sh
# The reference deck that ships is what the program prints, and it can be read: all that it lacks is
# the data.
. "$srcdir/tests/lib.sh"

expect 0 '' heterps deck
cmp out "$srcdir/inputs/reference.yaml" ||
    fail 'inputs/reference.yaml is not what heterps deck prints'
expect 65 'data.train' ranks 1 train "$srcdir/inputs/reference.yaml" --check
for deck in "$srcdir"/inputs/*.yaml; do
    case $deck in
    *schema.yaml | */reference.yaml) ;;
    *) expect 66 'none.h5' ranks 1 train "$deck" --check --set data.train=none.h5 ;;
    esac
done
expect 64 'no operand' heterps deck train
verdict
