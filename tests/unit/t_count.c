/* t_count: time is given to the innermost region, every window becomes a row and the rows add up to
 * the totals however long a run is; events that cannot be had or cannot be true are replaced or
 * NaN; a machine without any counter still runs. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <papi.h>

#include "base/clock.h"
#include "base/mem.h"
#include "hw/count.h"

/* What the kernel and PAPI answer here, instead of what this machine happens to have. */
static enum { AS_IT_IS, NO_HARDWARE, NO_COUNTERS } machine;
static bool fake;                       /* PAPI takes every event and reads `step` more each time */
static long long step, value;

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long a[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_perf_event_open) {
        const struct perf_event_attr *attr = (const void *)(uintptr_t)a[0];
        if (machine == NO_COUNTERS ||
            (machine == NO_HARDWARE && attr->type != PERF_TYPE_SOFTWARE)) {
            errno = ENOENT;
            return -1;
        }
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define FAKED(type, name, args, call)                                                              \
    int name args                                                                                  \
    {                                                                                              \
        static int(*real) type;                                                                    \
        if (fake)                                                                                  \
            return PAPI_OK;                                                                        \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        return real call;                                                                          \
    }
FAKED((int), PAPI_query_event, (int code), (code))
FAKED((int, int), PAPI_add_event, (int set, int code), (set, code))
FAKED((int), PAPI_start, (int set), (set))
FAKED((int, long long *), PAPI_stop, (int set, long long *v), (set, v))

int PAPI_read(int set, long long *v)
{
    static int (*real)(int, long long *);

    if (fake) {
        value += step;
        v[0] = v[1] = v[2] = value;
        return PAPI_OK;
    }
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "PAPI_read");
    return real(set, v);
}

static void begin(bool per_region, bool trace)
{
    const struct hps_count_opt opt = { .events_per_region = per_region, .trace = trace };
    assert_int_equal(hps_count_begin(&opt), HPS_OK);
}

static int finish(void **state)
{
    (void)state;
    hps_count_end();
    machine = AS_IT_IS;
    fake = false;
    unsetenv("PAPI_EVENTS");
    return hps_mem_held_bytes() == 0 ? 0 : -1;
}

static void nesting(void **state)
{
    const struct hps_count_sum *sum = hps_count_total();
    (void)state;

    begin(false, false);
    assert_int_equal(hps_region_now(), -1);
    double start = hps_now_s();
    hps_region_enter(HPS_REGION_FORWARD, 0);
    usleep(2000);
    hps_region_enter(HPS_REGION_WAIT, 0);
    assert_int_equal(hps_region_now(), HPS_REGION_WAIT);
    usleep(10000);
    hps_region_enter(HPS_REGION_FORWARD, 0);       /* even in itself */
    hps_region_leave(HPS_REGION_FORWARD);
    hps_region_leave(HPS_REGION_WAIT);
    assert_int_equal(hps_region_now(), HPS_REGION_FORWARD);
    hps_region_leave(HPS_REGION_FORWARD);
    double all = hps_now_s() - start;
    assert_int_equal(hps_region_now(), -1);
    assert_true(sum[HPS_REGION_FORWARD].calls == 2 && sum[HPS_REGION_WAIT].calls == 1);
    assert_true(sum[HPS_REGION_FORWARD].seconds >= 0.002);
    assert_true(sum[HPS_REGION_WAIT].seconds >= 0.010);
    double both = sum[HPS_REGION_FORWARD].seconds + sum[HPS_REGION_WAIT].seconds;
    assert_true(both <= all && both > all - 0.001);
    for (int r = 0; r < HPS_REGIONS; r++)
        assert_true(r == HPS_REGION_FORWARD || r == HPS_REGION_WAIT || sum[r].calls == 0);
}

static void windows(void **state)
{
    const struct hps_count_row *row;
    (void)state;

    begin(false, false);
    double start = hps_now_s();
    for (int s = 5; s < 8; s++) {
        for (int i = 0; i < s; i++) {
            hps_region_enter(HPS_REGION_READ, 0);
            hps_region_leave(HPS_REGION_READ);
        }
        usleep(1000);
        hps_region_enter(HPS_REGION_UPDATE, 0);    /* a region may last over a mark */
        hps_count_window(s);
        usleep(1000);
        hps_region_leave(HPS_REGION_UPDATE);
    }
    double all = hps_now_s() - start;
    assert_int_equal(hps_count_rows(&row), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(row[i].step, 5 + i);
        assert_int_equal(row[i].region[HPS_REGION_READ].calls, 5 + i);
        assert_int_equal(row[i].region[HPS_REGION_UPDATE].calls, 1);
        assert_true(row[i].seconds >= (i == 0 ? 0.001 : 0.002) && row[i].seconds <= all);
    }
    assert_true(row[0].region[HPS_REGION_UPDATE].seconds < 0.001);
    assert_true(row[1].region[HPS_REGION_UPDATE].seconds >= 0.001);
}

/* 2.5 times as many windows as rows: the rows are few, in order, and add up. */
static void long_run(void **state)
{
    const struct hps_count_row *row;
    int steps = HPS_COUNT_ROWS * 5 / 2, n;
    long long calls = 0;
    double seconds = 0;
    (void)state;

    machine = NO_COUNTERS;
    double before = hps_now_s();
    begin(false, false);
    double start = hps_now_s();
    for (int s = 1; s <= steps; s++) {
        for (int i = 0; i < s % 3; i++) {
            hps_region_enter(HPS_REGION_PUSH, 0);
            hps_region_leave(HPS_REGION_PUSH);
        }
        hps_count_window(s);
        n = hps_count_rows(&row);
        assert_true(n <= HPS_COUNT_ROWS && row[n - 1].step == s);
    }
    double end = hps_now_s();
    assert_true(n > HPS_COUNT_ROWS / 2);
    for (int i = 0; i < n; i++) {
        assert_true(i == n - 1 || row[i].step == 4 * (i + 1));
        calls += row[i].region[HPS_REGION_PUSH].calls;
        seconds += row[i].seconds;
    }
    assert_true(calls == hps_count_total()[HPS_REGION_PUSH].calls && calls == steps);
    assert_true(seconds <= end - before && seconds > 0.9 * (end - start));
}

static void spans(void **state)
{
    const struct hps_count_span *span;
    (void)state;

    begin(false, true);
    for (int s = 0; s < 2; s++) {
        hps_region_enter(HPS_REGION_BACKWARD, 0);
        hps_region_enter(HPS_REGION_SEND, 0);
        hps_region_leave(HPS_REGION_SEND);
        hps_region_leave(HPS_REGION_BACKWARD);
        hps_count_window(10 + s);
    }
    assert_int_equal(hps_count_spans(&span), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(span[i].step, 10 + i / 2);
        assert_int_equal(span[i].region, i % 2 ? HPS_REGION_BACKWARD : HPS_REGION_SEND);
        assert_true(span[i].begin_s <= span[i].end_s && span[i].end_s <= hps_now_s());
    }
    assert_true(span[1].begin_s <= span[0].begin_s && span[0].end_s <= span[1].end_s);
}

/* Time goes to the part of the region, also where it changes inside of one. */
static void parts(void **state)
{
    const struct hps_count_sum *sum = hps_count_total();
    const struct hps_count_span *span;
    double seconds = 0;
    (void)state;

    begin(false, true);
    hps_region_enter(HPS_REGION_FORWARD, 0);
    usleep(2000);
    hps_region_part(1);
    usleep(5000);
    hps_region_enter(HPS_REGION_SEND, HPS_SAME_PART);
    hps_region_leave(HPS_REGION_SEND);
    hps_region_leave(HPS_REGION_FORWARD);
    hps_region_enter(HPS_REGION_SEND, 0);
    hps_region_leave(HPS_REGION_SEND);
    for (int part = 0; part < HPS_COUNT_PARTS; part++) {
        const struct hps_count_sum *mine = hps_count_part_total(part);
        assert_true(mine[HPS_REGION_FORWARD].seconds >= (part ? 0.005 : 0.002));
        assert_int_equal(mine[HPS_REGION_FORWARD].calls, !part);
        assert_int_equal(mine[HPS_REGION_SEND].calls, 1);
        seconds += mine[HPS_REGION_FORWARD].seconds;
    }
    assert_true(fabs(sum[HPS_REGION_FORWARD].seconds - seconds) < 1e-9);
    assert_int_equal(hps_count_spans(&span), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(span[i].part, i < 2);
}

static void spans_are_bounded(void **state)
{
    const struct hps_count_span *span;
    (void)state;

    machine = NO_COUNTERS;
    begin(false, true);
    for (int i = 0; i < HPS_COUNT_SPANS + 5; i++) {
        hps_region_enter(HPS_REGION_READ, 0);
        hps_region_leave(HPS_REGION_READ);
    }
    assert_int_equal(hps_count_spans(&span), HPS_COUNT_SPANS);
}

static void touch_pages(void)
{
    size_t bytes = 1 << 20;
    volatile char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                            0);
    assert_ptr_not_equal((const void *)p, MAP_FAILED);
    for (size_t i = 0; i < bytes; i += 4096)
        p[i] = 1;
    munmap((void *)p, bytes);
}

static void without_hardware(void **state)
{
    const char *const *name;
    const double *total;
    const struct hps_count_row *row;
    (void)state;

    machine = NO_HARDWARE;
    begin(false, false);
    int n = hps_count_events(&name, &total);
    if (n == 0)
        skip();                                 /* not even software events are allowed here */
    for (int i = 0; i < n; i++)
        assert_non_null(strstr(name[i], "PERF_COUNT_SW_"));
    touch_pages();
    hps_count_window(1);
    assert_true(total[0] > 0 && total[1] >= 0);
    hps_count_rows(&row);
    assert_true(row[0].event[0] >= total[0] && row[0].event[0] <= total[0]);
    assert_null(hps_count_region_events(HPS_REGION_READ));
}

static void without_counters(void **state)
{
    const char *const *name;
    const double *total;
    (void)state;

    machine = NO_COUNTERS;
    begin(true, false);
    assert_int_equal(hps_count_events(&name, &total), 0);
    hps_region_enter(HPS_REGION_READ, 0);
    hps_region_leave(HPS_REGION_READ);
    hps_count_window(1);
    assert_int_equal(hps_count_total()[HPS_REGION_READ].calls, 1);
}

static void pauses(void **state)
{
    const struct hps_count_sum *sum = hps_count_total();
    const struct hps_count_span *span;
    const struct hps_count_row *row;
    const char *const *name;
    const double *total;
    (void)state;

    fake = true;
    step = 1000;
    begin(false, true);
    int n = hps_count_events(&name, &total);
    hps_count_pause();
    hps_region_enter(HPS_REGION_WAIT, 0);
    assert_int_equal(hps_region_now(), HPS_REGION_WAIT);
    usleep(10000);
    hps_region_leave(HPS_REGION_WAIT);
    hps_count_resume();
    hps_region_enter(HPS_REGION_READ, 0);
    hps_region_leave(HPS_REGION_READ);
    hps_count_window(1);
    assert_true(sum[HPS_REGION_WAIT].calls == 0 && !(sum[HPS_REGION_WAIT].seconds > 0));
    assert_true(sum[HPS_REGION_READ].calls == 1 && hps_count_spans(&span) == 1);
    assert_true(hps_count_rows(&row) == 1 && row[0].seconds < 0.010);
    assert_true(n == 3 && total[0] >= 2000 && total[0] <= 2000);    /* the third look is dropped */
}

/* What was counted before counts no more, and what comes is counted from zero. */
static void clears(void **state)
{
    const struct hps_count_sum *sum = hps_count_total();
    const struct hps_count_span *span;
    const struct hps_count_row *row;
    const char *const *name;
    const double *total;
    (void)state;

    fake = true;
    step = 1000;
    begin(false, true);
    int n = hps_count_events(&name, &total);
    hps_region_enter(HPS_REGION_WAIT, 1);
    usleep(10000);
    hps_region_leave(HPS_REGION_WAIT);
    hps_count_window(1);
    hps_count_clear();
    assert_true(hps_count_rows(&row) == 0 && hps_count_spans(&span) == 0);
    assert_true(!(hps_count_part_total(1)[HPS_REGION_WAIT].seconds > 0));
    hps_region_enter(HPS_REGION_READ, 0);
    hps_region_leave(HPS_REGION_READ);
    hps_count_window(2);
    assert_true(sum[HPS_REGION_WAIT].calls == 0 && !(sum[HPS_REGION_WAIT].seconds > 0));
    assert_true(sum[HPS_REGION_READ].calls == 1 && hps_count_spans(&span) == 1);
    assert_true(span[0].step == 2);
    assert_true(hps_count_rows(&row) == 1 && row[0].step == 2 && row[0].seconds < 0.010);
    assert_true(n == 3 && total[0] >= 1000 && total[0] <= 1000);
}

static void counting_tells_what_it_costs(void **state)
{
    const struct hps_count_sum *sum = hps_count_total();
    const struct hps_count_span *span;
    (void)state;

    fake = true;
    step = 1000;
    begin(false, true);
    struct hps_count_cost cost = hps_count_cost();
    assert_true(cost.window_s > 0 && cost.window_s < 0.01);
    assert_true(cost.region_s > 0 && cost.region_s < 0.001);
    assert_true(sum[HPS_REGION_WAIT].calls == 0 && hps_count_spans(&span) == 0);
}

static void events_in_regions(void **state)
{
    const char *const *name;
    const double *total;
    (void)state;

    fake = true;
    step = 1000;
    begin(true, false);
    assert_int_equal(hps_count_events(&name, &total), 3);
    hps_region_enter(HPS_REGION_READ, 0);          /* each look reads 1000 more */
    hps_region_enter(HPS_REGION_WAIT, 0);
    hps_region_leave(HPS_REGION_WAIT);
    hps_region_leave(HPS_REGION_READ);
    hps_count_window(1);
    assert_true(hps_count_region_events(HPS_REGION_READ)[0] >= 2000);
    assert_true(hps_count_region_events(HPS_REGION_READ)[0] <= 2000);
    assert_true(hps_count_region_events(HPS_REGION_WAIT)[2] <= 1000);
    assert_true(total[1] >= 5000 && total[1] <= 5000);
}

static void nonsense_at_the_start(void **state)
{
    const char *const *name;
    const double *total;
    (void)state;

    fake = true;
    step = 0;                                   /* no cycles in a millisecond of work */
    begin(false, false);
    for (int i = hps_count_events(&name, &total) - 1; i >= 0; i--)
        assert_non_null(strstr(name[i], "PERF_COUNT_SW_"));
}

static void nonsense_on_the_way(void **state)
{
    const char *const *name;
    const double *total;
    const struct hps_count_row *row;
    (void)state;

    fake = true;
    step = 1000;
    begin(false, false);
    int n = hps_count_events(&name, &total);
    hps_count_window(1);
    assert_true(n == 3 && total[0] <= 1000);
    step = 1LL << 47;
    hps_count_window(2);
    step = 1000;
    hps_count_window(3);
    hps_count_rows(&row);
    assert_true(!isnan(row[0].event[0]) && isnan(row[1].event[0]) && !isnan(row[2].event[0]));
    assert_true(isnan(total[0]) && isnan(total[2]));
}

static void wishes(void **state)
{
    const char *unknown[] = { "PAPI_FUEL" }, *many[9];
    const char *soft[] = { "perf::PERF_COUNT_SW_PAGE_FAULTS" };
    struct hps_count_opt opt = { .events = { 1, unknown } };
    const char *const *name;
    const double *total;
    (void)state;

    assert_int_equal(hps_count_begin(&opt), HPS_DECK);
    for (int i = 0; i < 9; i++)
        many[i] = soft[0];
    opt.events = (struct hps_list){ 9, many };
    assert_int_equal(hps_count_begin(&opt), HPS_DECK);
    opt.events = (struct hps_list){ 1, soft };
    enum hps_status st = hps_count_begin(&opt);
    if (PAPI_query_named_event(soft[0]) != PAPI_OK) {   /* a processor younger than PAPI */
        assert_int_equal(st, HPS_DECK);
        skip();
    }
    assert_int_equal(st, HPS_OK);
    if (hps_count_events(&name, &total) != 1)
        skip();
    assert_string_equal(name[0], soft[0]);
    touch_pages();
    hps_count_window(1);
    assert_true(total[0] >= 16);                /* 256 pages, or fewer and larger ones */

    opt.events.n = 0;
    setenv("PAPI_EVENTS", "PAPI_FUEL,perf::PERF_COUNT_SW_CPU_CLOCK, "
                          "perf::PERF_COUNT_SW_PAGE_FAULTS", 1);
    assert_int_equal(hps_count_begin(&opt), HPS_OK);
    assert_int_equal(hps_count_events(&name, &total), 2);
    assert_string_equal(name[1], soft[0]);
}

#define ALONE(name) cmocka_unit_test_teardown(name, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(nesting), ALONE(windows), ALONE(long_run), ALONE(spans), ALONE(parts),
        ALONE(spans_are_bounded),
        ALONE(without_hardware), ALONE(without_counters), ALONE(pauses), ALONE(clears),
        ALONE(counting_tells_what_it_costs), ALONE(events_in_regions),
        ALONE(nonsense_at_the_start), ALONE(nonsense_on_the_way), ALONE(wishes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
