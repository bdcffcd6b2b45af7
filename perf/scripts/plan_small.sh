#!/bin/sh
# plan_small.sh - every method against enumeration on small problems, and a second opinion in another
# language of every plan's JSON. HPS_SEEDS problems (200).
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
seeds=${HPS_SEEDS:-200}
oracle=$srcdir/tests/oracle/plan_oracle.py
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
make -C "$HPS_BUILD" perf/bin/plan_small >&2 || give_up 'perf/bin/plan_small is not built'
mkdir -p build/perf/bin plans
ln -s "$HPS_BUILD/perf/bin/plan_small" build/perf/bin/plan_small

title 'Small problems: every method against enumeration'
echo 'Random problems (`perf/bin/random_profile.h`) with 1 to 16 units a type, half of them of 10 layers'
echo 'and 4 types, the others of 2 to 9 layers and 2 to 4 types; an eighth with little memory, another'
echo 'with a dedicated server. `brute` prices every assignment; a difference of 1e-9 counts.'
echo
said build/perf/bin/plan_small "$seeds" plans
cat out
commands

count=0
set --
for plans in plans/plans_*.json; do
    number=${plans#plans/plans_}
    set -- "$@" "plans/profile_$number" "$plans"
    count=$((count + $(grep -c '"method"' "$plans")))
done
# shellcheck disable=SC2317 # called by goal
agrees() { python3 "$oracle" "$@" >oracle.out; }
echo
# of METHOD: answers that are right, and of how many
of() { awk -F'|' -v m=" $1 " '$2 == m { split($4, x, " "); print x[1] }' out; }
goal "exact's answer is enumeration's on all $seeds" [ "$(of exact)" -eq "$seeds" ]
goal "rl's too" [ "$(of rl)" -eq "$seeds" ]
goal 'pure rl on at least 97 %' [ $((100 * $(of 'rl, polish: false'))) -ge $((97 * seeds)) ]
goal "tests/oracle/plan_oracle.py computes the same of all $count plans, also of those that share and
those for the engine" agrees "$@"
cat oracle.out
the_end
