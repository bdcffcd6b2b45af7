/* versions.c - counts gradients by row. */
#include "ps/versions.h"

#include "base/mem.h"

static int bin_of(long long staleness)
{
    int bin = staleness < 4 ? (int)staleness : 4;

    for (long long up = 8; staleness >= up && bin < HPS_STALENESS_BINS - 1; up *= 2)
        bin++;
    return bin;
}

long long hps_staleness_from(int bin)
{
    return bin < 4 ? bin : 4LL << (bin - 4);
}

void hps_staleness_add(struct hps_staleness *s, long long staleness)
{
    s->n[bin_of(staleness)]++;
    s->sum += (double)staleness;
    s->max = staleness > s->max ? staleness : s->max;
}

void hps_pulled_free(struct hps_pulled *p)
{
    hps_mem_free(p->version);
    hps_mem_free(p->staleness);
    hps_mem_free(p->order);
    hps_mem_free(p->last);
    hps_mem_free(p->before);
}

void hps_pulled_hold(struct hps_pulled *p, size_t nrow)
{
    p->last = hps_mem_new(nrow, sizeof *p->last);
}

/* Gradients to come are counted from this pull, but for those that are held. */
static void count_from(struct hps_pulled *p, const int *row, struct hps_versions_held held)
{
    hps_mem_grow(&p->before, &p->cap[3], held.n, sizeof *p->before);
    for (size_t i = 0; i < held.n; i++)
        p->before[i] = p->last[held.row[i]];
    for (size_t i = 0; i < p->n; i++)
        p->last[row[i]] = p->version[i];
    for (size_t i = 0; i < held.n; i++)
        p->last[held.row[i]] = p->before[i];
}

void hps_versions_pull(const struct hps_versions *v, struct hps_pulled *p, size_t n,
                       const int *row, struct hps_versions_held held)
{
    p->n = n;
    hps_mem_grow(&p->version, &p->cap[0], n, sizeof *p->version);
    for (size_t i = 0; i < n; i++)
        p->version[i] = v->of[row[i]];
    if (p->last) count_from(p, row, held);
}

/* A counting sort. */
void hps_pulled_sort(struct hps_pulled *p)
{
    size_t *at = hps_mem_new((size_t)p->max + 2, sizeof *at);

    hps_mem_grow(&p->order, &p->cap[2], p->n, sizeof *p->order);
    for (size_t i = 0; i < p->n; i++)
        at[p->staleness[i] + 1]++;
    for (int k = 0; k < p->max; k++)
        at[k + 1] += at[k];
    for (size_t i = 0; i < p->n; i++)
        p->order[at[p->staleness[i]]++] = (int)i;
    hps_mem_free(at);
}

void hps_versions_apply(struct hps_versions *v, size_t n, const int *row, const int *count)
{
    for (size_t i = 0; i < n; i++)
        v->of[row[i]] += count ? (uint32_t)count[i] : 1;
}

void hps_versions_push(const struct hps_versions *v, struct hps_pulled *p, const int *row,
                       struct hps_staleness *s)
{
    enum { MAX = 65535 };               /* more is taken for that */

    hps_mem_grow(&p->staleness, &p->cap[1], p->n, sizeof *p->staleness);
    p->max = 0;
    for (size_t i = 0; i < p->n; i++) {
        uint32_t stale = v->of[row[i]] - (p->last ? p->last[row[i]] : p->version[i]);
        if (p->last) p->last[row[i]] = p->version[i];   /* of what it holds from now on */
        p->staleness[i] = stale < MAX ? (int)stale : MAX;
        p->max = p->staleness[i] > p->max ? p->staleness[i] : p->max;
        hps_staleness_add(s, stale);
    }
}
