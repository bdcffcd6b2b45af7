#!/bin/sh
# staleness.sh RATINGS_FOLDER - what four workers that do not wait learn, beside one worker with the
# same batch, at equal examples and the rates of the decks as they ship: test AUC of census, movielens
# (with the folder of movielens.sh), ctrdnn and dlrm, narrow ones on made-up data, from SEEDS (7) seeds
# each, at staleness 0, 1, 4, 16 and unbounded, rates with and without `inverse`, and hybrid. Then of
# census by optimiser, and by the order in which gradients come. Four ranks and a server on any number
# of cores: the order is that of arrival, and how stale gradients were is in the table. NETWORKS,
# OPTIMIZERS, ORDERS: of them. Half an hour.
ratings=${1:+$(cd "$1" && pwd)}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
seeds=${SEEDS:-7} W=4 rows=${ROWS:-400000}
networks=${NETWORKS-census movielens ctrdnn dlrm}
optimizers=${OPTIMIZERS-sgd:0.1 momentum:0.01 adagrad:0.05 adam:0.001}
orders=${ORDERS-arrival drawn stalls}
how=said                                    # the first seed's commands are kept for the text

# learn CASE RANKS ARGUMENT...: a run of $deck, $seed, $batch. Its row in the file results is
# "DECK SEED CASE AUC", then mean and largest staleness of dense weights, of rows; 0: none.
learn() {
    what=$1 n=$2
    shift 2
    rm -rf runs/it
    plan_file "$(layers "$deck")" '' "$n" >alone.json
    plan_file "$(layers "$deck")" '' "$W" '[]' "$W" >workers.json
    [ ! -f "profile_${deck}_$n.json" ] || set -- --set "schedule.profile=profile_${deck}_$n.json" "$@"
    # shellcheck disable=SC2086 # several words
    $how mpirun -n "$n" build/heterps train "inputs/$deck.yaml" $size --set "run.seed=$seed" \
        --set "data.batch=$batch" --set data.microbatches=1 --set run.threads=1 \
        --set checkpoint.interval_seconds=0 --set schedule.method=file \
        --set "schedule.plan=$([ "$n" = 1 ] && echo alone || echo workers).json" \
        --set run.directory=runs/it "$@"
    [ -f "profile_${deck}_$n.json" ] || cp runs/it/profile.json "profile_${deck}_$n.json"
    echo "$deck $seed $what $(number runs/it/report.json test_auc) $(stale dense) $(stale rows)" >>results
}

# stale KIND: mean and largest staleness of the last run's gradients
stale() {
    awk -v kind="\"$1\":" '/"staleness":/ { on = 1 } on && index($0, kind) { here = !/null/ }
        here && /"mean":/ { mean = $2 + 0 }
        here && /"max":/ { max = $2 + 0; exit }
        END { print mean + 0, max + 0 }' runs/it/report.json
}

# workers CASE SYNCHRONIZATION STALENESS RATE ARGUMENT...: four and a server
workers() {
    what=$1 sync=$2 bound=$3 rate=$4
    shift 4
    learn "$what" $((W + 1)) --set "train.workers=$W" --set storage.servers=1 \
        --set "train.synchronization=$sync" --set "train.staleness=$bound" \
        --set "train.staleness_rate=$rate" "$@"
}

# off BASE CASE DECK: means of the case's AUC less the base's, seed by seed: "MEAN SD"
off() {
    awk -v base="$1" -v what="$2" -v deck="$3" '
        $1 == deck && $3 == base { b[$2] = $4 }
        $1 == deck && $3 == what { c[$2] = $4 }
        END {
            for (s in c) { d = c[s] - b[s]; sum += d; squares += d * d; n++ }
            v = n > 1 ? (squares - sum * sum / n) / (n - 1) : 0
            if (n) printf "%.6f %.6f\n", sum / n, sqrt(v > 0 ? v : 0); else print "nan nan"
        }' results
}
# cell BASE CASE DECK: in units of 1e-4, with the standard error
cell() {
    off "$@" | awk -v n="$seeds" '{ printf "%+.1f ± %.1f (%.1f)\n", 1e4 * $1, 1e4 * $2 / sqrt(n), 1e4 * $2 }'
}
# auc CASE DECK; occurred CASE DECK: mean staleness and the largest, of dense weights and of rows
auc() {
    awk -v what="$1" -v deck="$2" '$1 == deck && $3 == what { s += $4; n++ }
        END { printf "%.4f\n", s / n }' results
}
occurred() {
    awk -v what="$1" -v deck="$2" '$1 == deck && $3 == what {
            d += $5; r += $7; if ($6 > dm) dm = $6; if ($8 > rm) rm = $8; n++ }
        END { printf "%.1f, %d; %.1f, %d\n", d / n, dm, r / n, rm }' results
}
# no_less BASE CASE DECK BY: is the mean difference at least -BY?
# shellcheck disable=SC2317 # called by goal
no_less() { off "$1" "$2" "$3" | awk -v by="$4" '{ exit !($1 == $1 + 0 && $1 >= -by) }'; }

# all_cases: the runs of a network, of all seeds
all_cases() {
    for seed in $(seq "$seeds"); do
        [ "$seed" = 1 ] || how=quiet
        learn alone 1
        batch=$((batch * W))
        learn large 1
        batch=$((batch / W))
        workers s0.none ssp 0 none
        for rate in none inverse; do
            for bound in 1 4 16; do workers "s$bound.$rate" ssp $bound "$rate"; done
            workers "asp.$rate" asp 0 "$rate"
        done
        workers hybrid hybrid 4 none
    done
}

# rows_of DECK: of the first table
rows_of() {
    row "$1" "$(auc alone "$1")" none "$(cell alone s0.none "$1")" "$(cell alone s1.none "$1")" \
        "$(cell alone s4.none "$1")" "$(cell alone s16.none "$1")" "$(cell alone asp.none "$1")" \
        "$(cell alone hybrid "$1")"
    row '' '' inverse '' "$(cell alone s1.inverse "$1")" "$(cell alone s4.inverse "$1")" \
        "$(cell alone s16.inverse "$1")" "$(cell alone asp.inverse "$1")" ''
}
# stale_of DECK, large_of DECK: of the second and the third
stale_of() {
    row "$1" "$(occurred s1.none "$1")" "$(occurred s4.none "$1")" "$(occurred s16.none "$1")" \
        "$(occurred asp.none "$1")" "$(occurred hybrid "$1" | sed 's/.*; //')"
}
large_of() {
    row "$1" "$(cell alone large "$1")" "$(cell large s0.none "$1")" "$(cell large hybrid "$1")" \
        "$(cell large s4.none "$1")"
}

# one_network DECK: its data and its runs; $batch and $size, what of the deck is another
one_network() {
    deck=$1 batch=256 size=
    case $deck in
    census) [ -f data/census_test.h5 ] || import_census ;;
    movielens)
        [ "$ratings" ] || give_up 'movielens needs the folder of its ratings'
        import_movielens "$ratings"
        ;;
    ctrdnn)
        batch=100
        size='--set model.h1.width=64 --set model.h2.width=64 --set model.h3.width=64'
        ;;
    dlrm)
        batch=200
        size='--set model.b1.width=64 --set model.b2.width=32 --set model.t1.width=64 --set model.t2.width=32'
        ;;
    esac
    case $deck in ctrdnn | dlrm) generate "$deck" ;; esac
    how=said
    all_cases
}
generate() {
    said build/heterps generate "inputs/$1.yaml" --set generate.buckets=1000 --rows "$rows" \
        --output "data/$1_train.h5"
    said build/heterps generate "inputs/$1.yaml" --set generate.buckets=1000 --first "$rows" \
        --rows 20000 --output "data/$1_test.h5"
    size="$size --set data.test=data/$1_test.h5"
}

# by_optimizer: census at staleness 4 and unbounded; each at a rate that one worker learns at
by_optimizer() {
    for one in $optimizers; do
        name=${one%:*}
        set -- --set "train.optimizer=$name" --set "train.learning_rate=${one#*:}"
        for seed in $(seq "$seeds"); do
            how=quiet
            learn "$name.alone" 1 "$@"
            workers "$name.s4" ssp 4 none "$@"
            workers "$name.asp" asp 0 none "$@"
            workers "$name.aspi" asp 0 inverse "$@"
        done
        row "$name" "${one#*:}" "$(auc "$name.alone" census)" "$(cell "$name.alone" "$name.s4" census)" \
            "$(cell "$name.alone" "$name.asp" census)" "$(cell "$name.alone" "$name.aspi" census)"
    done
}

# by_order: census, unbounded: as gradients come; drawn from all that may come next; as they come from
# workers that sleep three quarters of the time, and in a twentieth of all steps for ten times as long
by_order() {
    pool='[{name: worker, match: "*", price_usd_hour: 1, emulate: {ranks: "0-3", slow: 4, stall_share: 0.05, stall_slow: 10}}, {name: server, match: "*", price_usd_hour: 1}]'
    for order in $orders; do
        for seed in $(seq "$seeds"); do
            case $order in
            arrival) set -- ;;
            drawn) set -- --set "train.interleaving=$seed" ;;
            stalls) set -- --set schedule.profile= --set "resources=$pool" --set storage.server_type=server ;;
            esac
            how=quiet
            learn "$order.alone" 1
            workers "$order.asp" asp 0 none "$@"
        done
        row "$order" "$(occurred "$order.asp" census)" "$(cell "$order.alone" "$order.asp" census)"
    done
}

title "What workers learn that do not wait, $seeds seeds"
mkdir -p data
: >results
for network in $networks; do one_network "$network"; done
if [ "$networks" ]; then
    echo "Test AUC of $W workers less that of one worker under bsp with the same batch, in 1e-4: mean over the"
    echo 'seeds ± its standard error (standard deviation). Columns: train.staleness; hybrid has 4.'
    echo
    header network 'AUC, one worker' staleness_rate 0 1 4 16 asp hybrid
    for network in $networks; do rows_of "$network"; done
    echo
    echo 'How stale gradients were, without `inverse`: of dense weights mean, largest; of rows mean, largest:'
    echo
    header network 1 4 16 asp 'hybrid (rows)'
    for network in $networks; do stale_of "$network"; done
    echo
    echo "One worker with $W times the batch makes as many updates as staleness 0 makes, and hybrid of dense weights:"
    echo "AUC in 1e-4, mean ± standard error (standard deviation):"
    echo
    header network "batch $W B less batch B" "staleness 0 less batch $W B" \
        "hybrid less batch $W B" "staleness 4 less batch $W B"
    for network in $networks; do large_of "$network"; done
    echo
fi
deck=census batch=256 size=
[ ! "$optimizers$orders" ] || [ -f data/census_test.h5 ] || import_census
if [ "$optimizers" ]; then
    echo 'census by optimiser, at a rate that one worker learns at; less one worker, in 1e-4:'
    echo
    header optimiser rate 'AUC, one worker' 'staleness 4' asp 'asp, inverse'
    by_optimizer
    echo
fi
if [ "$orders" ]; then
    echo 'census, asp, by the order of gradients; staleness as above:'
    echo
    header order 'how stale' 'AUC less one worker, 1e-4'
    by_order
    echo
fi
for network in $networks; do
    for one in s0.none s1.none s4.none s1.inverse s4.inverse; do
        bound=${one%.*} bound=${bound#s}
        goal "$network: staleness $bound, rate ${one#*.}: AUC at most 0.001 below one worker's" \
            no_less alone "$one" "$network" 0.001
    done
    goal "$network: hybrid: AUC at most 0.0005 below" no_less alone hybrid "$network" 0.0005
done
commands
the_end
