#!/bin/sh
# pair.sh OLD [NETWORK[:CUT]]... - examples/s of this program over those of another one (OLD, of
# another revision, or this one itself: what the machine alone makes of equal programs), two ranks of
# one thread, in turn; all of ctrdnn, dlrm, bags or those named. Rounds of old, new, new, old go on
# until the interval that holds the mean of their ratios at 95 % is narrower than 1 %, at least 5,
# at most ROUNDS (30), of STEPS (60) each; the median step counts. With a CUT the ranks are two
# stages: layers before and from CUT.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
old=${1:?which program?}
shift
old=$(cd "$(dirname "$old")" && pwd)/${old##*/} new=$(readlink build/heterps)
rounds=${ROUNDS:-30} steps=${STEPS:-60}

rate_of() { # PROGRAM
    ln -sf "$1" build/heterps
    if [ "$cut" ]; then
        ours 2 1 --set schedule.method=file --set schedule.plan=plan.json
    else
        ours 2 1
    fi
}

# Mean of the ratios in lines, and half of the interval: by Student's t.
interval() {
    awk '{ x = log($1); sum += x; squares += x * x }
        END {
            n = NR; mean = sum / n; var = (squares - n * mean * mean) / (n - 1)
            split("12.7 4.3 3.18 2.78 2.57 2.45 2.36 2.31 2.26 2.23 2.2 2.18 2.16 2.14 2.13", t, " ")
            q = n - 1 <= 15 ? t[n - 1] : 2.06
            half = q * sqrt(var > 0 ? var / n : 0)
            printf "%.4f %.4f %.4f %d\n", exp(mean), exp(mean - half), exp(mean + half), n
        }' ratios
}

one_network() {
    network "${1%:*}"
    cut=${1#"$network"} cut=${cut#:}
    [ -z "$cut" ] || plan_file "$(layers "$network")" "$cut" '1 1' >plan.json
    ln -sf "$new" build/heterps
    data_network
    : >ratios
    for round in $(seq "$rounds"); do
        a=$(rate_of "$old") && b=$(rate_of "$new") && c=$(rate_of "$new") && d=$(rate_of "$old")
        echo "$a $b $c $d" | awk '{ print sqrt($2 * $3 / ($1 * $4)) }' >>ratios
        [ "$round" -ge 5 ] || continue
        # shellcheck disable=SC2046 # four words
        set -- $(interval)
        ! at_most "$(echo "$2 $3" | awk '{ print $2 - $1 }')" 0.01 || break
    done
    # shellcheck disable=SC2046 # four words
    set -- $(interval)
    row "$network${cut:+, 0-$((cut - 1)) and $cut- on a rank each}" "$1" "$2 to $3" "$4"
    echo "$network $3" >>ends
}

title "Training beside $("$old" --version | sed -n '1s/heterps //p')"
header network 'examples/s, new over old' 'at 95 %' rounds
: >ends
[ $# -gt 0 ] || set -- ctrdnn dlrm bags
for each; do
    one_network "$each"
done
echo
while read -r network end; do
    goal "$network is not slower: the upper end is at least 0.99" at_most 0.99 "$end"
done <ends
the_end
