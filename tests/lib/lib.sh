# shellcheck shell=sh
# lib.sh - what the e_ scripts share. A script begins with its law in words, then reads this
# (. "$srcdir/tests/lib/lib.sh"), and ends with `verdict`. It runs in a scratch folder, $HPS_TMP,
# that launch.sh removes.

hps_failed=0
HETERPS=${HETERPS:-heterps}
MPIEXEC=${MPIEXEC:-mpirun}
cd "${HPS_TMP:?}" || exit 99

ok() { echo "ok: $*"; }

fail() {
    echo "FAILED: $*"
    hps_failed=$((hps_failed + 1))
}

# heterps ARGUMENT...: the program once, without a launcher
heterps() { command "$HETERPS" "$@"; }

# ranks N ARGUMENT...: the program on N ranks
ranks() {
    hps_n=$1
    shift
    # shellcheck disable=SC2086 # the flags are several words
    "$MPIEXEC" $MPIEXEC_FLAGS -n "$hps_n" "$HETERPS" "$@"
}

# expect CODE PATTERN COMMAND...: the command ends with CODE and its standard error (empty PATTERN:
# anything) has a line that matches PATTERN. What it wrote stays in the files out and err.
expect() {
    hps_code=$1 hps_pattern=$2
    shift 2
    "$@" >out 2>err
    hps_rc=$?
    if [ $hps_rc -ne "$hps_code" ]; then
        fail "$* ended with $hps_rc instead of $hps_code"
        tail -n 20 out err
    elif [ -n "$hps_pattern" ] && ! grep -q -E -e "$hps_pattern" err; then
        fail "$* did not say '$hps_pattern' but:"
        tail -n 20 err
    else
        ok "$*: $hps_code"
    fi
}

# shows PATTERN: the standard output of the last `expect` has a line that matches
shows() {
    if grep -q -E -e "$1" out; then ok "shows '$1'"; else
        fail "standard output lacks '$1':"
        tail -n 20 out
    fi
}

# number FILE KEY: the value of a key of a JSON object, on standard output
number() {
    sed -n 's/.*"'"$2"'": *\(-\{0,1\}[0-9.eE+-]*\).*/\1/p' "$1" | head -n 1
}

# close A B TOLERANCE: both are numbers and differ by no more, relative to the larger
close() {
    if awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN {
        d = a - b; if (d < 0) d = -d
        m = a < 0 ? -a : a; n = b < 0 ? -b : b; if (n > m) m = n
        exit !(a != "" && b != "" && a == a + 0 && b == b + 0 && d <= t * m) }'
    then ok "$1 is $2 within $3"; else fail "$1 is not $2 within $3"; fi
}

# equal A B, differ A B: the same text, another one
equal() { if [ "$1" = "$2" ]; then ok "$1 is $2"; else fail "$1 is not $2"; fi; }
differ() { if [ "$1" != "$2" ]; then ok "$1 is not $2"; else fail "both are $1"; fi; }

# wait_for FILE PATTERN: until the file has the line, at most 60 s
wait_for() {
    hps_i=0
    until grep -q "$2" "$1" 2>/dev/null; do
        sleep 0.1
        hps_i=$((hps_i + 1))
        [ $hps_i -lt 600 ] || { fail "no '$2' in $1"; cat "$1"; return 1; }
    done
}

# skip WHY: this script cannot run here
skip() {
    echo "skipped: $*"
    exit 77
}

verdict() {
    [ $hps_failed -eq 0 ] || echo "$hps_failed failed"
    exit $((hps_failed > 0))
}
