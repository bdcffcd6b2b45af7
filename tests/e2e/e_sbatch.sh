#!/bin/sh
# A plan becomes a job script that asks for exactly its units, in as many parts as there are kinds
# of requests, and runs the deck as it was planned; cost against throughput becomes a drawing; and
# what cannot become either is refused before anything is measured.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census
deck=$srcdir/inputs/census_mixed.yaml
quick='--set schedule.throughput_limit=0'

echo '-- two kinds of requests'
# shellcheck disable=SC2086
expect 0 '' ranks 3 plan "$deck" --method exact --sbatch job.sh --json plan.json \
    --set 'resources.fast.slurm={constraint: "v100|a100", gres: "gpu:1", cores: 4}' \
    --set 'resources.slow.slurm={partition: cpus}' --set "run.name=it's a try"
tasks=$(sed -n 's/^#SBATCH --ntasks=//p' job.sh | awk '{ n += $1 } END { print n }')
units=$(sed -n 's/.*"units": *\([0-9]*\).*/\1/p' plan.json | awk '{ n += $1 } END { print n }')
# the plan's stages, then those of the runner-up and of the single type
stages=$(awk '/"throughput"/ { exit } /"units"/ { gsub(/[^0-9]/, ""); n += $0 } END { print n }' \
    plan.json)
if [ "$tasks" = "$stages" ] && [ "$units" -ge "$stages" ]; then ok "$tasks tasks"; else
    fail "$tasks tasks for a plan of $stages units"
    cat job.sh
fi
bash -n job.sh || fail 'job.sh is no shell script'
[ -x job.sh ] || fail 'job.sh cannot be run'
if command -v shellcheck >/dev/null; then
    shellcheck -e SC1091 job.sh || fail 'shellcheck objects'
fi
cp job.sh out
shows '^#SBATCH --job-name=heterps-it.s_a_try$'
shows '^#SBATCH --requeue$'
shows '^job_train '
shows "--set 'run.name=it'.''s a try'"
if grep -q '^#SBATCH --gpus-per-task=1' out && grep -q '^#SBATCH --partition=cpus' out; then
    shows '^#SBATCH hetjob$'
    shows '^#SBATCH --constraint=v100.a100$'
fi
if command -v sbatch >/dev/null && sinfo >/dev/null 2>&1; then
    grep -v -e partition -e constraint -e gpus job.sh >plain.sh
    expect 0 '' sbatch --test-only plain.sh
fi

echo '-- a unit of two threads asks for two cores'
# shellcheck disable=SC2086
expect 0 '' ranks 3 plan "$deck" --method exact --sbatch wide.sh $quick --set run.threads=2
grep -q '^#SBATCH --cpus-per-task=2$' wide.sh || fail 'not the cores that were measured'

echo '-- types that ask for the same are one part'
# shellcheck disable=SC2086
expect 0 '' ranks 3 plan "$deck" --method exact --sbatch one.sh
[ "$(grep -c -- '--ntasks=' one.sh)" -eq 1 ] || fail 'more than one part'
grep -q hetjob one.sh && fail 'a heterogeneous job for one kind'

echo '-- what ranks stand for: the job has its own numbers'
expect 0 '' ranks 3 plan "$deck" --method single:slow --sbatch slow.sh $quick
units=$(sed -n 's/^#SBATCH --ntasks=//p' slow.sh)
grep -q -F "resources.slow.emulate={slow: 4, ranks: \"0-$((units - 1))\"}" slow.sh ||
    fail "slow ranks are not 0 to $((units - 1))"
expect 0 '' ranks 3 plan "$deck" --method single:fast --sbatch fast.sh $quick
emulate=$(sed -n "s/.*'\(resources.slow.emulate=.*\)'.*/\1/p" fast.sh)
expect 0 'training: steps 1 to 1, ' heterps train "$deck" --set "$emulate" --set train.steps=1
[ "$emulate" = 'resources.slow.emulate={slow: 4, ranks: "none"}' ] || fail "not none: $emulate"

echo '-- refused'
expect 65 "slurm.partition: 'a b' cannot stand in a script" ranks 3 plan "$deck" --sbatch no.sh \
    --set 'resources.slow.slurm={partition: "a b"}' --set 'resources.fast.slurm={partition: "a b"}'
expect 64 'wants a deck' heterps plan --profile nothing.json --sbatch no.sh
expect 64 'sbatch is for one method' heterps plan "$deck" --method all --sbatch no.sh
expect 64 'pareto is for one method' heterps plan "$deck" --method all --pareto no.svg
expect 73 'not a regular file' heterps plan "$deck" --sbatch /dev/null
expect 73 'cannot' ranks 1 plan "$srcdir/inputs/census.yaml" --sbatch nowhere/no.sh
[ ! -e no.sh ] || fail 'a script was left'

echo '-- cost against throughput'
# shellcheck disable=SC2086
expect 0 '' ranks 3 plan "$deck" --method ils --set schedule.seconds=0 \
    --set schedule.evaluations=500 $quick --pareto p.svg --json p.json
grep -q '^</svg>\|</svg>$' p.svg || fail 'the drawing is not whole'
for key in lower_bound_usd singles points; do
    grep -q "\"$key\"" p.json || fail "no $key in the JSON"
done
if command -v xmllint >/dev/null; then xmllint --noout p.svg || fail 'p.svg is no XML'; fi
verdict
