#include "jobs/price.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "jobs/decide.h"

struct hps_prices *hps_prices_new(int T, int n, const double *edge)
{
    struct hps_prices *p = hps_mem_new(1, sizeof *p);

    p->T = T;
    p->I = n;
    p->edge = hps_mem_new((size_t)n + 1, sizeof *p->edge);
    memcpy(p->edge, edge, ((size_t)n + 1) * sizeof *edge);
    p->price = hps_mem_new((size_t)n * (size_t)T, sizeof *p->price);
    p->always = hps_mem_new((size_t)T, sizeof *p->always);
    return p;
}

void hps_prices_free(struct hps_prices *p)
{
    if (!p) return;
    hps_mem_free(p->edge);
    hps_mem_free(p->price);
    hps_mem_free(p->always);
    hps_mem_free(p);
}

/* ---- the configurations of a job that may be of use ---- */

static int slower_first(const void *a, const void *b, void *context)
{
    const struct hps_job_config *config = context;
    int x = *(const int *)a, y = *(const int *)b;

    if (config[x].seconds != config[y].seconds)
        return config[x].seconds > config[y].seconds ? -1 : 1;
    if (config[x].part[0].units != config[y].part[0].units)
        return config[x].part[0].units > config[y].part[0].units ? -1 : 1;
    return x - y;
}

static bool is_of_one_type(const struct hps_pool_job *job)
{
    int type = job->config[0].part[0].type;

    for (int c = 0; c < job->nconfig; c++)
        if (job->config[c].nparts != 1 || job->config[c].part[0].type != type) return false;
    return true;
}

/* Of one type the prices scale all costs alike: only configurations on the lower hull of units over
 * rate are ever chosen. */
static void keep_hull(struct hps_price_job *j)
{
    const struct hps_job_config *config = j->job->config;
    int n = 0;

    for (int k = 0; k < j->n; k++) {
        double rate = 1 / config[j->config[k]].seconds, units = config[j->config[k]].part[0].units;
        while (n > 0) {
            double rate1 = 1 / config[j->config[n - 1]].seconds;
            double units1 = config[j->config[n - 1]].part[0].units;
            double rate0 = n > 1 ? 1 / config[j->config[n - 2]].seconds : 0;
            double units0 = n > 1 ? config[j->config[n - 2]].part[0].units : 0;
            if ((units1 - units0) * (rate - rate1) < (units - units1) * (rate1 - rate0)) break;
            n--;
        }
        j->config[n++] = j->config[k];
    }
    j->n = n;
}

struct hps_price_job *hps_price_job_new(const struct hps_pool_job *job,
                                        const struct hps_job_pool *pool)
{
    struct hps_price_job *j = hps_mem_new(1, sizeof *j);

    *j = (struct hps_price_job){ .from_s = job->arrive_s, .left = 1, .weight = 1,
                                 .until_s = INFINITY, .job = job };
    j->config = hps_mem_new((size_t)job->nconfig, sizeof *j->config);
    for (int c = 0; c < job->nconfig; c++) {
        struct hps_job_room room = hps_job_room_of(pool);
        if (hps_job_room_take(&room, &job->config[c])) j->config[j->n++] = c;
        hps_job_room_done(&room);
    }
    qsort_r(j->config, (size_t)j->n, sizeof *j->config, slower_first, job->config);
    if (is_of_one_type(job)) keep_hull(j);
    return j;
}

void hps_price_job_free(struct hps_price_job *j)
{
    if (!j) return;
    hps_mem_free(j->config);
    hps_mem_free(j);
}
