#!/bin/sh
# A network is judged the same by one rank and by many, during training or after it, and looking at
# it does not change it; predictions are of every example, once.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census
deck=$srcdir/inputs/census.yaml
ckpt=runs/census/checkpoint/step_000000100.h5

train 2 census.yaml --set train.steps=100
plain=$(number runs/census/report.json train_loss)
auc=$(number runs/census/report.json test_auc)
rm -rf runs
train 2 census.yaml --set train.steps=100 --set train.eval_interval_steps=30
[ "$(grep -c 'test auc' err)" -eq 3 ] || fail 'not three evaluations in 100 steps'
[ "$plain" = "$(number runs/census/report.json train_loss)" ] || fail 'looking changed the training'

expect 0 '' ranks 1 eval "$deck" --checkpoint $ckpt --json one.json
shows 'auc 0\.9'
for n in 2 3 4; do
    expect 0 '' ranks $n eval "$deck" --checkpoint $ckpt --json many.json
    for key in examples auc; do
        [ "$(number one.json $key)" = "$(number many.json $key)" ] ||
            fail "$key differs on $n ranks"
    done
    for key in logloss calibration; do
        close "$(number one.json $key)" "$(number many.json $key)" 1e-5
    done
done
[ "$(number one.json examples)" = 6512 ] || fail 'not every example was judged'
close "$(number one.json auc)" "$auc" 1e-6

expect 0 '' ranks 3 eval "$deck" --checkpoint $ckpt --predictions p.h5
if command -v h5dump >/dev/null; then
    h5dump -d /example -y -w 1 p.h5 | sed -n 's/^ *\([0-9][0-9]*\),\{0,1\}$/\1/p' >examples
    seq 0 6511 | cmp - examples || fail 'the predictions are not of each example in order'
fi

# A disk that is full: told to all ranks, nothing left. The small disk is this process's alone.
mkdir small
if unshare -m mount -t tmpfs -o size=64k none small 2>/dev/null; then
    # shellcheck disable=SC2016,SC2086 # the inner shell's words; the flags are several
    expect 73 'No space left|write failed' unshare -m sh -c 'mount -t tmpfs -o size=64k none small
        "$@"; rc=$?; [ -z "$(ls small)" ] || rc=1; exit $rc' sh "$MPIEXEC" $MPIEXEC_FLAGS -n 3 \
        "$HETERPS" eval "$deck" --checkpoint $ckpt --predictions small/p.h5
else
    echo 'SKIPPED: a full disk, since nothing can be mounted here'
fi

expect 64 'checkpoint' heterps eval "$deck"
expect 66 'none.h5' heterps eval "$deck" --checkpoint none.h5
expect 65 'census_test.h5' heterps eval "$deck" --checkpoint data/census_test.h5
expect 73 'nowhere' heterps eval "$deck" --checkpoint $ckpt --predictions nowhere/p.h5
ln -s /dev/null device
expect 73 'not a regular file' heterps eval "$deck" --checkpoint $ckpt --predictions device
for out in "--predictions $ckpt" "--predictions ./data/census_test.h5" "--json $ckpt"; do
    # shellcheck disable=SC2086 # the option and its value
    expect 64 'cannot be written too' ranks 2 eval "$deck" --checkpoint $ckpt $out
done
expect 64 '--predictions o.h5 and --json o.h5 are one file' heterps eval "$deck" \
    --checkpoint $ckpt --predictions o.h5 --json o.h5
mkdir far
ln -s far/p.h5 link.h5
expect 0 '' ranks 2 eval "$deck" --checkpoint $ckpt --predictions link.h5
[ -L link.h5 ] && [ -s far/p.h5 ] || fail 'the predictions are not where their link leads'
expect 65 'no test set' heterps eval "$deck" --checkpoint $ckpt --set data.test=
verdict
