#!/bin/sh
# What the documents point at is there: each relative link of a *.md, its heading too, and each
# path in backticks that begins with a folder of the source. `links.sh DIR`: of the tree in DIR.
cd "${1:-${srcdir:-.}}" || exit 99
bad=$(mktemp) || exit 99
trap 'rm -f "$bad"' EXIT

# points FILE: lines "LINE KIND TARGET" of what it points at, code blocks left out
points() {
    awk '
    /^    / { next }
    {
        rest = $0
        while (match(rest, /\]\([^)]*\)/)) {
            print FNR, "link", substr(rest, RSTART + 2, RLENGTH - 3)
            rest = substr(rest, RSTART + RLENGTH)
        }
        rest = $0
        while (match(rest, /`[^`]*`/)) {
            word = substr(rest, RSTART + 1, RLENGTH - 2)
            rest = substr(rest, RSTART + RLENGTH)
            sub(/^\.\//, "", word)
            sub(/ .*/, "", word)
            if (word ~ /^(src|include|tests|perf|inputs|jobs)\/[a-z0-9_.\/-]*$/)
                print FNR, "path", word
        }
    }' "$1"
}

# headings FILE: as links name them
headings() {
    sed -n 's/^##* *//p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

find . -name '*.md' ! -path './build*' ! -path './heterps-*' | sed 's|^\./||' | sort |
    while read -r file; do
        # a tree under git may hold files that are not part of it
        [ ! -e .git ] || git ls-files --error-unmatch "$file" >/dev/null 2>&1 || continue
        case $file in */*) folder=${file%/*}/ ;; *) folder= ;; esac
        points "$file" | while read -r line kind target; do
            case $kind/$target in
            link/http*) continue ;;
            link/*) at=$folder${target%%#*} ;;
            *) at=$target ;;
            esac
            case $target in '#'*) at=$file ;; esac
            if [ ! -e "$at" ] && [ ! -e "$at.c" ]; then   # a program: its source
                echo "$file:$line: there is no $target" >>"$bad"
            elif [ "$target" != "${target#*#}" ] && ! headings "$at" | grep -q -x -e "${target#*#}"
            then
                echo "$file:$line: there is no heading ${target#*#} in $at" >>"$bad"
            fi
        done
    done
cat "$bad"
[ ! -s "$bad" ]
