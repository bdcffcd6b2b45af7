#include "plan/tier_time.h"

#include <math.h>

#include "base/mem.h"
#include "plan/engine.h"

enum { HALVES = 16 };           /* slots for 2^-i of the rows that the run needs */

struct curve {
    double needed, asked, made; /* rows of the run; of a step                    */
    double hits[HALVES];
};

struct hps_tier_curves {
    const struct hps_profile *p;
    double steps;               /* of the run                                    */
    struct curve *of;           /* (L) of the first layer of each request        */
    struct hps_tier_part *part; /* (L) workspace                                 */
    int *first;                 /* (L) of each part, its request's first layer   */
};

static struct curve curve_of(const struct hps_tier_sample *x, double n, double pass)
{
    struct curve c = { .needed = hps_tier_distinct(x, fmin(n, pass)) };

    for (int i = 0; i < HALVES && x->rows > 0; i++) {
        struct hps_tier_rows rows = hps_tier_rows(x, ldexp(c.needed, -i), n, pass);
        c.asked = rows.asked;
        c.made = rows.made;
        c.hits[i] = rows.hits;
    }
    return c;
}

struct hps_tier_curves *hps_tier_curves_new(const struct hps_profile *p)
{
    bool some = false;

    for (int l = 0; l < p->L; l++)
        some = some || p->layer[l].sample.rows > 0;
    if (!some || !(p->max_rows_bytes > 0)) return NULL;
    struct hps_tier_curves *c = hps_mem_new(1, sizeof *c);
    double pass = ceil(p->examples / hps_engine_cut(p).batch);
    c->p = p;
    c->steps = ceil(p->epochs * p->examples / hps_engine_cut(p).batch);
    c->of = hps_mem_new((size_t)p->L, sizeof *c->of);
    c->part = hps_mem_new((size_t)p->L, sizeof *c->part);
    c->first = hps_mem_new((size_t)p->L, sizeof *c->first);
    for (int l = 0; l < p->L; l++)
        c->of[l] = curve_of(&p->layer[l].sample, c->steps, pass);
    return c;
}

void hps_tier_curves_free(struct hps_tier_curves *c)
{
    if (!c) return;
    hps_mem_free(c->of);
    hps_mem_free(c->part);
    hps_mem_free(c->first);
    hps_mem_free(c);
}

/* ---- rows ---- */

static double hits_of(const struct curve *c, double slots)
{
    if (slots >= c->needed) return c->hits[0];
    if (!(slots > 0)) return 0;
    double at = log2(c->needed / slots);
    int i = (int)fmin(floor(at), HALVES - 2);
    return fmax(c->hits[i] + (at - i) * (c->hits[i + 1] - c->hits[i]), 0);
}

/* Of a step, on each of k units. */
static struct hps_tier_rows rows_of(const struct hps_tier_curves *c, int first, double slots,
                                    double k)
{
    const struct curve *x = &c->of[first];
    double hits = hits_of(x, slots * k), read = fmax(x->asked - x->made - hits, 0);
    double written = fmax(x->made + read - slots * k / c->steps, 0);

    return (struct hps_tier_rows){ x->asked / k, hits / k, x->made / k, read / k, written / k };
}

/* The requests of layers i..j, each on one of k units, with the memory that they get. Returns how
 * many. */
static int divide(struct hps_tier_curves *c, int i, int j, double k)
{
    const struct hps_profile *p = c->p;
    int n = 0;

    for (int l = i; l <= j; l++) {
        const struct hps_profile_layer *y = &p->layer[l];
        double rows = p->layer[y->rows_with].sample.rows;
        int a = 0;
        if (!(rows > 0)) continue;
        while (a < n && c->first[a] != y->rows_with)
            a++;
        if (a == n) {
            c->first[n] = y->rows_with;
            c->part[n++] = (struct hps_tier_part){ rows / k, 0, false, 0 };
        }
        c->part[a].row_bytes += (y->weight_bytes + y->state_bytes) / rows;
    }
    hps_tier_divide(n, c->part, p->max_rows_bytes);
    return n;
}

static struct hps_tier_time time_of(const struct hps_profile *p, int l, int t,
                                    const struct hps_tier_rows *r)
{
    size_t at = (size_t)l * (size_t)p->T + (size_t)t;
    const struct hps_profile_tier *x = &p->tier;
    double reads_s = x->reads_s[t];

    return (struct hps_tier_time){
        .busy_s = r->asked * x->take_s[at] + r->made * x->make_s[at] + r->read * x->read_s[at] +
                  r->written * x->write_s[at],
        .disk_s = reads_s > 0 ? r->read / reads_s : 0,
    };
}

int hps_tier_requests(struct hps_tier_curves *c, int i, int j, int t, double k, bool served,
                      struct hps_tier_request *list)
{
    int n = 0;

    if (!c || served != hps_profile_served(c->p)) return 0;
    for (int a = 0, all = divide(c, i, j, k); a < all; a++) {
        const struct hps_tier_part *x = &c->part[a];
        if (x->all || x->slots >= x->rows) continue;
        struct hps_tier_rows rows = rows_of(c, c->first[a], x->slots, k);
        double slot_bytes = x->row_bytes + HPS_TIER_SLOT_BYTES;
        list[n++] = (struct hps_tier_request){
            .layer = c->first[a], .bytes = x->rows * x->row_bytes,
            .memory_bytes = x->rows * HPS_TIER_ROW_BYTES + x->slots * slot_bytes,
            .rows = rows, .time = time_of(c->p, c->first[a], t, &rows),
        };
    }
    return n;
}

/* ---- time ---- */

static struct hps_tier_time sum_of(struct hps_tier_curves *c, int i, int j, int t, double k)
{
    struct hps_tier_time sum = { 0, 0 };

    for (int a = 0, n = divide(c, i, j, k); a < n; a++) {
        const struct hps_tier_part *x = &c->part[a];
        if (x->all || x->slots >= x->rows) continue;
        struct hps_tier_rows rows = rows_of(c, c->first[a], x->slots, k);
        struct hps_tier_time one = time_of(c->p, c->first[a], t, &rows);
        sum.busy_s += one.busy_s;
        sum.disk_s += one.disk_s;
    }
    return sum;
}

struct hps_tier_time hps_tier_time(struct hps_tier_curves *c, int i, int j, int t, double k)
{
    if (!c || hps_profile_served(c->p)) return (struct hps_tier_time){ 0, 0 };
    return sum_of(c, i, j, t, k);
}

struct hps_tier_time hps_tier_time_served(struct hps_tier_curves *c, int t, double k)
{
    if (!c || !hps_profile_served(c->p) || k < 1) return (struct hps_tier_time){ 0, 0 };
    return sum_of(c, 0, c->p->L - 1, t, k);
}
