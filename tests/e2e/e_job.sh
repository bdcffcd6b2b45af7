#!/bin/sh
# A job that is refused leaves the books of the one that has the directory as they were; and says in
# one line what it lacks. Without Slurm: an srun of one rank.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
command -v flock >/dev/null || skip 'no flock'
cpu=$srcdir/jobs/cpu.sh
deck=$srcdir/inputs/census.yaml
mkdir -p bin runs/mine
cat >bin/srun <<'EOT'
#!/bin/sh
while case $1 in -*) ;; *) false ;; esac do shift; done
exec "$@"
EOT
chmod +x bin/srun
PATH=$PWD/bin:$PATH
SLURM_JOB_ID=1 SLURM_CPUS_ON_NODE=1
export PATH HETERPS SLURM_JOB_ID SLURM_CPUS_ON_NODE
census

echo '-- the directory of another job'
echo '2 step_000000300.h5' >runs/mine/.deaths
touch -d 2020-01-01 runs/mine/.job
expect 73 'in use by another run' flock runs/mine/.lock "$cpu" "$deck" --set run.directory=runs/mine
flock runs/mine/.lock true            # whatever that job left behind has gone
[ "$(cat runs/mine/.deaths)" = '2 step_000000300.h5' ] || fail 'its count of deaths is another'
[ -z "$(find runs/mine/.job -newermt 2020-01-02)" ] || fail 'its begin is another'
echo '-- its own'
expect 0 '' "$cpu" "$deck" --set run.directory=runs/mine --set train.steps=3
[ ! -e runs/mine/.deaths ] || fail 'it counts deaths of a job before'
[ -n "$(find runs/mine/.job -newermt 2020-01-02)" ] || fail 'it goes on with the job before'
[ -z "$(find runs/mine -name '.*.before')" ] || fail 'it leaves old books'
echo '-- cancelled before it starts the program'
cat >bin/squeue <<'EOT'
#!/bin/sh
case "$*" in *%T) echo COMPLETING ;; *%e) date +%FT%T ;; esac
EOT
printf '#!/bin/sh\necho "$*" >>scontrol.log\n' >bin/scontrol
chmod +x bin/squeue bin/scontrol
expect 0 '' "$cpu" "$deck" --set run.directory=runs/mine --set train.steps=6
grep -q requeue scontrol.log 2>/dev/null && fail 'it is requeued'
rm bin/squeue
echo '-- what is lacking'
expect 66 'cannot use none: set PATH' env HETERPS=none "$cpu" "$deck"
expect 70 "HETERPS_LAUNCHER is 'mpirum'" env HETERPS_LAUNCHER=mpirum "$cpu" "$deck"
expect 64 'chain is of one deck' env HETERPS_CHAIN=x SLURM_ARRAY_TASK_ID=1 \
    "$srcdir/jobs/array.sh" "$deck"
verdict
