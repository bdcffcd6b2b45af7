#!/bin/sh
# movielens.sh DIR - inputs/movielens.yaml on the ratings in DIR (ratings and movies, .csv or .gz)
# beside logistic regression on the same split: perf/scripts/logistic.yaml by this program, and
# perf/scripts/logistic.py, which shares nothing with it.
if [ $# -ne 1 ] || [ ! -d "$1" ]; then
    echo 'usage: perf/scripts/movielens.sh DIR    with ratings.csv and movies.csv (or .gz) in it' >&2
    exit 64
fi
from=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
python=${PYTHON:-/usr/bin/python3}
$python -c 'import h5py, numpy' 2>err || give_up "$python has no h5py or no numpy"

ratings=ratings.csv
[ -f "$from/$ratings" ] || ratings=ratings.csv.gz
[ -f "$from/$ratings" ] || give_up "no ratings.csv in $from"

# result NAME WHAT: the row of the run in runs/NAME
result() {
    report=runs/$1/report.json
    row "$2" "$(digits 4 "$(number "$report" test_auc)")" \
        "$(digits 4 "$(number "$report" test_logloss)")" "$(digits 3 "$(number "$report" seconds)")"
}

title 'MovieLens latest-small: rating of 4 and more, tested on the last fifth by time'
import_movielens "$from"
header what 'test AUC' 'log loss' 'training, s'
said mpirun -n 2 build/heterps train inputs/movielens.yaml
result movielens 'inputs/movielens.yaml'
said mpirun -n 2 build/heterps train perf/scripts/logistic.yaml
result logistic 'logistic regression, perf/scripts/logistic.yaml'
said "$python" perf/scripts/logistic.py data/movielens_train.h5 data/movielens_test.h5 0.1 1 3 10
while read -r l2 auc loss steps; do
    row "logistic regression, perf/scripts/logistic.py, L2 $l2 ($steps Newton steps)" \
        "$(digits 4 "$auc")" "$(digits 4 "$loss")" -
done <out
commands
echo
echo "\`ml\` is the folder of the ratings. The test users are mostly new: their id is 0 (unknown)."
the_end
