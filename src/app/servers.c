#include "app/servers.h"

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

enum hps_status hps_job_server_type(int *type, const struct hps_job *j, bool present)
{
    const char *name = j->o.storage.server_type;
    int n = j->o.storage.servers;

    *type = 0;
    if (n == 0 && *name) return refuse("there are no servers (storage.servers) of ", name);
    if (n == 0) return HPS_OK;
    if (present && n >= j->pool->R) {
        HPS_SAY(HPS_ERROR, "storage.servers: %d servers leave no rank of %d to train", n,
                j->pool->R);
        return HPS_DECK;
    }
    *type = *name ? hps_pool_find(j->pool, name) : cheapest(j->pool, n, present);
    if (*name && *type < 0) return refuse("the pool has no type ", name);
    if (*type < 0) {
        HPS_SAY(HPS_ERROR, "storage.servers: no CPU type has %d ranks", n);
        return HPS_DECK;
    }
    if (j->pool->type[*type].gpu) return refuse("servers are CPUs, not GPUs of ", name);
    if (most_of(&j->pool->type[*type], present) >= n) return HPS_OK;
    HPS_SAY(HPS_ERROR, "storage.servers: %d are wanted, type %s has %lld ranks", n,
            j->pool->type[*type].name, most_of(&j->pool->type[*type], present));
    return HPS_DECK;
}
