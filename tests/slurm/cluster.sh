#!/bin/bash
# cluster.sh - a private Slurm of several virtual nodes on this one host, for tests. Installs
# nothing and writes below FOLDER only; as root or as an ordinary user.
#
#   cluster.sh start FOLDER [NODE:FEATURE:CPUS:GPUS]...    prints what a client's shell must export
#   cluster.sh kill FOLDER NODE      the node crashes: its daemon and all that it runs are killed
#   cluster.sh revive FOLDER NODE    and is back, booted
#   cluster.sh stop FOLDER           every daemon and job, at once
#
# CLUSTER_KILL_WAIT: seconds between SIGTERM and SIGKILL (default 3).
# A partition for each feature, "all", and "urgent", which takes nodes from the others. GPUs are
# only counted. Each node has its own host name and /dev/shm where the kernel lets us make
# namespaces; where not, ranks talk by TCP only. A status of 77: it cannot run here, and says why.
set -u
PATH=$PATH:/usr/sbin:/sbin

die() { echo "cluster.sh: $1" >&2; exit "${2:-1}"; }

[ $# -ge 2 ] || die 'usage: cluster.sh start|kill|revive|stop FOLDER [NODE]...' 64
verb=$1 folder=$(mkdir -p "$2" && cd "$2" && pwd) || exit 1
shift 2
export SLURM_CONF=$folder/slurm.conf

# Dead processes that nobody waits for are still listed.
alive() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) && stat=${stat##*) } && [ "${stat%% *}" != Z ]
}

# daemon NAME FILE: the process of this file, if it still is of this name
daemon() {
    local pid
    pid=$(cat "$2" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ] && echo "$pid"
}

# hit NAME FILE: it is killed
hit() {
    local pid
    pid=$(daemon "$1" "$2") || return 0
    kill -KILL "$pid" 2>/dev/null
    for ((i = 0; i < 100; i++)); do alive "$pid" || break; sleep 0.02; done
}

below() { # PID: all that it runs, the deepest first
    local child
    # shellcheck disable=SC2013 # numbers
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        below "$child"
        echo "$child"
    done
}

# steps NODE: the job steps of this node (an empty name: of all) and what they run
steps() {
    local p pid comm
    for p in /proc/[0-9]*; do
        pid=${p#/proc/}
        comm=
        { read -r comm <"$p/comm"; } 2>/dev/null
        [ "$comm" = slurmstepd ] || continue
        case " $(readlink "$p"/fd/* 2>/dev/null | xargs) " in
        *" $folder/log/slurmd.${1:+$1.log }"*)
            alive "$pid" || continue
            echo "$pid"
            below "$pid" ;;
        esac
    done
}

# hit_steps NODE [PID]: all of them at once, and this process; then those that one look missed. They
# are found first, which takes seconds on a busy machine: what is killed one by one is seen to die
# by what still lives.
hit_steps() {
    local found
    while found=$(steps "$1") && [ -n "$found" ]; do
        # shellcheck disable=SC2086 # numbers
        kill -KILL ${2:-} $found 2>/dev/null
    done
}

free_ports() { # FIRST N: the first of N free ports in a row
    local port=$1 i used
    used=$(awk 'NR > 1 && $4 == "0A" { split($2, a, ":"); print a[2] }' \
        /proc/net/tcp /proc/net/tcp6 2>/dev/null | while read -r h; do echo $((16#$h)); done)
    for ((i = 0; i < $2; i++)); do
        grep -qx $((port + i)) <<<"$used" && port=$((port + i + 1)) && i=-1
    done
    echo "$port"
}

# Slurm resolves not even 127.0.0.1 on a host that has no other address.
address() {
    [ -z "$(hostname -I 2>/dev/null | xargs)" ] || return 0
    # shellcheck disable=SC2015 # either failed
    [ "$(id -u)" -eq 0 ] && ip addr add 192.0.2.9/32 dev lo 2>/dev/null ||
        die 'the host has no address but that of its loopback' 77
    touch "$folder/address"
}

namespaces() { # COMMAND...: with a host name and mounts of its own
    local user=()
    [ "$(id -u)" -eq 0 ] || user=(--user --map-current-user --keep-caps)
    unshare "${user[@]}" --uts --mount --propagation private "$@"
}

configure() { # PORT
    local port=$1 user host all='' i=0 spec name feature cpus gpus as n
    local -A part=()
    user=$(id -un) host=$(hostname -s)
    sed -e "s|@DIR@|$folder|g" -e "s|@USER@|$user|g" -e "s|@HOST@|$host|g" -e "s|@PORT@|$port|g" \
        -e "s|@WAIT@|${CLUSTER_KILL_WAIT:-3}|g" \
        "$(dirname "$0")/slurm.conf" >"$SLURM_CONF"
    echo 'AutoDetect=off' >"$folder/gres.conf"
    echo 'CgroupPlugin=cgroup/v1' >"$folder/cgroup.conf"    # finding out fails without /sys
    for spec in $nodes; do
        IFS=: read -r name feature cpus gpus <<<"$spec"
        i=$((i + 1)) as=$name
        [ "$apart" ] || as=$host
        echo "NodeName=$name NodeHostname=$as NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=$cpus" \
            "RealMemory=1000 Feature=$feature Gres=gpu:$gpus State=UNKNOWN" >>"$SLURM_CONF"
        for ((n = 0; n < gpus; n++)); do
            echo "NodeName=$name Name=gpu File=/dev/$(cut -d' ' -f$((n + 1)) <<<'null zero full')"
        done >>"$folder/gres.conf"
        part[$feature]=${part[$feature]:+${part[$feature]},}$name all=${all:+$all,}$name
    done
    for feature in "${!part[@]}"; do
        echo "PartitionName=$feature Nodes=${part[$feature]}"
    done >>"$SLURM_CONF"
    echo "PartitionName=all Nodes=$all Default=YES" >>"$SLURM_CONF"
}

start_node() { # NODE
    mkdir -p "$folder/spool/$1" "$folder/tmp/$1"
    if [ "$apart" ]; then
        namespaces sh -c "hostname $1; mount -t tmpfs -o mode=1777 shm /dev/shm
            exec slurmd -N $1 -f $SLURM_CONF -c"
    else
        slurmd -N "$1" -f "$SLURM_CONF" -c
    fi || die "the daemon of $1 did not start: $(tail -n 3 "$folder/log/slurmd.$1.log")"
}

# All virtual nodes share few cores: who waits gives way, and nobody binds to a core.
settings() {
    echo "export SLURM_CONF=$SLURM_CONF"
    echo 'export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none'
    echo 'export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo'
    [ "$apart" ] || echo 'export OMPI_MCA_btl=self,tcp'
}

start() {
    local x
    for x in munged slurmctld slurmd sbatch unshare; do
        command -v $x >/dev/null || die "no $x (packages slurm-wlm, munge, libpmix-dev)" 77
    done
    [ ${#folder} -le 60 ] || die "$folder is too long a name for sockets" 77
    mkdir -p "$folder"/{run,log,state,spool,tmp}
    chmod 755 "$folder"
    address
    nodes=${*:-c1:cpu:4:0 c2:cpu:4:0 g1:gpu:4:2} apart=1
    namespaces sh -c 'hostname probe && mount -t tmpfs shm /dev/shm' 2>/dev/null || apart=
    printf 'nodes="%s" apart=%s\n' "$nodes" "$apart" >"$folder/made"
    # two that start at once would find the same ports free; no daemon is to keep the lock
    exec 9>"${TMPDIR:-/tmp}/.heterps-slurm.$(id -u)" && flock -w 60 9
    configure "$(free_ports $((20000 + $$ % 12000)) $(($(wc -w <<<"$nodes") + 1)))"
    (umask 077 && head -c 128 /dev/urandom >"$folder/munge.key")
    munged --force --key-file="$folder/munge.key" --socket="$folder/run/munge.sock" \
        --pid-file="$folder/run/munged.pid" --log-file="$folder/log/munged.log" \
        --seed-file="$folder/run/munged.seed" --num-threads=2 2>"$folder/log/munged.err" 9>&- ||
        die "munged did not start: $(tail -n 3 "$folder/log/munged.err")"
    slurmctld -f "$SLURM_CONF" -c 2>"$folder/log/slurmctld.err" 9>&- ||
        die "slurmctld did not start: $(tail -n 3 "$folder/log/slurmctld.err")"
    for x in $nodes; do start_node "${x%%:*}" 9>&-; done
    for ((x = 0; x < 1200; x++)); do
        [ "$(sinfo -h -N -o %t 2>/dev/null | sort -u)" != idle ] || break
        sleep 0.05
    done
    [ $x -lt 1200 ] || die "the nodes did not come up: $(sinfo -N)"
    exec 9>&-       # not before they listen
    settings
}

stop() {
    local x
    hit slurmctld "$folder/run/slurmctld.pid"
    for x in $nodes; do hit slurmd "$folder/run/slurmd.${x%%:*}.pid"; done
    hit_steps ''
    hit munged "$folder/run/munged.pid"
    [ ! -e "$folder/address" ] || ip addr del 192.0.2.9/32 dev lo
}

[ "$verb" != stop ] || [ -e "$folder/made" ] || exit 0     # it never started
# shellcheck source=/dev/null
[ "$verb" = start ] || . "$folder/made" || exit 1
case $verb in
start) start "$@" ;;
kill)
    # at one instant: a host that crashes does not report that its steps end, nor do they outlive it
    hit_steps "$1" "$(daemon slurmd "$folder/run/slurmd.$1.pid")"
    hit slurmd "$folder/run/slurmd.$1.pid" ;;
revive)
    # as after a boot: a step of the same number would find the sockets of the one that was killed
    rm -rf "$folder/spool/$1"/*pmix* "$folder/tmp/${1:?}"/*
    start_node "$1" ;;
stop) stop ;;
*) die "no verb '$verb'" 64 ;;
esac
