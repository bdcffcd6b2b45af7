#include "app/servers.h"

#include <math.h>

#include "base/say.h"

/* Ranks of a type that may serve. */
static long long most_of(const struct hps_type *t, bool present)
{
    if (present) return t->nrank;
    return t->limit > 0 ? t->limit : INT32_MAX;
}

static int cheapest(const struct hps_pool *pool, long long n, bool present)
{
    int best = -1;

    for (int t = 0; t < pool->T; t++) {
        const struct hps_type *y = &pool->type[t];
        if (y->gpu || most_of(y, present) < n) continue;
        if (best < 0 || y->price_usd_hour < pool->type[best].price_usd_hour) best = t;
    }
    return best;
}

static enum hps_status refuse(const char *why, const char *name)
{
    HPS_SAY(HPS_ERROR, "storage.server_type: %s'%s'", why, name);
    return HPS_DECK;
}

/* The type of that name, which must be of CPUs. */
static enum hps_status find_type(int *type, const struct hps_pool *pool, const char *name)
{
    *type = hps_pool_find(pool, name);
    if (*type < 0) return refuse("the pool has no type ", name);
    if (pool->type[*type].gpu) return refuse("servers are CPUs, not GPUs of ", name);
    return HPS_OK;
}

static enum hps_status give(int *type, const struct hps_job *j, long long n, bool present)
{
    const char *name = j->o.storage.server_type;
    enum hps_status st = HPS_OK;

    if (present && n >= j->pool->R) {
        HPS_SAY(HPS_ERROR, "storage.servers: %lld servers leave no rank of %d to train", n,
                j->pool->R);
        return HPS_DECK;
    }
    if (*name)
        st = find_type(type, j->pool, name);
    else
        *type = cheapest(j->pool, n, present);
    if (st) return st;
    if (*type < 0) {
        HPS_SAY(HPS_ERROR, "storage.servers: no CPU type has %lld ranks", n);
        return HPS_DECK;
    }
    if (most_of(&j->pool->type[*type], present) >= n) return HPS_OK;
    HPS_SAY(HPS_ERROR, "storage.servers: %lld are wanted, type %s has %lld ranks", n,
            j->pool->type[*type].name, most_of(&j->pool->type[*type], present));
    return HPS_DECK;
}

enum hps_status hps_job_server_type(int *type, const struct hps_job *j, bool present)
{
    const char *name = j->o.storage.server_type;
    double n = j->o.storage.servers;

    *type = isinf(n) ? -1 : 0;
    if (n == 0 && *name) return refuse("there are no servers (storage.servers) of ", name);
    if (n == 0 || (isinf(n) && !*name)) return HPS_OK;
    return isinf(n) ? find_type(type, j->pool, name) : give(type, j, (long long)n, present);
}
