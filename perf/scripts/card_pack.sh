#!/bin/sh
# card_pack.sh FILE.tar.gz [ARCHITECTURE] - what a machine with a GPU needs that has nothing but its
# driver, cuBLAS and a shell: the program, built for one architecture (90), the tests for a card,
# what they are linked with, and the launcher. card.sh unpacks it there and runs all.
[ $# -gt 0 ] || {
    sed -n '2,4s/^# //p' "$0" >&2
    exit 64
}
mkdir -p "$(dirname "$1")" || exit 73
file=$(cd "$(dirname "$1")" && pwd)/${1##*/} arch=${2:-90}
cd "$(dirname "$0")/../.." || exit 1
. jobs/lib.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' HUP INT TERM

# oneDNN would be half of the file, and cores are not what is measured there
bootstrap
build_in build-card --without-dnnl NVCC_ARCH="-gencode arch=compute_$arch,code=sm_$arch" ||
    give_up 'the build'
make -C build-card -j "$(cores)" card-tests perf/bin/gemms >"$tmp/out" 2>&1 || {
    tail "$tmp/out" >&2
    give_up 'the tests for a card'
}
[ -f build-card/heterps-cuda.so ] || give_up 'no CUDA here'

programs="heterps heterps-cuda.so perf/bin/gemms $(cd build-card &&
    find tests -name '*_card_*' -type f -perm -u+x -printf '%p ')"
for program in $programs; do
    mkdir -p "$tmp/kit/build/$(dirname "$program")"
    strip -o "$tmp/kit/build/$program" "build-card/$program"
done

# take FILE...: as it is, at the same place below root/
take() {
    for path; do
        to=$tmp/kit/root/$(echo "$path" | sed 's|^/lib|/usr/lib|')
        mkdir -p "$(dirname "$to")"
        cp -L "$path" "$to"
    done
}

# needed FILE...: the libraries of these but for the C library, the driver and cuBLAS
needed() {
    ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
        grep -v -E '/(libc|libm|libdl|libpthread|librt|libresolv|libcuda|libcublas|libcublasLt)\.so'
}

launcher=$(readlink -f "$(command -v mpirun)")
prefix=$(dirname "$(readlink -f "$(ldd build-card/heterps | awk '/libmpi\.so/ { print $3 }')")")
take "$launcher" "$(readlink -f "$(command -v orted)")"
ln -s "${launcher##*/}" "$tmp/kit/root/$(dirname "$launcher")/mpirun" 2>/dev/null
# components for networks that one machine does not have
for part in $(find "$prefix" /usr/lib/x86_64-linux-gnu/openmpi /usr/lib/x86_64-linux-gnu/pmix2 \
    -name 'mca_*.so' 2>/dev/null | sort -u |
    grep -v -E 'ucx|ofi|verbs|psm|usnic|openib|portals|munge|lustre|slurm|knem'); do
    take "$part"
    echo "$part"
done >"$tmp/parts"
for folder in /usr/share/openmpi /etc/openmpi /usr/share/pmix /usr/lib/x86_64-linux-gnu/pmix2/share; do
    [ ! -d "$folder" ] || find "$folder" -type f -print
done >"$tmp/texts"
# shellcheck disable=SC2046 # one word a file
take $(cat "$tmp/texts") \
    $(cd build-card && needed $programs "$launcher" $(cat "$tmp/parts"))
tar -C "$tmp" -czf "$file" kit
ls -l "$file"
