#!/bin/sh
# Every kind of job script runs: on GPU nodes, on both kinds in one world, as a heterogeneous job,
# as a chain that submits itself, as an array of decks, and as a plan that becomes a job of exactly
# its units. The losses are those of a run on one node.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
. "$srcdir/tests/slurm/lib.sh"
cluster c1:cpu:2:0 c2:cpu:2:0 c3:cpu:4:0 c4:cpu:2:0 c5:cpu:2:0 c6:cpu:2:0 \
    g1:gpu:4:2 g2:gpu:4:2 g3:gpu:4:2
census
deck=$srcdir/inputs/census.yaml
short='--set train.epochs=0 --set train.steps=200 --set schedule.method=exact'

# finished NAME JOB RANKS: with the loss of one node, on so many ranks
finished() {
    gone "$2"
    if [ "$(number "runs/$1/status.json" exit_code)" != 0 ]; then
        fail "$1 is not finished"
        tail -n 20 "$1.out"
        return
    fi
    close "$(number "runs/$1/report.json" train_loss)" "$(number runs/one/report.json train_loss)" \
        1e-4
    [ "$(number "runs/$1/report.json" ranks)" = "$3" ] ||
        fail "$1: $(number "runs/$1/report.json" ranks) ranks instead of $3"
}

# a driver that names two GPUs, so that it shows which ranks came to see one
cc -shared -fPIC -o libcuda.so.1 "$srcdir/tests/lib/fake_gpu.c" || skip "no compiler at hand"

# a program that stops at once in the first link of a chain
cat >once <<EOF
#!/bin/sh
[ "\$1\$HETERPS_LINK" != train ] || set -- "\$@" --set run.max_seconds=0.001
exec "$HETERPS" "\$@"
EOF
chmod +x once

# shellcheck disable=SC2086 # options without blanks
{
    submit one -N1 -n1 "$hps_jobs/cpu.sh" "$deck" $short \
        --set run.directory=runs/one
    one=$id
    LD_LIBRARY_PATH=$PWD submit gpu "$hps_jobs/gpu.sh" "$deck" $short --set run.directory=runs/gpu
    gpu=$id
    sed 's|runs/census|runs/a2|' "$deck" >two.yaml
    submit array --array=1-2 -p cpu -w c2 "$hps_jobs/array.sh" "$deck" two.yaml -- $short
    array=$id
    HETERPS=$PWD/once "$hps_jobs/chain.sh" -J chain -o chain.out --open-mode=append --no-requeue \
        -N1 -n2 "$hps_jobs/cpu.sh" "$deck" $short --set run.directory=runs/chain \
        --set "run.name=a 'name'" >out || fail 'the chain was not submitted'
    submit mixed "$hps_jobs/mixed.sh" "$deck" $short --set run.directory=runs/mixed
    mixed=$id
    submit plan --ntasks-per-node=3 "$hps_jobs/plan.sh" "$srcdir/inputs/census_mixed.yaml" \
        --method exact --set train.epochs=0 --set train.steps=50 \
        --set resources.slow.limit=2 --set resources.fast.limit=1 \
        --set 'resources.slow.slurm={partition: cpu}' \
        --set 'resources.fast.slurm={partition: gpu, cores: 2}'
    plan=$id
    echo 100 >het.slow
    paced
    submit het "$hps_jobs/het.sh" "$deck" $short --set run.directory=runs/het \
        --set checkpoint.interval_steps=10
    het=$id
}
stops het scancel --signal=USR1 --batch "$het"

echo '-- GPU nodes'
finished one "$one" 1
finished gpu "$gpu" 2
grep -q '"Fake GPU 0"' runs/gpu/pool.json || fail 'no rank has seen its GPU'
echo '-- an array'
gone "$array"
finished census "$array" 2
finished a2 "$array" 2
echo '-- a chain'
until_true 150 'the end of the chain' absent -n chain
finished chain 0 2
has_line chain.out 'training: steps' 2 || fail 'the chain has not two links'
[ "$(grep -c ' Name=chain ' "$hps_cluster/log/jobcomp.txt")" -eq 2 ] || fail 'not two jobs'
echo '-- plan, then the job of the plan'
gone "$plan"
hears plan.out 'Submitted batch job'
until_true 150 'the end of the planned job' absent -n heterps-census_mixed
[ "$(number runs/census_mixed/status.json exit_code)" = 0 ] || {
    fail 'the planned job is not done'
    tail -n 20 plan.out slurm-*.out
}
units=$(sed -n 's/^#SBATCH --ntasks=//p' runs/census_mixed/job | awk '{ n += $1 } END { print n }')
[ "$(number runs/census_mixed/report.json ranks)" = "$units" ] || fail 'not the planned units'
echo '-- both kinds in one job'
finished mixed "$mixed" 6
echo '-- a heterogeneous job, stopped and requeued'
finished het "$het" 6
has_line het.out 'training: steps' 2 || fail 'the heterogeneous job was not requeued'
verdict
