# shellcheck shell=sh
# whole.sh - what deaths.sh and faults.sh ask of a file; read behind lib.sh.

# whole FILE: is it what its kind of file must be?
whole() {
    case $1 in
    *.h5 | *profile.json | *plan.json | *pool.json) heterps info "$1" >/dev/null 2>&1 ;;
    *.json) [ "$(head -c 1 "$1")" = '{' ] && tail -n 1 "$1" | grep -q '} *$' ;;
    *deck.yaml) heterps deck "$1" >/dev/null 2>&1 ;;
    *.html) tail -n 1 "$1" | grep -q '</html>' ;;
    *.svg) tail -n 1 "$1" | grep -q '</svg>' ;;
    *.trace) [ "$(head -c 1 "$1")" = '{' ] && tail -n 1 "$1" | grep -q ']}$' ;;
    *.sh) sh -n "$1" 2>/dev/null && [ -z "$(tail -c 1 "$1")" ] ;;
    *.part | */log | */.lock | */.stall/*) true ;;
    *) false ;;
    esac
}
