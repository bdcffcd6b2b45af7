# shellcheck shell=sh
# lib.sh - what quickstart.sh and tests/run.sh share: what has to be installed, and the build.
# Sourced from the top of the source.

note() { printf '== %s\n' "$*"; }

give_up() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

cores() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN; }

has() { command -v "$1" >/dev/null 2>&1; }

# newer A B: A is there and younger than B
newer() { [ -n "$(find "$1" -newer "$2" 2>/dev/null)" ]; }

# header NAME [MODULE]: the compiler finds it, with what pkg-config says of MODULE
header() {
    # shellcheck disable=SC2046 # the flags are several words
    echo "#include <$1>" | cc -E -x c $(pkg-config --cflags "${2:-x}" 2>/dev/null) - >/dev/null 2>&1
}

# library NAME [MODULE]: programs link with it, with what pkg-config says of MODULE
library() {
    # shellcheck disable=SC2046 # the flags are several words
    echo 'int main(void) { return 0; }' |
        cc -x c - $(pkg-config --libs "${2:-x}" 2>/dev/null) "-l$1" -o /dev/null >/dev/null 2>&1
}

# A BLAS: OpenBLAS, since the reference one, which has the same header, is twenty times slower; but
# who may not install takes what is here.
blas() { library openblas openblas || { header cblas.h && ! may_install; }; }

# clang_links FLAG: clang makes a program with it
clang_links() {
    echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' \
        'int main(void) { return 0; }' |
        sed "$2" | clang "$1" -x c - -o /dev/null >/dev/null 2>&1
}

# The Debian packages of the build that this machine lacks. Asked by what they give, not by name:
# a site may have the same from its modules.
missing_for_build() {
    has cc && has make || echo build-essential
    has autoreconf || echo autoconf
    has automake || echo automake
    has pkg-config || echo pkg-config
    has "${MPIEXEC:-mpirun}" || echo openmpi-bin
    has mpicc || echo libopenmpi-dev
    has h5pcc || header hdf5.h hdf5-openmpi || echo libhdf5-openmpi-dev
    header papi.h papi || echo libpapi-dev
    header hwloc.h hwloc || echo libhwloc-dev
    blas || echo libopenblas-dev
    header lapacke.h lapacke || header lapacke.h openblas || echo liblapacke-dev
    header yaml.h yaml-0.1 || echo libyaml-dev
    header jansson.h jansson || echo libjansson-dev
    header zlib.h zlib || echo zlib1g-dev
}

# What makes it faster and is not needed: nobody is asked for a password for it, and it may fail.
try_optional() {
    [ "$(id -u)" -eq 0 ] || return 0
    header isa-l.h libisal || install_quietly libisal-dev
    header dnnl.h || install_quietly libdnnl-dev
    header liburing.h liburing || install_quietly liburing-dev
}

# The batch system of the tests, which are skipped without it.
try_slurm() {
    [ "$(id -u)" -eq 0 ] || return 0
    # shellcheck disable=SC2015 # either is missing
    has slurmctld && has slurmd && has sbatch || install_quietly slurm-wlm
    has munged || install_quietly munge
    # Slurm's PMIx plugin loads the library by the name that only this package has
    header pmix.h pmix || install_quietly libpmix-dev
}

# The browser of the tests, which open no page without it.
try_browser() {
    [ "$(id -u)" -ne 0 ] || has chromium || install_quietly chromium
}

install_quietly() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$1" \
        </dev/null >/dev/null 2>&1 || :
}

# first_package NAME...: the first that this release of the system has
first_package() {
    for name; do
        if apt-cache show "$name" 2>/dev/null | grep -q '^Package:'; then
            echo "$name"
            return
        fi
    done
}

missing_for_tests() {
    header cmocka.h cmocka || echo libcmocka-dev
    has git || echo git
    has g++ || echo g++
    has clang || echo clang
    has valgrind || echo valgrind
    has lcov || echo lcov
    has h5dump || echo hdf5-tools
    /usr/bin/python3 -c 'import h5py' 2>/dev/null || echo python3-h5py
    has clang || return 0
    clang_links -fopenmp '' || echo libomp-dev
    clang_links -fsanitize=fuzzer,address 's/int main.*//' ||
        first_package libclang-rt-dev "libclang-rt-$(clang_major)-dev" \
            "libclang-common-$(clang_major)-dev"
}

clang_major() { clang -dumpversion | sed 's/\..*//'; }

# as_root COMMAND...: as root, or through sudo
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# may_install: root, or a sudo that works without a password or can ask for one
may_install() {
    has apt-get || return 1
    [ "$(id -u)" -eq 0 ] && return 0
    has sudo || return 1
    sudo -n true 2>/dev/null || [ -t 0 ]
}

# install_packages FUNCTION: what it names as missing. What a package makes visible may be a
# package more (a compiler's run time), hence the second round.
install_packages() {
    for round in 1 2; do
        names=$("$1" | xargs)
        [ -n "$names" ] || return 0
        may_install || give_up "these packages are missing, and installing needs root:
apt-get install $names"
        note "installing $names"
        said=$(mktemp) || exit 1
        [ "$round" -eq 2 ] || as_root apt-get -qq update >"$said" 2>&1 ||
            note 'the package lists could not be renewed'
        # shellcheck disable=SC2086 # one word a package
        if ! as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get -qq install -y --no-install-recommends $names >"$said" 2>&1; then
            tail -n 20 "$said" >&2
            rm -f "$said"
            give_up "could not install them; by hand: apt-get install $names"
        fi
        rm -f "$said"
    done
    names=$("$1" | xargs)
    [ -z "$names" ] || give_up "still missing after their installation: $names"
}

# Containers and small machines: root, more ranks than cores, no ptrace between ranks. The program
# itself asks for none of this.
open_mpi_settings() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_btl_vader_single_copy_mechanism=none
}

# bootstrap: make configure, where it is missing or older than what it is made from
bootstrap() {
    if [ ! -x configure ] || newer configure.ac configure; then
        autoreconf -i >autoreconf.log 2>&1 || {
            cat autoreconf.log >&2
            give_up 'autoreconf failed'
        }
        rm -f autoreconf.log
    fi
}

# quietly LOG COMMAND...: its output goes to LOG; shown only if it fails
quietly() {
    log=$1
    shift
    "$@" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        printf 'error: %s failed; all of it is in %s\n' "$*" "$log" >&2
        return 1
    }
}

# build_in FOLDER [CONFIGURE-ARGUMENT]...: configure unless done, then make
build_in() {
    folder=$1
    shift
    mkdir -p "$folder"
    top=$(pwd)
    if [ ! -f "$folder/Makefile" ]; then
        (cd "$folder" && quietly configure.out "$top/configure" "$@") || return 1
    fi
    quietly "$folder/make.out" make -C "$folder" -j "$(cores)"
}
