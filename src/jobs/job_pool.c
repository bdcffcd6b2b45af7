#include "jobs/job_pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"


struct hps_job_pool *hps_job_pool_grid(int nodes, int units)
{
    struct hps_job_pool *pool = hps_mem_new(1, sizeof *pool);

    pool->T = 1;
    pool->nnode = nodes;
    pool->type = hps_mem_new(1, sizeof *pool->type);
    pool->type[0].name = hps_mem_text("gpu");
    pool->type[0].units = nodes * units;
    pool->units = hps_mem_new((size_t)nodes, sizeof *pool->units);
    for (int i = 0; i < nodes; i++)
        pool->units[i] = units;
    return pool;
}

/* A whole number from 1 to max at *text, which moves behind it; 0: there is none. */
static int number(const char **text, int max)
{
    char *end;
    long n = **text >= '0' && **text <= '9' ? strtol(*text, &end, 10) : 0;

    if (n < 1 || n > max) return 0;
    *text = end;
    return (int)n;
}

enum hps_status hps_job_pool_parse(struct hps_job_pool **pool, const char *text)
{
    const char *at = text;

    *pool = NULL;
    if (text[strspn(text, "0123456789x")]) return hps_job_pool_load(pool, text);
    int nodes = number(&at, HPS_POOL_NODES), units = 0;
    if (nodes > 0 && *at == 'x') {
        at++;
        units = number(&at, HPS_POOL_UNITS);
    }
    if (units == 0 || *at != 0) {
        HPS_SAY(HPS_ERROR, "--pool %s is no pool like 16x4: so many nodes of so many units", text);
        return HPS_USAGE;
    }
    *pool = hps_job_pool_grid(nodes, units);
    return HPS_OK;
}

void hps_job_pool_free(struct hps_job_pool *pool)
{
    if (!pool) return;
    for (int t = 0; t < pool->T; t++)
        hps_mem_free(pool->type[t].name);
    for (int i = 0; pool->node && i < pool->nnode; i++)
        hps_mem_free(pool->node[i]);
    hps_mem_free(pool->node);
    hps_mem_free(pool->type);
    hps_mem_free(pool->units);
    hps_mem_free(pool);
}

int hps_job_pool_units(const struct hps_job_pool *pool)
{
    int n = 0;

    for (int t = 0; t < pool->T; t++)
        n += pool->type[t].units;
    return n;
}

int hps_job_pool_find(const struct hps_job_pool *pool, const char *type)
{
    for (int t = 0; t < pool->T; t++)
        if (strcmp(pool->type[t].name, type) == 0) return t;
    return -1;
}
