#!/bin/sh
# Whichever of its MPI calls a rank dies at, is stopped or hangs, in whichever verb: the run ends in
# bounded time with a code that is not 0, nothing of it is left behind, what was whole is whole, and
# the next run goes on to the same end. Nor do messages that come late change a bit of it. A sample,
# another one each time; perf/scripts/deaths.sh does all. HPS_SEED=N: the sample of that seed.
. "$srcdir/tests/lib/lib.sh"
seed=${HPS_SEED:-$(date +%s)}
ranks=$((seed % 3 + 2))
case $ranks in 4) ranks=2 ;; esac       # two of three times on two
echo "HPS_SEED=$seed draws this sample, on $ranks ranks"
world=$HPS_TMP/world
deaths() { sh "$srcdir/tests/lib/deaths.sh" "$@"; }

echo '-- every call of the program that talks to other ranks is one that the stand-in knows'
if command -v nm >nm.out; then
    nm -D --defined-only "${HETERPS%/*}/tests/lib/bad_mpi.so" | sed 's/.* //' | sort -u >known
    nm -D -u "$HETERPS" | sed -n 's/.* \(MPI_[A-Za-z_]*\).*/\1/p' | sort -u | grep -v -x -E \
        -e 'MPI_(Type|Group|Get|Error|Request)_.*|MPI_Initialized' \
        -e 'MPI_Comm_(rank|size|compare|group|set_errhandler)' >called
    [ "$(wc -l <called)" -gt 20 ] || fail 'nm names no call of MPI'
    unknown=$(comm -23 called known)
    [ -z "$unknown" ] || fail "tests/lib/bad_mpi.c lacks $unknown"
fi

deaths world "$world" "$ranks" || { fail 'an undisturbed run'; verdict; }
deaths count "$world" "$ranks" >counts

# six calls of any verb; and one at which a step is agreed, since elsewhere a rank that does not
# come on is given more time
awk -v seed="$seed" -v world="$world" '
    { line[NR] = $0 }
    END {
        srand(seed)
        hows = split("kill abort exit kill kill exit", how, " ")
        for (h = 1; h <= hows; h++) {
            $0 = line[1 + int(rand() * NR)]
            print "one", world, $1, $2, $3, $4, 1 + int(rand() * $5), how[h]
        }
        split("train apart served", of, " ")
        print "delay", world, of[1 + int(seed / 3) % 3], $2, seed
        print "delay", world, "eval", $2, seed
    }' counts >drawn
agreed() { # VERB: rank, whose, number of one of its last such calls but one
    rank=$((seed / 3 % ranks))
    grep MPI_Iallreduce "$world/ref/calls.$1.$ranks.$rank" | tail -n $((1 + seed % 2)) |
        head -n 1 | sed "s/^\([a-z]* [0-9]*\).*/$rank \1/"
}
how=$([ $((seed % 2)) -eq 0 ] && echo stop || echo sleep)
{
    echo "one $world train $ranks $(agreed train) $how"
    echo "one $world eval $ranks $(agreed eval) $how"
    cat drawn
} >cases
# and some whose launcher leaves the others alone
case $("$MPIEXEC" --version 2>&1) in
*'Open MPI'* | *OpenRTE*) alone='--mca orte_abort_on_non_zero_status 0 --enable-recovery' ;;
*) alone= ;;
esac

export HPS_DEATH_SECONDS=120
: >alone
[ -z "$alone" ] || {
    (
        export HPS_LAUNCHER_FLAGS="$alone"
        deaths one "$world" check "$ranks" $((seed % ranks)) own $((20 + seed % 20)) kill
        # shellcheck disable=SC2046 # words
        deaths one "$world" eval "$ranks" $(agreed eval) kill
    ) >alone &
}
xargs -P 3 -L 1 sh "$srcdir/tests/lib/deaths.sh" <cases >ended
wait
cat alone ended
[ "$(wc -l <ended)" -eq "$(wc -l <cases)" ] || fail 'not all of them ended'
grep -q ' good' ended || fail 'nobody died'
[ -z "$alone" ] || grep -q 'good .*error: no progress .*killed were' alone || fail 'nothing is said'
! grep 'no memory' alone || fail 'a death is taken for something else'
grep -h ' bad ' alone ended && fail 'see above'
verdict
