#!/bin/sh
# run.sh [SUITE]...: installs what is missing, builds out of tree and runs every test, or the suites
# that are named: gcc clang configure distcheck install valgrind fuzz; "quick" is gcc; "coverage"
# says which lines the tests of rooms run, and tests nothing that others do not. The last line is
# "N passed, N failed, N skipped"; the exit code is not 0 if any failed.
#
#   HPS_TESTS_DIR     where it builds (default build-tests)
#   HPS_FUZZ_SECONDS  each fuzz target (default 10 with CI=true, else 5)
#   HPS_FUZZ_JOBS     targets at a time (default 2)
cd "$(dirname "$0")/.." || exit 1
. jobs/lib.sh
srcdir=$(pwd)
export srcdir
. tests/lib/env.sh

dir=${HPS_TESTS_DIR:-build-tests}
fuzz_seconds=${HPS_FUZZ_SECONDS:-$([ "${CI:-}" = true ] && echo 10 || echo 5)}
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); }

flunk() {
    failed=$((failed + 1))
    note "FAILED: $*"
}

skip() {
    skipped=$((skipped + 1))
    note "skipped: $*"
}

# suite WORD NAME COMMAND...: if it is wanted, says its name, and the seconds that it took
suite() {
    case " $wanted " in *" $1 "*) ;; *) return ;; esac
    name=$2
    shift 2
    began=$(date +%s)
    note "$name"
    "$@"
    note "$name: $(($(date +%s) - began)) s; $passed passed, $failed failed, $skipped skipped"
}

# tally FOLDER: adds the verdicts of the test harness, and shows what failed
tally() {
    for trs in "$1"/tests/*/*.trs; do
        [ -f "$trs" ] || continue
        case $(sed -n 's/^:test-result: *//p' "$trs") in
        PASS*) pass ;;
        SKIP*) skip "${trs%.trs}: $(tail -n 3 "${trs%.trs}.log" | head -n 1)" ;;
        *)
            flunk "${trs%.trs}"
            tail -n 40 "${trs%.trs}.log" ;;
        esac
    done
}

# slowest FOLDER: the tests that took longest, so that it is known what makes the suite slow
slowest() {
    sed -n 's/^took \([0-9]*\) s, .*\/\([a-z0-9_.]*\)$/\1 s \2/p' "$1"/tests/*/*.log |
        sort -rn | head -n 6 >"$1/slowest"
    note "slowest: $(paste -s -d , "$1/slowest" | sed 's/,/, /g')"
}

# checked FOLDER TARGET RANKS CONFIGURE-ARGUMENT...: a build and its tests, some at a time more than
# there are cores: those of the program wait half of their time for its launcher. With more than two
# of them beside the cores' own, a private Slurm no longer keeps its times.
checked() {
    folder=$dir/$1 target=$2 np=$3
    shift 3
    if ! build_in "$folder" "$@"; then
        flunk "the build in $folder"
        return
    fi
    rm -f "$folder"/tests/*/*.trs
    HPS_NP=$np make -C "$folder" -j $(($(cores) + 2)) -k "$target" >"$folder/check.out" 2>&1
    rc=$?
    before=$failed
    tally "$folder"
    slowest "$folder"
    if [ $rc -ne 0 ] && [ "$failed" -eq "$before" ]; then
        grep -E -A 3 'error|undefined|\*\*\*' "$folder/check.out" | head -n 40
        flunk "make $target in $folder"
    fi
}

# What configure must refuse, and what it then says.
configure_refuses() {
    mkdir -p "$dir/refused"
    for try in '--with-bogus=yes|unknown option: --with-bogus' \
        '--with-papi=/nowhere --with-yaml=/nowhere|apt-get install libpapi-dev libyaml-dev'; do
        # shellcheck disable=SC2086 # several arguments
        if (cd "$dir/refused" && rm -f Makefile &&
            ! "$srcdir/configure" ${try%%|*} >out 2>&1 && [ ! -f Makefile ] &&
            grep -q -e "${try#*|}" out); then
            pass
        else
            flunk "configure ${try%%|*}"
        fi
    done
}

# The tarball builds every program and test, and installs, from a source that is read only, without
# what is optional; of the tests those that read what lies in it, or use what then stands in.
without='--without-cuda --without-dnnl --without-isal --without-uring'
distcheck() {
    if main_build && HPS_NP=2 make -C "$dir/gcc" -j "$(cores)" distcheck \
        DISTCHECK_CONFIGURE_FLAGS="CFLAGS=-O0 $without" >"$dir/distcheck.out" 2>&1 \
        TESTS='tests/unit/t_import tests/unit/t_import_csv tests/unit/t_gemm tests/unit/t_bf16
            tests/unit/t_dev_fc tests/mpi/m_reader tests/e2e/e_cli.sh tests/e2e/e_plan.sh
            tests/e2e/e_gpu.sh tests/e2e/e_h5py.sh tests/rules/floors.sh tests/rules/style.sh
            tests/rules/lists.sh'; then
        passed=$((passed + $(sum '# PASS:' "$dir/distcheck.out")))
        skipped=$((skipped + $(sum '# SKIP:' "$dir/distcheck.out")))
        pass
        whole_tarball
    else
        tail -n 60 "$dir/distcheck.out"
        flunk "make distcheck, see $dir/distcheck.out"
    fi
}

# What git knows is in the tarball.
whole_tarball() {
    [ -e .git ] || return
    tar tzf "$dir/gcc/$(basename "$dir"/gcc/heterps-*.tar.gz)" | sed 's|^[^/]*/||' >"$dir/tarball"
    left=$(git ls-files | grep -v -x -F -f "$dir/tarball" | xargs)
    if [ -z "$left" ]; then pass; else flunk "not in the tarball: $left"; fi
}

sum() { awk -v key="$1" 'index($0, key) == 1 { n += $3 } END { print n + 0 }' "$2"; }

# Everything lies where sites look for it, and the program works from there.
installed() {
    root=$srcdir/$dir/root
    rm -rf "$root"
    if ! main_build ||
        ! quietly "$dir/install.out" make -C "$dir/gcc" install DESTDIR="$root"; then
        flunk 'make install'
        return
    fi
    cuda=$([ ! -e "$dir/gcc/heterps-cuda.so" ] || echo lib/heterps/heterps-cuda.so)
    for f in $cuda bin/heterps share/man/man1/heterps.1 share/man/man5/heterps-deck.5 \
        share/man/man5/heterps-formats.5 share/heterps/inputs/census.yaml \
        share/bash-completion/completions/heterps share/doc/heterps/LICENSE; do
        if [ -e "$root/usr/local/$f" ]; then pass; else flunk "$f is not installed"; fi
    done
    if "$root/usr/local/bin/heterps" --version >/dev/null; then pass; else
        flunk 'the installed program does not run'
    fi
}

# under_valgrind PROGRAM ARGUMENT...: on two ranks, without a wrong read, a wrong write or a leak of
# our own. In the folder where it is called.
under_valgrind() {
    timeout 300 "${MPIEXEC:-mpirun}" --oversubscribe --bind-to none -n 2 \
        -x LD_PRELOAD="$srcdir/$dir/nodlclose.so" \
        valgrind -q --num-callers=40 --suppressions="$srcdir/tests/lib/valgrind.supp" \
        --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
        --error-exitcode=9 "$@" >>valgrind.out 2>&1
}

# A whole run, from the text of the data to the report.
valgrind_run() {
    program=$srcdir/$dir/gcc/heterps
    rm -rf "$dir/valgrind"
    mkdir -p "$dir/valgrind/data"
    if main_build && quietly "$dir/valgrind/make.out" make -C "$dir/gcc" tests/mpi/m_exchange &&
        cc -shared -fPIC -o "$dir/nodlclose.so" tests/lib/nodlclose.c &&
        (cd "$dir/valgrind" &&
            "$program" import csv --schema "$srcdir/inputs/census.schema.yaml" \
                --output data/census_train.h5 --test-output data/census_test.h5 \
                "$srcdir/inputs/census/adult.csv.gz" >valgrind.out 2>&1 &&
            under_valgrind "$srcdir/$dir/gcc/tests/mpi/m_exchange" &&
            under_valgrind "$program" train "$srcdir/inputs/census.yaml" \
                --set train.steps=4 --set train.epochs=0); then
        pass
    else
        tail -n 40 "$dir/valgrind/valgrind.out"
        flunk "valgrind, see $dir/valgrind/valgrind.out"
    fi
}

# fuzz_one TARGET: some seconds from the kept corpus on; what it finds stays beside it
fuzz_one() {
    name=${1##*/}
    found=$srcdir/$dir/fuzz/found/$name
    seeds=$srcdir/tests/fuzz/corpus/${name#fuzz_}
    mkdir -p "$found"
    [ -d "$seeds" ] || seeds=
    # shellcheck disable=SC2086 # empty or one word
    (cd "$found" && timeout $((fuzz_seconds + 60)) "$srcdir/$1" -max_total_time="$fuzz_seconds" \
        -timeout=20 -rss_limit_mb=2048 -artifact_prefix="$found/bad-" "$found" $seeds) \
        >"$found.out" 2>&1
    echo $? >"$found.rc"
}

fuzz() {
    if ! clang_fuzzes; then
        skip 'fuzz targets: clang has no libFuzzer here'
        return
    fi
    mkdir -p "$dir/fuzz/found"
    # shellcheck disable=SC2086 # several arguments
    if ! build_in "$dir/clang" $sanitized CFLAGS="$quick_clang" ||
        ! quietly "$dir/fuzz/fuzz.out" make -C "$dir/clang" -j "$(cores)" fuzz; then
        flunk 'the build of the fuzz targets'
        return
    fi
    rm -f "$dir"/fuzz/found/*.rc
    running=0
    for target in "$dir"/clang/tests/fuzz/fuzz_*; do
        [ -x "$target" ] || continue
        fuzz_one "$target" &
        running=$((running + 1))
        [ $((running % ${HPS_FUZZ_JOBS:-2})) -ne 0 ] || wait
    done
    wait
    for rc in "$dir"/fuzz/found/*.rc; do
        [ -f "$rc" ] || continue
        if [ "$(cat "$rc")" = 0 ]; then pass; else
            tail -n 40 "${rc%.rc}.out"
            flunk "${rc%.rc}"
        fi
    done
}

# The programs that only measure still compile.
perf_programs() {
    if main_build && quietly "$dir/perf.out" make -C "$dir/gcc" -j "$(cores)" perf-programs; then
        pass
    else
        flunk 'the programs of perf/bin'
    fi
}

# Which lines of src the tests of rooms run, without what is optional.
coverage() {
    find "$dir/coverage" -name '*.gcda' -exec rm -f {} + 2>/dev/null
    OMPI_MCA_odls_base_sigkill_timeout=1    # the last rank to end still has to write its counts
    # shellcheck disable=SC2086 # several arguments
    checked coverage check-rooms 3 CFLAGS='-O1 -g' --enable-coverage $without
    OMPI_MCA_odls_base_sigkill_timeout=0
    if lcov -q -c -d "$dir/coverage" -o "$dir/coverage.info" >"$dir/lcov.out" 2>&1 &&
        lcov -q -e "$dir/coverage.info" "$srcdir/src/*" -o "$dir/src.info" >>"$dir/lcov.out" 2>&1
    then
        lcov --list "$dir/src.info" 2>/dev/null | sed -n '/\.c/p'
        lcov --summary "$dir/src.info" 2>&1 | sed -n 's/^ *lines[. ]*: */line coverage of src: /p'
        pass
    else
        flunk "lcov, see $dir/lcov.out"
    fi
}

# One build by clang has its warnings as errors, the sanitizers, and what fuzzing counts by: tests
# of rooms and fuzz targets run in it. Loops that want a higher level to become vectors say so.
# Of what debuggers read it has the lines, which sanitizers name: a fifth less to compile.
sanitized='CC=clang --enable-werror --enable-fuzz --without-cuda'
quick_clang='-O1 -gline-tables-only -Wno-pass-failed'

clang_fuzzes() { clang_links -fsanitize=fuzzer,address 's/int main.*//'; }

# The rooms under the sanitizers: by clang, or by gcc where clang has none.
sanitizers() {
    if clang_fuzzes; then
        # shellcheck disable=SC2086 # several arguments
        checked clang check-sanitized 3 $sanitized CFLAGS="$quick_clang"
    else
        checked clang check-sanitized 3 CC=gcc CFLAGS='-O1 -g' --enable-sanitizers --without-cuda
    fi
}

# The build that several suites start from: as configure makes it, but of what debuggers read only
# the lines: a tenth less to compile, objects half as large. Kernels are for one architecture.
one_arch='-gencode arch=compute_80,code=sm_80'
quick_gcc='-O3 -g1'
main_build() {
    build_in "$dir/gcc" CC=gcc --enable-werror CFLAGS="$quick_gcc" NVCC_ARCH="$one_arch"
}

wanted=${*:-gcc clang configure distcheck install valgrind fuzz}
[ "$wanted" != quick ] || wanted=gcc
for word in $wanted; do
    case $word in
    gcc | clang | coverage | configure | distcheck | install | valgrind | fuzz) ;;
    *) give_up "there is no suite '$word'" ;;
    esac
done
install_packages missing_for_build
try_optional
install_packages missing_for_tests
try_slurm
try_browser
bootstrap
mkdir -p "$dir"
suite gcc 'gcc, 1 to 4 ranks' checked gcc check '1 2 3 4' CC=gcc --enable-werror \
    CFLAGS="$quick_gcc" NVCC_ARCH="$one_arch"
suite gcc 'programs of perf' perf_programs
suite clang 'clang with sanitizers, the rooms' sanitizers
suite coverage 'without CUDA, with coverage, the rooms' coverage
suite configure 'configure' configure_refuses
suite distcheck 'make distcheck' distcheck
suite install 'make install' installed
suite valgrind 'valgrind' valgrind_run
suite fuzz "fuzz targets, $fuzz_seconds s each" fuzz
[ $((passed + failed)) -gt 0 ] || failed=1
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
