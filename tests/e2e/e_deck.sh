#!/bin/sh
# The reference deck and the manual page that ship are what the program prints, and the deck can be
# read: all that it lacks is the data.
. "$srcdir/tests/lib/lib.sh"

expect 0 '' heterps deck
cmp out "$srcdir/inputs/reference.yaml" ||
    fail 'inputs/reference.yaml is not what heterps deck prints'
expect 0 '' heterps deck --man
cmp out "$srcdir/src/man/heterps-deck.5" ||
    fail 'src/man/heterps-deck.5 is not what heterps deck --man prints'
expect 64 'man is of no deck' heterps deck "$srcdir/inputs/census.yaml" --man
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

echo '-- keys that a run that goes on may change'
# Of data, train and model it may change none but those that hps_ckpt_course names, so a new key
# there is safe; of the other sections it may change all but run.seed. A new key of these must be
# added here, or, where it changes what is learned, to hps_ckpt_shape or _course.
may='run.name run.seed run.directory run.threads run.ranks_per_gpu run.max_seconds run.stall_seconds
run.rank_logs schedule.method schedule.objective schedule.trial_steps schedule.polish
schedule.throughput_limit
schedule.profile schedule.plan schedule.policy schedule.warm schedule.seed schedule.seconds
schedule.evaluations schedule.replan schedule.replan_margin schedule.share storage.servers
storage.server_type
storage.gpu_memory storage.host_memory storage.file storage.rows storage.states checkpoint.directory
checkpoint.interval_steps checkpoint.interval_seconds checkpoint.keep perf.events
perf.events_per_region perf.trace'
awk '/^[a-z]+:/ { section = $1; sub(/:/, ".", section) }
    /^  [a-z_]+:/ && section !~ /^(data|train|model|resources|generate)[.]/ {
        sub(/:/, "", $1); print section $1 }' "$srcdir/inputs/reference.yaml" >keys
[ "$(xargs <keys)" = "$(echo "$may" | xargs)" ] || { fail 'other keys than these:'; cat keys; }

echo '-- where decks and job scripts lie'
expect 0 '' env HETERPS_DATADIR="$srcdir" "$HETERPS" --datadir
[ "$(cat out)" = "$(cd "$srcdir" && pwd -P)" ] || fail "not $srcdir: $(cat out)"
expect 66 'job scripts' env HETERPS_DATADIR=/nowhere "$HETERPS" --datadir
verdict
