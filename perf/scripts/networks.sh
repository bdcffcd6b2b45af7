# shellcheck shell=sh
# networks.sh - the networks that are measured, here and by peers; read behind lib.sh. $steps of each
# measurement; $peers: the folder of the peers; DEVICE=cuda: peers on a card. PRECISION=bf16: of
# our products.
precision=${PRECISION:-fp32}
rounded=        # a word for build/gemms
[ "$precision" = fp32 ] || rounded=$precision

# network NAME: its sizes. gemms: IN:OUT of its dense layers but those of one output; least, both,
# ahead: goals beside the GEMMs alone, of two cores over twice one, and beside the best peer, also:
# beside single peers (who:times); dots: operations of the dot products of one example, forward;
# rows, own, dim, row: of its table, `own` 1 where each slot has its own rows, floats of a row
# without and with the optimizer's states; weights of dense layers, arrays that their update reads
# or writes; widths of all layers' outputs but the bags', together; sums: numbers of an example's
# bags where owners give sums of rows, else 0.
# shellcheck disable=SC2034 # used by the scripts
network() {
    also='' sums=0
    case $1 in
    ctrdnn)
        batch=4096 gemms='273:400 400:400 400:400' least=0.90 both=0.95 ahead=1.35 dots=0
        rows=1000001 own=0 dim=10 row=30 weights=430801 streams=7 widths=1213
        ;;
    dlrm)
        batch=4096 gemms='13:512 512:256 256:16 367:512 512:256' least=0.75 both=0 ahead=1.35 dots=11232
        rows=2600000 own=1 dim=16 row=32 weights=462609 streams=5 widths=1932
        ;;
    bags)
        batch=1024 gemms='416:256' least=0 both=0.85 ahead=3 dots=0 also='torch:8 tf:25'
        rows=10000000 own=0 dim=16 row=32 weights=107009 streams=5 widths=256 sums=416
        ;;
    wide_deep)
        batch=4096 gemms='845:1024 1024:512 512:256' least=0 both=0 ahead=1.35 dots=0
        rows=2600000 own=1 dim=32 row=64 weights=1522433 streams=5 widths=2639
        ;;
    *) give_up "no network '$1': ctrdnn, dlrm, bags or wide_deep" ;;
    esac
    network=$1
    batch=${BATCH:-$batch}
}

# build_tool NAME...: makes perf/bin/NAME, which runs as build/NAME
build_tool() {
    for tool; do
        make -C "$HPS_BUILD" "perf/bin/$tool" >&2 || give_up "perf/bin/$tool is not built"
        ln -s "$HPS_BUILD/perf/bin/$tool" build
    done
}

# data_network: eight batches of it
data_network() {
    mkdir -p data
    said build/heterps generate "inputs/$network.yaml" --rows $((batch * 8)) \
        --output "data/${network}_train.h5"
}

# train_network RANKS THREADS STEPS [ARGUMENT...]: trains it; the run is in runs/it. One thread alone
# runs on core $core, where that is set.
train_network() {
    grep -q RANKS commands || train_command >>commands
    rm -rf runs
    bind=
    [ "$2" -eq 1 ] || bind='--bind-to none'
    [ "$1$2" != 11 ] || bind=${core:+--cpu-set $core}
    n=$1 threads=$2 steps_now=$3
    shift 3
    # shellcheck disable=SC2086 # none or two words
    quiet mpirun -n "$n" $bind build/heterps train "inputs/$network.yaml" --set data.test= \
        --set "data.train=data/${network}_train.h5" --set "data.batch=$batch" \
        --set data.microbatches="${MICROBATCHES:-1}" --set train.epochs=0 \
        --set "train.steps=$steps_now" --set "run.threads=$threads" --set schedule.method=single:cpu \
        --set run.directory=runs/it --set checkpoint.interval_seconds=0 \
        --set "train.precision=$precision" "$@"
}

# train_command: how all its runs are started; 1 rank x 2 threads also with --bind-to none
train_command() {
    cat <<EOT
    mpirun -n RANKS build/heterps train inputs/$network.yaml --set data.test= \\
        --set data.train=data/${network}_train.h5 --set data.batch=BATCH \\
        --set data.microbatches=${MICROBATCHES:-1} --set train.epochs=0 --set train.steps=STEPS \\
        --set run.threads=THREADS --set schedule.method=single:cpu --set run.directory=runs/it \\
        --set checkpoint.interval_seconds=0 --set train.precision=$precision
EOT
}

# ours RANKS THREADS [ARGUMENT...]: examples/s of the median step
ours() {
    n_of=$1 threads_of=$2
    shift 2
    train_network "$n_of" "$threads_of" "$steps" "$@"
    awk -v b="$batch" -v s="$(number runs/it/report.json step_median_s)" \
        'BEGIN { printf "%.6g\n", b / s }'
}

# peer FOLDER SCRIPT ARGUMENT...: examples/s, or nothing where it cannot
peer() {
    python=$peers/$1/bin/python script=$2
    shift 2
    note "$script $network $*"
    OMP_NUM_THREADS=2 "$python" "perf/peers/$script" "$network" --batch "$batch" --threads 2 \
        --steps "$steps" --device "${DEVICE:-cpu}" "$@" 2>err | sed -n 's/.* examples_s=\([0-9.]*\) .*/\1/p'
}
