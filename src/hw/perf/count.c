/* count.c - a stack of regions, a row for each window of steps, spans for a timeline. */
#include "hw/count.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/say.h"
#include "hw/papi.h"

#define DEEP 16

const char *const hps_region_name[HPS_REGIONS] = {
    "read", "pull", "forward", "backward", "push", "reduce", "send", "recv", "wait", "update",
    "checkpoint",
};

const struct hps_field hps_count_fields[] = {
    HPS_FIELD(hps_count_opt, events, HPS_LIST, "[]", 0, 0, "",
              "PAPI events; none: PAPI_EVENTS of the environment, else a usual set"),
    HPS_FIELD(hps_count_opt, events_per_region, HPS_BOOL, "false", 0, 1, "",
              "count events in each region too (a read costs 2 to 26 us)"),
    HPS_FIELD(hps_count_opt, trace, HPS_BOOL, "false", 0, 1, "",
              "keep every span for a timeline"),
    { 0 }
};

struct frame {
    enum hps_region region;
    int part;                                   /* of the rank's work                   */
    double begin_s;
};

static struct {
    bool on, trace, per_region, paused;
    struct frame frame[DEEP];
    int depth;
    double seen_s;                              /* time up to here is attributed        */
    double mark_s;                              /* end of the last window               */
    double paused_s;                            /* when the pause began                 */
    struct hps_count_sum total[HPS_REGIONS];
    struct hps_count_sum part_total[HPS_COUNT_PARTS][HPS_REGIONS];
    struct hps_count_row window;                /* the current one                      */
    double event[HPS_EVENTS];                   /* totals                               */
    double region_event[HPS_REGIONS][HPS_EVENTS];
    struct hps_count_row *row;
    size_t nrow, row_cap;
    int windows_a_row, windows_in_last;
    struct hps_count_span *span;
    size_t nspan, span_cap, unmarked;           /* unmarked: the first without a step   */
    long long dropped;
    bool doubted;                               /* an impossible count was reported     */
} me;

static void (*the_range)(const char *name);
static atomic_int inside;                       /* 1 + the innermost region, 0: none    */

/* Attribute events since the last read to the innermost region and the window. */
static void take_events(void)
{
    double delta[HPS_EVENTS] = { 0 };
    const char *const *name;
    int n = hps_papi_names(&name);

    if (n > 0 && !hps_papi_read(delta) && !me.doubted) {
        HPS_SAY_ALL(HPS_WARN, "counters: what was read cannot be true: its windows and the totals "
                              "are NaN");
        me.doubted = true;
    }
    for (int i = 0; i < n; i++) {
        me.window.event[i] += delta[i];
        if (me.per_region && me.depth > 0)
            me.region_event[me.frame[me.depth - 1].region][i] += delta[i];
    }
}

/* Attribute time since the last call to the innermost region. */
static double take_time(void)
{
    double now = hps_now_s();

    if (me.paused) return now;
    if (me.depth > 0) {
        const struct frame *f = &me.frame[me.depth - 1];
        enum hps_region r = f->region;
        me.total[r].seconds += now - me.seen_s;
        me.part_total[f->part][r].seconds += now - me.seen_s;
        me.window.region[r].seconds += now - me.seen_s;
    }
    me.seen_s = now;
    if (me.on && me.per_region) take_events();
    return now;
}

static void show(void)
{
    int now = me.depth > 0 ? 1 + (int)me.frame[me.depth - 1].region : 0;
    atomic_store_explicit(&inside, now, memory_order_relaxed);
}

void hps_region_enter(enum hps_region region, int part)
{
    assert(me.depth < DEEP && part < HPS_COUNT_PARTS);
    double now = take_time();
    if (part == HPS_SAME_PART) part = me.depth > 0 ? me.frame[me.depth - 1].part : 0;
    me.frame[me.depth++] = (struct frame){ region, part, now };
    me.total[region].calls += !me.paused;
    me.part_total[part][region].calls += !me.paused;
    me.window.region[region].calls += !me.paused;
    if (the_range) the_range(hps_region_name[region]);
    show();
}

static void keep_span(const struct frame *f, double end_s)
{
    if (me.nspan == HPS_COUNT_SPANS) {
        me.dropped++;
        return;
    }
    hps_mem_grow(&me.span, &me.span_cap, me.nspan + 1, sizeof *me.span);
    me.span[me.nspan++] = (struct hps_count_span){ f->region, f->part, f->begin_s, end_s, -1 };
}

void hps_region_leave(enum hps_region region)
{
    assert(me.depth > 0 && me.frame[me.depth - 1].region == region);
    double now = take_time();
    struct frame left = me.frame[--me.depth];
    if (me.trace && !me.paused) keep_span(&left, now);
    if (the_range) the_range(NULL);
    show();
}

void hps_region_part(int part)
{
    assert(part >= 0 && part < HPS_COUNT_PARTS);
    if (me.depth == 0 || me.frame[me.depth - 1].part == part) return;
    take_time();
    me.frame[me.depth - 1].part = part;
}

void hps_count_gpu(enum hps_region region, int part, double seconds)
{
    me.total[region].gpu_s += seconds;
    me.part_total[part][region].gpu_s += seconds;
}

void hps_count_range(void (*range)(const char *name))
{
    assert(me.depth == 0);
    the_range = range;
}

int hps_region_now(void)
{
    return atomic_load_explicit(&inside, memory_order_relaxed) - 1;
}

void hps_count_pause(void)
{
    assert(me.depth == 0 && !me.paused);
    me.paused_s = take_time();
    if (me.on && !me.per_region) take_events();
    me.paused = true;
}

void hps_count_resume(void)
{
    double dropped[HPS_EVENTS];

    assert(me.depth == 0 && me.paused);
    me.paused = false;
    me.seen_s = hps_now_s();
    me.mark_s += me.seen_s - me.paused_s;
    if (me.on) hps_papi_read(dropped);
}

struct hps_count_cost hps_count_cost(void)
{
    enum { WINDOWS = 8, REGIONS = 200 };
    struct hps_count_cost cost;
    double delta[HPS_EVENTS], t0;

    hps_count_pause();
    t0 = hps_now_s();
    for (int i = 0; me.on && i < WINDOWS; i++)
        hps_papi_read(delta);
    cost.window_s = (hps_now_s() - t0) / WINDOWS;
    t0 = hps_now_s();
    for (int i = 0; i < REGIONS; i++) {
        hps_region_enter(HPS_REGION_WAIT, 0);
        hps_region_leave(HPS_REGION_WAIT);
    }
    cost.region_s = (hps_now_s() - t0) / REGIONS;
    hps_count_resume();
    return cost;
}

static void add_row(struct hps_count_row *to, const struct hps_count_row *from)
{
    to->step = from->step;
    to->seconds += from->seconds;
    for (int r = 0; r < HPS_REGIONS; r++) {
        to->region[r].calls += from->region[r].calls;
        to->region[r].seconds += from->region[r].seconds;
    }
    for (int i = 0; i < HPS_EVENTS; i++)
        to->event[i] += from->event[i];
}

/* When the rows are full, merge neighbours; from now on a row has twice as many windows. */
static void halve_rows(void)
{
    for (size_t i = 0; i < me.nrow / 2; i++) {
        struct hps_count_row pair = me.row[2 * i];
        add_row(&pair, &me.row[2 * i + 1]);
        me.row[i] = pair;
    }
    me.nrow /= 2;
    me.windows_a_row *= 2;
    me.windows_in_last = me.windows_a_row;
}

static void keep_row(void)
{
    if (me.nrow == HPS_COUNT_ROWS && me.windows_in_last == me.windows_a_row) halve_rows();
    if (me.nrow > 0 && me.windows_in_last < me.windows_a_row) {
        add_row(&me.row[me.nrow - 1], &me.window);
        me.windows_in_last++;
        return;
    }
    hps_mem_grow(&me.row, &me.row_cap, me.nrow + 1, sizeof *me.row);
    me.row[me.nrow++] = me.window;
    me.windows_in_last = 1;
}

void hps_count_window(long long step)
{
    double now = take_time();

    if (!me.on) return;
    if (!me.per_region) take_events();
    me.window.step = step;
    me.window.seconds = now - me.mark_s;
    me.mark_s = now;
    for (int i = 0; i < HPS_EVENTS; i++)
        me.event[i] += me.window.event[i];
    keep_row();
    memset(&me.window, 0, sizeof me.window);
    for (; me.unmarked < me.nspan; me.unmarked++)
        me.span[me.unmarked].step = step;
}

void hps_count_clear(void)
{
    double dropped[HPS_EVENTS];

    assert(me.depth == 0 && !me.paused);
    memset(me.total, 0, sizeof me.total);
    memset(me.part_total, 0, sizeof me.part_total);
    memset(&me.window, 0, sizeof me.window);
    memset(me.event, 0, sizeof me.event);
    memset(me.region_event, 0, sizeof me.region_event);
    me.nrow = me.nspan = me.unmarked = 0;
    me.dropped = 0;
    me.windows_a_row = 1;
    me.windows_in_last = 0;
    if (me.on) hps_papi_read(dropped);
    me.seen_s = me.mark_s = hps_now_s();
}

enum hps_status hps_count_begin(const struct hps_count_opt *opt)
{
    hps_count_end();
    memset(&me, 0, sizeof me);
    atomic_store(&inside, 0);
    enum hps_status s = hps_papi_open(&opt->events, HPS_EVENTS);
    if (s) return s;
    me.on = true;
    me.trace = opt->trace;
    me.per_region = opt->events_per_region;
    me.windows_a_row = 1;
    me.seen_s = me.mark_s = hps_now_s();
    return HPS_OK;
}

void hps_count_end(void)
{
    if (me.dropped > 0)
        HPS_SAY_ALL(HPS_WARN, "the timeline is full: %lld spans were dropped", me.dropped);
    hps_papi_close();
    hps_mem_free(me.row);
    hps_mem_free(me.span);
    me.row = NULL;
    me.span = NULL;
    me.nrow = me.row_cap = me.nspan = me.span_cap = me.unmarked = 0;
    me.dropped = 0;
    me.on = me.trace = me.per_region = false;
}

const struct hps_count_sum *hps_count_total(void)
{
    return me.total;
}

const struct hps_count_sum *hps_count_part_total(int part)
{
    return me.part_total[part];
}

int hps_count_rows(const struct hps_count_row **rows)
{
    *rows = me.row;
    return (int)me.nrow;
}

int hps_count_events(const char *const **name, const double **total)
{
    *total = me.event;
    return hps_papi_names(name);
}

const double *hps_count_region_events(enum hps_region region)
{
    return me.on && me.per_region ? me.region_event[region] : NULL;
}

long long hps_count_spans(const struct hps_count_span **span)
{
    *span = me.span;
    return (long long)me.nspan;
}
