#!/bin/sh
# A link between two hosts that swallows all that is sent on it ends the run soon after
# run.stall_seconds, with 70 and one line that names ranks, hosts and what was waited for; where the
# launcher's own words go the same way, every rank still ends. The next start goes on from the
# newest checkpoint.
#
# Two hosts: a network namespace each, joined by one link for the ranks and one for the launcher,
# whose remote shell enters the namespace.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

if [ -z "${HPS_LINK:-}" ]; then
    user='--user --map-root-user'
    [ "$(id -u)" -ne 0 ] || user=
    command -v ip >/dev/null || skip 'there is no ip (package iproute2)'
    # shellcheck disable=SC2086 # empty or two words
    unshare $user --net --uts --mount ip link add to_b type veth peer name to_a 2>unshare.log ||
        skip "no network of its own can be made here: $(tail -n 1 unshare.log)"
    # shellcheck disable=SC2086
    HPS_LINK=1 exec unshare $user --net --uts --mount sh "$srcdir/tests/e2e/e_link.sh"
fi

hostname nodea
ip link set lo up
# checkpoints in memory: a step that waits for a slow disk is no stall of a link
mkdir runs && mount -t tmpfs runs runs || skip 'no file system can be mounted here'
unshare --net --uts --mount sh -c 'hostname nodeb && ip link set lo up &&
    mount -t tmpfs shm /dev/shm && echo $$ >nodeb && exec sleep 600' &
holder=$!
trap 'kill $holder' EXIT
wait_for nodeb . || verdict
there=$(cat nodeb)
for net in 1 2; do
    ip link add to_b$net type veth peer name to_a$net netns "$there"
    ip addr add 10.0.$net.1/24 dev to_b$net
    ip link set to_b$net up
    nsenter -t "$there" --net sh -c "ip addr add 10.0.$net.2/24 dev to_a$net
        ip link set to_a$net up"
done
cat >shell <<'END'
#!/bin/sh
shift
exec nsenter -t "$(cat "$HPS_TMP/nodeb")" --net --uts --mount sh -c "cd $HPS_TMP; $*"
END
chmod +x shell
export TMPDIR="$HPS_TMP"

# swallow NET: from now on what is sent there goes to cards that nobody has
swallow() {
    ip neigh replace 10.0."$1".2 lladdr 02:00:00:00:00:01 dev to_b"$1" nud permanent
    nsenter -t "$there" --net ip neigh replace 10.0."$1".1 lladdr 02:00:00:00:00:01 dev \
        to_a"$1" nud permanent
}

# mend NET: it is a link again
mend() {
    ip neigh del 10.0."$1".2 dev to_b"$1"
    nsenter -t "$there" --net ip neigh del 10.0."$1".1 dev to_a"$1"
}

# train ARGUMENT...: a rank on each host, its process in the file rank.HOST; $job is the launcher
train() {
    rm -f err
    # shellcheck disable=SC2016,SC2086
    "$MPIEXEC" $MPIEXEC_FLAGS --host nodea,nodeb --mca plm_rsh_agent "$HPS_TMP/shell" \
        --mca oob_tcp_if_include 10.0.1.0/24 --mca btl_tcp_if_include 10.0.2.0/24 -n 2 \
        sh -c 'echo $$ >"rank.$(uname -n)"; exec "$0" "$@"' \
        "$HETERPS" train "$srcdir/inputs/census.yaml" --set train.epochs=0 \
        --set train.log_interval_seconds=0.2 --set schedule.method=single:cpu \
        --set checkpoint.interval_steps=20 --set run.stall_seconds=2 "$@" >out 2>err &
    job=$!
}

# stalls NET...: once there is a checkpoint those links swallow what is sent; $began is when
stalls() {
    train --set train.steps=100000000
    wait_for err 'checkpoint at step'
    for net in "$@"; do swallow "$net"; done
    began=$(date +%s)
}

# bounded: it was soon after
bounded() {
    took=$(($(date +%s) - began))
    { [ $took -ge 2 ] && [ $took -le 25 ]; } || fail "ended after $took s"
}

# told: one line, and the status
told() {
    grep -E 'error: stall: no progress for [0-9]* s after step [0-9]*; ' err |
        grep -E 'rank 0 on nodea (waits in|is inside) ' |
        grep -q -E 'rank 1 on nodeb (waits in|is inside) ' || { fail 'no diagnosis'; cat err; }
    [ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
    [ "$(number runs/census/status.json exit_code)" = 70 ] || fail 'status.json does not say 70'
}

census
echo '-- the link of the ranks'
stalls 2
wait $job
rc=$?
[ $rc -eq 70 ] || fail "ended with $rc instead of 70"
bounded
told
mend 2

echo '-- the next start goes on from the newest checkpoint'
last=$(find runs/census/checkpoint -name 'step_*.h5' | sort | tail -n 1)
step=$(expr "$last" : '.*step_0*\([0-9]*\)')
[ "$(number runs/census/status.json step)" -lt $((step + 40)) ] || fail 'a checkpoint is lost'
train --set train.steps=$((step + 1))
wait $job || fail "the next start ended with $?"
grep -q "going on from $last" err || { fail 'another checkpoint'; cat err; }

echo '-- both links'
stalls 1 2
for host in nodea nodeb; do
    while [ -e "/proc/$(cat rank.$host)" ]; do sleep 0.1; done
done
bounded
told
kill -KILL $job
verdict
