/* pool_text.c - a pool as a printed table and as JSON. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "hw/nvml_text.h"
#include "hw/pool.h"

#define LINKS_SHOWN 8           /* types; beyond, only the slowest link is printed */

static int name_width(const struct hps_pool *pool)
{
    size_t width = 4;

    for (int t = 0; t < pool->T; t++)
        if (strlen(pool->type[t].name) > width) width = strlen(pool->type[t].name);
    return (int)width;
}

static void print_link(const struct hps_pool *pool, int t, int u, int width)
{
    const struct hps_link *link = &pool->link[t * pool->T + u];

    hps_out("  %-*s - %-*s %10.1f us %8.2f GB/s\n", width, pool->type[t].name, width,
            pool->type[u].name, 1e6 * link->latency_s, 1e-9 * link->bytes_s);
}

static void print_links(const struct hps_pool *pool, int width)
{
    int slow_t = 0, slow_u = 0;
    double least = pool->link[0].bytes_s;

    if (least <= 0) return;
    hps_out("links between ranks of two types%s\n",
            pool->T > LINKS_SHOWN ? " (the slowest)" : "");
    for (int t = 0; t < pool->T; t++)
        for (int u = t; u < pool->T; u++) {
            if (pool->T <= LINKS_SHOWN && (t != u || pool->type[t].nrank > 1))
                print_link(pool, t, u, width);
            if (pool->link[t * pool->T + u].bytes_s < least) {
                least = pool->link[t * pool->T + u].bytes_s;
                slow_t = t;
                slow_u = u;
            }
        }
    if (pool->T > LINKS_SHOWN) print_link(pool, slow_t, slow_u, width);
}

/* The line of a type's GPU. */
static void print_gpu(const struct hps_type *k, int width)
{
    const struct hps_node *n = &k->node;
    char *more = hps_nvml_text(&n->nvml);

    if (n->copy_to_device_bytes_s > 0)
        hps_out("  %-*s       from its host %.1f GB/s, back %.1f GB/s\n", width, "",
                1e-9 * n->copy_to_device_bytes_s, 1e-9 * n->copy_to_host_bytes_s);
    if (n->gpu[0] && !k->gpu)
        hps_out("  %-*s       a %s answers, but this program has no backend for it\n", width, "",
                n->gpu);
    if (more) hps_out("  %-*s       %s\n", width, "", more);
    hps_mem_free(more);
}

void hps_pool_print(const struct hps_pool *pool)
{
    int width = name_width(pool);

    hps_out("resources: %d rank%s of %d type%s\n", pool->R, pool->R == 1 ? "" : "s", pool->T,
            pool->T == 1 ? "" : "s");
    hps_out("  %-*s %5s %-40s %5s %8s %8s %8s %7s %8s %6s\n", width, "type", "ranks", "processor",
            "cores", "USD/h", "GB", "GFLOP/s", "GB/s", "Mrows/s", "slow");
    for (int t = 0; t < pool->T; t++) {
        const struct hps_type *k = &pool->type[t];
        const struct hps_node *n = &k->node;
        const char *model = k->gpu ? n->gpu : n->cpu;
        hps_out("  %-*s %5d %-40.40s %5d %8.4g %8.1f %8.1f %7.1f %8.1f %6.3g\n", width, k->name,
                k->nrank, model, n->threads, k->price_usd_hour, 1e-9 * k->memory_bytes,
                1e-9 * n->sgemm_flops_s, 1e-9 * n->memory_bytes_s, 1e-6 * n->gather_rows_s,
                k->slow);
        print_gpu(k, width);
    }
    if (pool->R > 1) print_links(pool, width);
}

static json_t *whole(double v)
{
    return json_integer((json_int_t)v);
}

static json_t *rate(double v)
{
    return v > 0 ? json_real(v) : json_null();
}

static json_t *ranks_of(const struct hps_pool *pool, int t)
{
    json_t *list = json_array();

    for (int r = 0; r < pool->R; r++)
        if (pool->type_of[r] == t) json_array_append_new(list, json_integer(r));
    return list;
}

static json_t *type_json(const struct hps_pool *pool, int t)
{
    const struct hps_type *k = &pool->type[t];
    const struct hps_node *n = &k->node;

    return json_pack("{s:s, s:s, s:s, s:o, s:b, s:i, s:i, s:f, s:o, s:o, s:f, s:o, s:i, s:o, s:o,"
                     " s:o, s:i, s:o, s:f, s:f, s:f, s:o, s:o, s:f, s:o}",
                     "name", k->name, "kind", k->gpu ? "gpu" : "cpu", "cpu", n->cpu,
                     "gpu", n->gpu[0] ? json_string(n->gpu) : json_null(),
                     "bf16", n->bf16, "cores", n->cores, "threads", n->threads,
                     "price_usd_hour", k->price_usd_hour,
                     "limit", k->limit > 0 ? json_integer(k->limit) : json_null(),
                     "memory_bytes", whole(k->memory_bytes), "slow", k->slow,
                     "ranks", ranks_of(pool, t), "numa", n->numa,
                     "l1_bytes", whole(n->cache_bytes[0]), "l2_bytes", whole(n->cache_bytes[1]),
                     "l3_bytes", whole(n->cache_bytes[2]), "gpu_sm", n->gpu_sm,
                     "gpu_memory_bytes", whole(n->gpu_memory_bytes),
                     "sgemm_flops_s", n->sgemm_flops_s, "memory_bytes_s", n->memory_bytes_s,
                     "gather_rows_s", n->gather_rows_s,
                     "bring_bytes_s", rate(n->copy_to_device_bytes_s),
                     "fetch_bytes_s", rate(n->copy_to_host_bytes_s),
                     "disk_bytes_s", n->disk_bytes_s, "reads_s", rate(n->reads_s));
}

static json_t *pool_json(const struct hps_pool *pool)
{
    json_t *types = json_array(), *hosts = json_array(), *links = json_array();

    for (int t = 0; t < pool->T; t++) {
        json_t *one = type_json(pool, t);
        if (one) hps_nvml_put(one, &pool->type[t].node.nvml);
        json_array_append_new(types, one);
    }
    for (int r = 0; r < pool->R; r++)
        json_array_append_new(hosts, json_string(pool->node[r].host));
    for (int t = 0; t < pool->T; t++)
        for (int u = t; u < pool->T; u++) {
            const struct hps_link *link = &pool->link[t * pool->T + u];
            if (link->bytes_s > 0)
                json_array_append_new(links, json_pack("{s:[ii], s:f, s:f}", "types", t, u,
                                                       "latency_s", link->latency_s, "bytes_s",
                                                       link->bytes_s));
        }
    return json_pack("{s:s, s:i, s:o, s:o, s:o}", "format", "heterps-pool-1", "ranks", pool->R,
                     "types", types, "links", links, "hosts", hosts);
}

char *hps_pool_text(const struct hps_pool *pool)
{
    json_t *all = pool_json(pool);

    if (!all) HPS_DIE("a fact of the pool is no text or number that JSON can hold");
    return hps_json_text(all);
}

enum hps_status hps_pool_save(const struct hps_pool *pool, const char *path)
{
    if (hps_rank() != 0) return HPS_OK;
    return hps_json_save(pool_json(pool), path);
}
