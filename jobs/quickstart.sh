#!/bin/sh
# quickstart.sh - from a fresh clone to a trained network: installs what is missing, builds in
# build/, imports the census data, trains inputs/census.yaml on as many ranks as cores, prints the
# plan, the progress and the report. A second call finds everything done.
#
#   HPS_RANKS=4       another number of ranks
#   MPIEXEC=srun      another launcher (MPIEXEC_FLAGS: its options)
cd "$(dirname "$0")/.." || exit 1
. jobs/lib.sh

program=build/heterps
source=inputs/census/adult.csv.gz
schema=inputs/census.schema.yaml
deck=inputs/census.yaml

build() {
    note 'building in build/'
    bootstrap
    build_in build || exit 1
}

# Is this data set whole, and newer than what it is made from?
current() { # FILE
    newer "$1" $source && newer "$1" $schema && $program info "$1" >/dev/null 2>&1
}

import() {
    if current data/census_train.h5 && current data/census_test.h5; then
        note 'data/census_train.h5 and data/census_test.h5 are there'
        return
    fi
    note "importing $source"
    mkdir -p data
    $program import csv --schema $schema --output data/census_train.h5 \
        --test-output data/census_test.h5 $source || give_up 'the import failed'
}

# One rank a core (hardware threads of one core share its arithmetic), and 2 at least.
ranks() {
    here=$(cores)
    real=$(lscpu -p=core,socket 2>/dev/null | grep -v '^#' | sort -u | wc -l)
    [ "$real" -gt 0 ] && [ "$real" -lt "$here" ] && here=$real
    [ "$here" -ge 2 ] || here=2
    echo "${HPS_RANKS:-$here}"
}

train() {
    n=$(ranks)
    launcher=${MPIEXEC:-mpirun}
    open_mpi_settings
    note "training $deck on $n ranks"
    # shellcheck disable=SC2086 # the flags are several words
    "$launcher" ${MPIEXEC_FLAGS:-} -n "$n" $program train $deck
}

install_packages missing_for_build
try_optional
build
import
train
status=$?
[ $status -eq 0 ] || give_up "the training ended with $status"
note 'the run is in runs/census; its report again: build/heterps report runs/census'
