#!/bin/sh
# What lies in the folders is in the lists: no room unbuilt, no test never run, no deck unshipped,
# no file format without a description.
cd "${srcdir:-.}" || exit 99
bad=0

listed() { # LIST FILE...
    list=$1        # one file or more
    shift
    for f in "$@"; do
        [ -e "$f" ] || continue
        # a tree under git may hold files that are not part of it yet
        [ ! -e .git ] || git ls-files --error-unmatch "$f" >/dev/null 2>&1 || continue
        # a test of one file is listed by its program's name
        # shellcheck disable=SC2086 # one file or more
        if ! grep -q -E "(^|[[:space:]])${f%.c}(\.c)?([[:space:]]|\$)" $list; then
            echo "$f is not in $list"
            bad=1
        fi
    done
}

# shellcheck disable=SC2046 # names without blanks
listed "src/rooms.am src/rooms_jobs.am" $(find include src -name '*.[ch]' -o -name '*.cu')
# tests/slurm is listed whole
listed tests/rooms.am tests/*.sh tests/[!s]*/*.[ch] tests/[!s]*/*.sh
listed perf/rooms.am perf/bin/*.[ch] perf/peers/*.c
# shellcheck disable=SC2046
listed Makefile.am $(find inputs jobs -type f)

# kernels are compiled anew when a header changes that they include, themselves or through others
included() { sed -n 's/^#include "\(.*\)"/\1/p' "$@"; }
kernel_headers=$(sed -n '/^kernel_headers =/,/[^\\]$/p' src/rooms.am)
seen=
todo=$(included src/hw/cuda/*.cu)
while [ -n "$todo" ]; do
    next=
    for name in $(echo "$todo" | sort -u); do
        case " $seen " in *" $name "*) continue ;; esac
        seen="$seen $name"
        [ -f "include/$name" ] && file=include/$name || file=src/$name
        case "$kernel_headers " in
        *" $file "*) ;;
        *)
            echo "$file is not in kernel_headers of src/rooms.am"
            bad=1 ;;
        esac
        next="$next $(included "$file")"
    done
    todo=$(echo "$next" | xargs -n 1)
done

# each format that the program writes is described
page=$(sed 's/\\-/-/g' src/man/heterps-formats.5)
for format in $(grep -rho '"heterps-[a-z]*-[0-9]*"' src | tr -d '"' | sort -u); do
    case $page in
    *"$format"*) ;;
    *)
        echo "$format is not in src/man/heterps-formats.5"
        bad=1 ;;
    esac
done
exit $bad
