# shellcheck shell=sh
# group.sh - groups of processes whose memory is limited, the page cache of their files included; read
# behind lib.sh. Version 1 or 2; root may make them.
group=-
trap 'cd /; rm -rf "$HPS_TMP"; group_end' EXIT

# group_new BYTES: the folder of a new one is in $group; fails where none can be made
group_new() {
    for group in /sys/fs/cgroup/memory/heterps.$$ /sys/fs/cgroup/heterps.$$; do
        mkdir "$group" 2>/dev/null || continue
        for limit in memory.limit_in_bytes memory.max; do
            if [ -f "$group/$limit" ] && echo "$1" >"$group/$limit"; then return 0; fi
        done
        rmdir "$group"
    done
    group=-
    return 1
}

# group_peak: the most bytes that it had
group_peak() { cat "$group/memory.max_usage_in_bytes" 2>/dev/null || cat "$group/memory.peak"; }

# group_end: it goes; no process may be in it
group_end() {
    [ "$group" = - ] || rmdir "$group"
    group=-
}
