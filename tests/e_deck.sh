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
expect 66 'train' heterps deck train
expect 64 'more than|one|operand' heterps deck a b
expect 64 'set wants a deck' heterps deck --set run.name=x

echo '-- one deck: as it would run, and where'
expect 0 '' heterps deck "$srcdir/inputs/census.yaml" --set run.name=other
shows 'name: "?other'
cp out as_run.yaml
expect 0 '' heterps deck as_run.yaml
cmp out as_run.yaml || fail 'a deck as it would run is not read as itself'
expect 0 '' heterps deck "$srcdir/inputs/census.yaml" --folders --set run.directory= \
    --set run.name=other --set checkpoint.directory=/scratch/c
[ "$(xargs <out)" = 'runs/other /scratch/c' ] || fail "not the folders: $(cat out)"
expect 65 'directori' heterps deck "$srcdir/inputs/census.yaml" --folders --set run.directori=x

echo '-- where decks and job scripts lie'
expect 0 '' env HETERPS_DATADIR="$srcdir" "$HETERPS" --datadir
[ "$(cat out)" = "$(cd "$srcdir" && pwd -P)" ] || fail "not $srcdir: $(cat out)"
expect 66 'job scripts' env HETERPS_DATADIR=/nowhere "$HETERPS" --datadir
verdict
