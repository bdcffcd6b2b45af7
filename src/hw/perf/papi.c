/* papi.c - PAPI, with care for counters that are denied, read zero or jump by 2^47. */
#include "hw/papi.h"

#include <math.h>
#include <papi.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/say.h"

#define EVENTS 16
#define TOO_MUCH (1LL << 45)    /* impossible between two reads */
#define MAX_HZ 6e9
#define CALIBRATE_S 1e-3

enum role { OTHER, CYCLES, INSTRUCTIONS };

static struct {
    bool running, hardware;     /* hardware: at least one event is not the kernel's */
    int set, n;
    char *name[EVENTS];
    enum role role[EVENTS];
    long long seen[EVENTS];
    double seen_s;              /* CPU time of this thread at the last read */
} me = { .set = PAPI_NULL };

/* For PAPI calls that the machine may refuse: then there is a message of level HPS_DEBUG. */
#define HPS_PAPI(call) papi((call), #call)
static bool papi(int rc, const char *call)
{
    if (rc != PAPI_OK) HPS_SAY(HPS_DEBUG, "%s: %s", call, PAPI_strerror(rc));
    return rc == PAPI_OK;
}

static bool is_software(const char *name)
{
    return strstr(name, "PERF_COUNT_SW_") != NULL;
}

static bool is_known(const char *name)
{
    int code;
    return HPS_PAPI(PAPI_event_name_to_code(name, &code));
}

static void drop(int first)
{
    for (int i = first; i < me.n; i++)
        hps_mem_free(me.name[i]);
    me.n = first;
}

static bool add(const char *name)
{
    int code;

    if (me.n == EVENTS || !HPS_PAPI(PAPI_event_name_to_code(name, &code)) ||
        !HPS_PAPI(PAPI_query_event(code)) || !HPS_PAPI(PAPI_add_event(me.set, code)))
        return false;
    me.role[me.n] = strcmp(name, "PAPI_TOT_CYC") == 0   ? CYCLES
                    : strcmp(name, "PAPI_TOT_INS") == 0 ? INSTRUCTIONS
                                                        : OTHER;
    me.hardware |= !is_software(name);
    me.name[me.n++] = hps_mem_text(name);
    return true;
}

static void stop(void)
{
    long long last[EVENTS];

    if (me.running) (void)HPS_PAPI(PAPI_stop(me.set, last));
    if (me.set != PAPI_NULL && HPS_PAPI(PAPI_cleanup_eventset(me.set)))
        (void)HPS_PAPI(PAPI_destroy_eventset(&me.set));
    me.set = PAPI_NULL;
    me.running = me.hardware = false;
    drop(0);
}

/* Start the available events among `name` (n), in a domain. False: there are none. */
static bool start(int n, const char *const *name, int domain)
{
    const int core = 0;         /* PAPI's first component: the processor and the kernel */

    if (!HPS_PAPI(PAPI_set_cmp_domain(domain, core)) || !HPS_PAPI(PAPI_create_eventset(&me.set)))
        return false;
    for (int i = 0; i < n; i++)
        if (!add(name[i])) HPS_SAY(HPS_DEBUG, "event %s cannot be counted here", name[i]);
    if (me.n > 0) me.running = HPS_PAPI(PAPI_start(me.set));
    if (me.running && HPS_PAPI(PAPI_read(me.set, me.seen))) {
        me.seen_s = hps_core_s();
        return true;
    }
    stop();
    return false;
}

/* Are these counts possible after so much CPU time? */
static bool is_plausible(const long long *delta, double took_s)
{
    for (int i = 0; i < me.n; i++) {
        if (delta[i] < 0 || delta[i] > TOO_MUCH) return false;
        if (me.role[i] != OTHER && delta[i] == 0) return false;
        if (me.role[i] == CYCLES && (double)delta[i] > MAX_HZ * (took_s + 1e-4)) return false;
    }
    return true;
}

bool hps_papi_read(double *delta)
{
    long long now[EVENTS], step[EVENTS];
    double at = hps_core_s();
    bool good = me.running && HPS_PAPI(PAPI_read(me.set, now));

    for (int i = 0; i < me.n && good; i++) {
        step[i] = now[i] - me.seen[i];
        me.seen[i] = now[i];
    }
    good = good && is_plausible(step, at - me.seen_s);
    me.seen_s = at;
    for (int i = 0; i < me.n; i++)
        delta[i] = good ? (double)step[i] : (double)NAN;
    return good;
}

/* Are the counts plausible over 1 ms of work? */
static bool calibrate(void)
{
    double delta[EVENTS], begin = hps_core_s();
    volatile double x = 1;

    while (hps_core_s() - begin < CALIBRATE_S)
        for (int i = 0; i < 1000; i++)
            x = x * 0.999 + 1;
    return hps_papi_read(delta);
}

/* Software events, which the kernel always has; some only where its own work is counted too. */
static void start_software(const char *why)
{
    static const char *const name[] = { "perf::PERF_COUNT_SW_TASK_CLOCK",
                                        "perf::PERF_COUNT_SW_PAGE_FAULTS",
                                        "perf::PERF_COUNT_SW_CONTEXT_SWITCHES" };
    bool on = start(3, name, PAPI_DOM_ALL) || start(3, name, PAPI_DOM_USER);

    HPS_SAY(HPS_INFO, "counters: %s: %s", why,
            on ? "software events are counted instead" : "no events are counted");
}

/* Start n events, or software events instead. `asked`: also report the missing ones. */
static void start_some(int n, const char *const *name, bool asked)
{
    bool kernel = true;

    for (int i = 0; i < n; i++)
        kernel = kernel && is_software(name[i]);
    bool on = (kernel && start(n, name, PAPI_DOM_ALL)) || start(n, name, PAPI_DOM_USER);
    if (on && me.hardware && !calibrate()) {
        stop();
        start_software("the hardware's give nonsense here");
    } else if (!on) {
        start_software(asked ? "none of the events asked for can be had here"
                             : "the hardware's are not to be had here");
    } else if (asked && me.n < n) {
        HPS_SAY(HPS_WARN, "counters: only %d of the %d events asked for can be had here", me.n, n);
    }
}

/* The names in PAPI_EVENTS that PAPI knows; `text` holds them. */
static int read_environment(char *text, const char **name, int max)
{
    int n = 0;
    char *rest = text;

    for (char *word; (word = strtok_r(rest, ", ", &rest)) && n < max;)
        if (is_known(word))
            name[n++] = word;
        else
            HPS_SAY(HPS_WARN, "PAPI_EVENTS: PAPI does not know '%s'", word);
    return n;
}

static enum hps_status check_request(const struct hps_list *requested, int max)
{
    if (requested->n > max) {
        HPS_SAY(HPS_ERROR, "perf.events: %d events, at most %d can be counted at once",
                requested->n, max);
        return HPS_DECK;
    }
    for (int i = 0; i < requested->n; i++)
        if (!is_known(requested->item[i])) {
            HPS_SAY(HPS_ERROR, "perf.events: PAPI does not know '%s'", requested->item[i]);
            return HPS_DECK;
        }
    return HPS_OK;
}

enum hps_status hps_papi_open(const struct hps_list *requested, int max)
{
    static const char *const usual[] = { "PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_FP_OPS" };
    const char *name[EVENTS], *given = getenv("PAPI_EVENTS");
    int version = PAPI_library_init(PAPI_VER_CURRENT), n = 0;

    hps_papi_close();
    max = max < EVENTS ? max : EVENTS;
    if (version != PAPI_VER_CURRENT) {
        HPS_SAY(HPS_INFO, "counters: PAPI does not start: no events are counted");
        return HPS_OK;
    }
    if (requested->n > 0) {
        enum hps_status s = check_request(requested, max);
        if (!s) start_some(requested->n, requested->item, true);
        return s;
    }
    char *text = hps_mem_text(given ? given : "");
    n = read_environment(text, name, max);
    start_some(n > 0 ? n : 3, n > 0 ? name : usual, n > 0);
    hps_mem_free(text);
    return HPS_OK;
}

void hps_papi_close(void)
{
    stop();
}

int hps_papi_names(const char *const **name)
{
    *name = (const char *const *)me.name;
    return me.n;
}
