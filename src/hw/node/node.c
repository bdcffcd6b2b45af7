/* node.c - facts of a rank's hardware: hwloc for cores and caches, /proc for memory. */
#include "hw/node.h"

#include <ctype.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"

/* Copy with blanks trimmed and collapsed and with '?' for what is not ASCII, cut to the length of a
 * node's text. */
static void tidy(char *to, const char *from)
{
    size_t n = 0;

    for (; *from && n + 1 < HPS_NODE_TEXT; from++)
        if (!isspace((unsigned char)*from))
            to[n++] = *from > ' ' && *from < 127 ? *from : '?';
        else if (n > 0 && to[n - 1] != ' ')
            to[n++] = ' ';
    if (n > 0 && to[n - 1] == ' ') n--;
    to[n] = '\0';
}

/* The text after "key:" in a file of such lines; false: there is none. */
static bool find_line(const char *path, const char *key, char *value, size_t size)
{
    FILE *f = fopen(path, "r");
    char line[512];
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        found = colon && strncmp(line, key, strlen(key)) == 0;
        if (found) snprintf(value, size, "%s", colon + 1);
    }
    if (f) fclose(f);
    return found;
}

static void find_host(struct hps_node *node)
{
    char name[256] = "";

    if (gethostname(name, sizeof name - 1) != 0)
        HPS_SAY_ALL(HPS_DEBUG, "this host does not tell its name");
    tidy(node->host, name);
}

static void find_cpu(struct hps_node *node, hwloc_topology_t topology)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    char line[512] = "";

    if (!model && find_line("/proc/cpuinfo", "model name", line, sizeof line)) model = line;
    tidy(node->cpu, model ? model : "");
    if (!node->cpu[0]) HPS_SAY_ALL(HPS_DEBUG, "the model of the CPU is not known");
}

/* Whole cores count: two ranks on two hardware threads of one core share it. */
static void find_cores(struct hps_node *node, hwloc_topology_t topology)
{
    hwloc_bitmap_t mine = hwloc_bitmap_alloc();
    hwloc_obj_t core = NULL;
    int type = HWLOC_OBJ_CORE;

    if (hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_PROCESS) != 0)
        hwloc_bitmap_copy(mine, hwloc_topology_get_allowed_cpuset(topology));
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) <= 0) type = HWLOC_OBJ_PU;
    while ((core = hwloc_get_next_obj_by_type(topology, (hwloc_obj_type_t)type, core))) {
        int p;
        if (!hwloc_bitmap_intersects(core->cpuset, mine)) continue;
        node->cores++;
        hwloc_bitmap_foreach_begin(p, core->cpuset)
            if (p / 8 < HPS_NODE_MASK) node->mask[p / 8] |= (unsigned char)(1 << p % 8);
        hwloc_bitmap_foreach_end();
    }
    hwloc_bitmap_free(mine);
}

static void find_caches(struct hps_node *node, hwloc_topology_t topology)
{
    static const hwloc_obj_type_t level[3] = { HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                               HWLOC_OBJ_L3CACHE };

    for (int i = 0; i < 3; i++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(topology, level[i], 0);
        node->cache_bytes[i] = cache ? (double)cache->attr->cache.size : 0;
    }
    int numa = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    node->numa = numa > 0 ? numa : 0;
}

static void find_topology(struct hps_node *node)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) != 0) {
        HPS_SAY_ALL(HPS_DEBUG, "hwloc does not start: cores and caches are not known");
        return;
    }
    if (hwloc_topology_load(topology) == 0) {
        find_cpu(node, topology);
        find_cores(node, topology);
        find_caches(node, topology);
    } else {
        HPS_SAY_ALL(HPS_DEBUG, "hwloc finds no topology: cores and caches are not known");
    }
    hwloc_topology_destroy(topology);
}

/* A limit file has a number of bytes, or "max"; 0: no limit. */
static double read_limit(const char *root, const char *group, const char *file)
{
    char path[1024], text[64];
    double bytes = 0;

    snprintf(path, sizeof path, "%s%s/%s", root, group, file);
    FILE *f = fopen(path, "r");
    if (f && fgets(text, sizeof text, f)) bytes = strtod(text, NULL);
    if (f) fclose(f);
    return bytes;
}

/* The files of a memory group: its limit, what it uses, and the line of those of its pages that
 * can be dropped. */
struct group_files {
    const char *root, *limit, *used, *droppable;
};
static const struct group_files version1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                             "memory.usage_in_bytes", "total_inactive_file" };
static const struct group_files version2 = { "/sys/fs/cgroup", "memory.max", "memory.current",
                                             "inactive_file" };

static double used_by(const struct group_files *f, const char *group)
{
    char path[1024], line[128];
    size_t n = strlen(f->droppable);
    double used = read_limit(f->root, group, f->used);

    snprintf(path, sizeof path, "%s%s/memory.stat", f->root, group);
    FILE *stat = fopen(path, "r");
    while (stat && fgets(line, sizeof line, stat))
        if (strncmp(line, f->droppable, n) == 0 && line[n] == ' ') used -= strtod(line + n, NULL);
    if (stat) fclose(stat);
    return used > 0 ? used : 0;
}

/* The smallest limit of a cgroup and its ancestors, or the least that they have left. `group` is
 * modified. */
static double least_limit(double least, const struct group_files *f, char *group, bool left)
{
    group[strcspn(group, "\n")] = '\0';
    for (;;) {
        double limit = read_limit(f->root, group, f->limit);
        double bytes = limit > 0 && left ? limit - used_by(f, group) : limit;
        if (limit > 0 && bytes < least) least = bytes > 0 ? bytes : 0;
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

/* /proc/self/cgroup: "0::/path" (version 2), "7:memory:/path" (version 1). */
static double cgroup_limit(double least, bool left)
{
    FILE *f = fopen("/proc/self/cgroup", "r");
    char line[512];

    while (f && fgets(line, sizeof line, f)) {
        char *kind = strchr(line, ':'), *path = kind ? strchr(kind + 1, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        if (kind[1] == '\0')
            least = least_limit(least, &version2, path, left);
        else if (strstr(kind, "memory"))
            least = least_limit(least, &version1, path, left);
    }
    if (f) fclose(f);
    return least;
}

static void find_memory(struct hps_node *node)
{
    char line[512] = "";

    if (find_line("/proc/meminfo", "MemTotal", line, sizeof line))
        node->memory_bytes = cgroup_limit(strtod(line, NULL) * 1024, false);
    else
        HPS_SAY_ALL(HPS_DEBUG, "the memory of this host is not known");
}

double hps_node_free_bytes(void)
{
    char line[512] = "";

    if (!find_line("/proc/meminfo", "MemAvailable", line, sizeof line)) return 0;
    return cgroup_limit(strtod(line, NULL) * 1024, true);
}

enum hps_status hps_node_probe(struct hps_node *node)
{
    memset(node, 0, sizeof *node);
    find_host(node);
    find_topology(node);
    find_memory(node);
    if (node->cores < 1) node->cores = 1;
    node->threads = node->cores;
    node->sharing = 1;
    return HPS_OK;
}

static bool overlap(const unsigned char *a, const unsigned char *b)
{
    for (int i = 0; i < HPS_NODE_MASK; i++)
        if (a[i] & b[i]) return true;
    return false;
}

/* The number of ranks of this host that may run on a core of this rank, including itself. */
static int count_sharing(const struct hps_node *node, MPI_Comm host)
{
    int n, me, sharing = 1;

    HPS_MPI(MPI_Comm_size(host, &n));
    HPS_MPI(MPI_Comm_rank(host, &me));
    unsigned char *all = hps_mem_new((size_t)n, HPS_NODE_MASK);
    HPS_MPI(MPI_Allgather(node->mask, HPS_NODE_MASK, MPI_BYTE, all, HPS_NODE_MASK, MPI_BYTE,
                          host));
    for (int r = 0; r < n; r++)
        sharing += r != me && overlap(node->mask, all + (size_t)r * HPS_NODE_MASK);
    hps_mem_free(all);
    return sharing;
}

MPI_Comm hps_node_host(MPI_Comm world)
{
    MPI_Comm host = MPI_COMM_NULL;

    if (world != MPI_COMM_NULL)
        HPS_MPI(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    return host;
}

void hps_node_share(struct hps_node *node, int requested, MPI_Comm host)
{
    node->sharing = host == MPI_COMM_NULL ? 1 : count_sharing(node, host);
    node->threads = requested > 0 ? requested : node->cores / node->sharing;
    if (node->threads < 1) node->threads = 1;
}

double hps_node_cpu_s(void)
{
    struct rusage u;

    if (getrusage(RUSAGE_SELF, &u) != 0) return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

double hps_node_peak_bytes(void)
{
    struct rusage u;

    return getrusage(RUSAGE_SELF, &u) == 0 ? 1024.0 * (double)u.ru_maxrss : 0;
}
