/* interleaved_probe.c - calls of the program that a run of fibers sees (ld --wrap): facts of a
 * process that are those of a fiber here, time, and what the account hears of. */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/quit.h"
#include "hw/count.h"
#include "interleaved.h"
#include "life/stop.h"
#include "ps/ps_impl.h"
#include "train/save.h"

#define WRAP(name) __wrap_##name
#define REAL(name) __real_##name

static struct interleaved_rank *me(void)
{
    return &interleaved.rank[fibers_me()];
}

/* ---- facts of a process ---- */

int WRAP(hps_rank)(void);
int WRAP(hps_rank)(void)
{
    return fibers_me() < 0 ? 0 : fibers_me();
}

int WRAP(hps_nrank)(void);
int WRAP(hps_nrank)(void)
{
    return fibers_me() < 0 ? 1 : interleaved.R;
}

double WRAP(hps_now_s)(void);
double WRAP(hps_now_s)(void)
{
    return 1e-5 * (double)fibers_time();
}

void WRAP(hps_sleep_s)(double seconds);
void WRAP(hps_sleep_s)(double seconds)
{
    (void)seconds;
    fibers_look();
}

/* The end of the process waits for a thread, by sleeping: no other fiber may go on. */
_Noreturn void REAL(hps_quit)(enum hps_status status, const char *format, ...);
_Noreturn void WRAP(hps_quit)(enum hps_status status, const char *format, ...);
_Noreturn void WRAP(hps_quit)(enum hps_status status, const char *format, ...)
{
    char text[512];
    va_list args;

    fibers_stop();
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    REAL(hps_quit)(status, "%s", text);
}

_Noreturn void WRAP(hps_die)(const char *file, int line, const char *format, ...);
_Noreturn void WRAP(hps_die)(const char *file, int line, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    WRAP(hps_quit)(HPS_FAIL, "%s (%s:%d)", text, file, line);
}

/* Whoever asks is in a loop that waits, or may look at messages. */
bool WRAP(hps_wait_oversubscribed)(void);
bool WRAP(hps_wait_oversubscribed)(void)
{
    fibers_look();
    return interleaved.oversubscribed;
}

/* One process has one stack of regions. */
void WRAP(hps_region_enter)(enum hps_region region, int part);
void WRAP(hps_region_enter)(enum hps_region region, int part)
{
    (void)region;
    (void)part;
}

void WRAP(hps_region_leave)(enum hps_region region);
void WRAP(hps_region_leave)(enum hps_region region)
{
    (void)region;
}

void WRAP(hps_count_pause)(void);
void WRAP(hps_count_pause)(void)
{
}

void WRAP(hps_count_resume)(void);
void WRAP(hps_count_resume)(void)
{
}

/* ---- rows in a file ---- */

/* A server's memory has room for so few rows. They are smaller than what an index has of each, so
 * that no number of bytes in the deck would give that. */
enum hps_status REAL(hps_ps_make_tiers)(struct hps_ps *ps, const struct hps_ps_opt *opt);
enum hps_status WRAP(hps_ps_make_tiers)(struct hps_ps *ps, const struct hps_ps_opt *opt);
enum hps_status WRAP(hps_ps_make_tiers)(struct hps_ps *ps, const struct hps_ps_opt *opt)
{
    const struct interleaved *x = &interleaved;
    enum hps_status st = REAL(hps_ps_make_tiers)(ps, opt);
    int step = INTERLEAVED_SLOTS * x->batch * (hps_train_is_async(&x->train) ? 1 : x->W);

    if (!ps->team->serves || ps->borrows || ps->ntable == 0 || x->slots < 0) return st;
    struct hps_ps_owner o = hps_ps_owner_of(ps, &ps->table[0]);
    long long rows = hps_cyclic_nlocal(x->net->table[0].rows, o.part, o.parts);
    if (rows <= step + x->slots) return st;
    ps->group[0].tier = hps_tier_find("file");
    ps->group[0].slots = hps_slots_new((int)rows, step + x->slots);
    return st;
}

/* A disk takes its time, which is drawn: the threads behind it are waited for. */
bool REAL(hps_row_store_arrived)(struct hps_row_store *store);
bool WRAP(hps_row_store_arrived)(struct hps_row_store *store);
bool WRAP(hps_row_store_arrived)(struct hps_row_store *store)
{
    static uint64_t ndraw;

    fibers_look();
    if (hps_rng_bits(interleaved.seed, ndraw++) % 3 == 0) return false;
    while (!REAL(hps_row_store_arrived)(store))
        sched_yield();
    return true;
}

/* ---- the run's surroundings ---- */

const char *WRAP(hps_stop_requested)(void);
const char *WRAP(hps_stop_requested)(void)
{
    const struct interleaved *x = &interleaved;
    bool now = x->stop_time >= 0 && fibers_time() >= x->stop_time;

    return now && x->stop_rank == fibers_me() && me()->starts == 0 ? "the draw" : NULL;
}

bool WRAP(hps_stop_overdue)(double patience_s);
bool WRAP(hps_stop_overdue)(double patience_s)
{
    (void)patience_s;
    return WRAP(hps_stop_requested)() != NULL;
}

void WRAP(hps_stop_done)(void);
void WRAP(hps_stop_done)(void)
{
}

enum hps_status WRAP(hps_rundir_status)(const struct hps_rundir *dir,
                                        const struct hps_rundir_state *state,
                                        enum hps_level level);
enum hps_status WRAP(hps_rundir_status)(const struct hps_rundir *dir,
                                        const struct hps_rundir_state *state,
                                        enum hps_level level)
{
    (void)dir;
    (void)state;
    (void)level;
    return HPS_OK;
}

struct hps_record interleaved_record;

enum hps_status WRAP(hps_record_add)(struct hps_record *record, long long n,
                                     const struct hps_clock_event *event, long long step,
                                     MPI_Comm world);
enum hps_status WRAP(hps_record_add)(struct hps_record *record, long long n,
                                     const struct hps_clock_event *event, long long step,
                                     MPI_Comm world)
{
    struct interleaved_rank *r = me();
    long long before = r->ncut > 0 ? r->at_cut[r->ncut - 1] : 0;

    (void)record;
    (void)step;
    (void)world;
    if (r->ncut == INTERLEAVED_CUTS) HPS_DIE("too many cuts");
    if (before + n != r->nevent) HPS_DIE("the server records other events");
    if (n > 0 && memcmp(event, r->event + before, (size_t)n * sizeof *event) != 0)
        HPS_DIE("the server records another order");
    r->at_cut[r->ncut++] = r->nevent;
    return HPS_OK;
}

/* A checkpoint is the cursor alone: rows and weights stay where they are. */
enum hps_status WRAP(hps_save_begin)(struct hps_save **save,
                                     const struct hps_save_request *request, MPI_Comm world);
enum hps_status WRAP(hps_save_begin)(struct hps_save **save,
                                     const struct hps_save_request *request, MPI_Comm world)
{
    struct interleaved_rank *r = me();
    const struct hps_cursor *c = request->cursor;

    (void)world;
    r->saved = *c;
    for (long long i = 0; i < c->ndone; i++)
        r->done[i] = c->done[i];
    for (int w = 0; w < interleaved.W && c->number; w++)
        r->number[w] = c->number[w];
    r->saved.done = r->done;
    if (c->number) r->saved.number = r->number;
    *save = NULL;
    return HPS_OK;
}

/* ---- what the account hears of ---- */

/* Where a worker may pull and its rows are in memory, the server sends them next, before it says so
 * by hps_clock_take. */
bool REAL(hps_clock_may)(const struct hps_clock *clock, struct hps_clock_event event);
bool WRAP(hps_clock_may)(const struct hps_clock *clock, struct hps_clock_event event);
bool WRAP(hps_clock_may)(const struct hps_clock *clock, struct hps_clock_event event)
{
    bool may = REAL(hps_clock_may)(clock, event);

    if (event.act == HPS_CLOCK_PULL) me()->granted = may ? event.worker + 1 : 0;
    return may;
}

bool REAL(hps_ps_bring)(struct hps_ps_requests *requests, bool may_begin);
bool WRAP(hps_ps_bring)(struct hps_ps_requests *requests, bool may_begin);
bool WRAP(hps_ps_bring)(struct hps_ps_requests *requests, bool may_begin)
{
    bool here = REAL(hps_ps_bring)(requests, may_begin);
    int worker = me()->granted - 1;

    if (here && worker >= 0) ledger_pull(&interleaved.ledger, me()->server, worker);
    me()->granted = 0;
    return here;
}

bool REAL(hps_clock_take)(struct hps_clock *clock, struct hps_clock_event event);
bool WRAP(hps_clock_take)(struct hps_clock *clock, struct hps_clock_event event);
bool WRAP(hps_clock_take)(struct hps_clock *clock, struct hps_clock_event event)
{
    struct interleaved_rank *r = me();

    if (event.act == HPS_CLOCK_APPLY)
        ledger_push(&interleaved.ledger, r->server, event.worker);
    if (r->nevent == INTERLEAVED_EVENTS) HPS_DIE("too many events");
    r->event[r->nevent++] = event;
    bool applies = REAL(hps_clock_take)(clock, event);
    if (applies) ledger_apply(&interleaved.ledger, r->server, event.act == HPS_CLOCK_RELEASE);
    return applies;
}

/* The number that server j of N gives to a row, by its own. */
static int global(int local, int j, int N)
{
    return (local / HPS_CYCLIC_BLOCK * N + j) * HPS_CYCLIC_BLOCK + local % HPS_CYCLIC_BLOCK;
}

static void check_versions(const struct hps_versions *v, size_t n, const int *row)
{
    struct interleaved_rank *r = me();
    const struct ledger_state *now = ledger_now(&interleaved.ledger, r->server);

    r->version = v->of;
    for (size_t i = 0; i < n; i++) {
        int g = global(row[i], r->server, interleaved.N);
        if (v->of[row[i]] != now->version[g])
            HPS_DIE("server %d: row %d has version %u, %u gradients were applied", r->server, g,
                    v->of[row[i]], now->version[g]);
    }
}

void REAL(hps_versions_pull)(const struct hps_versions *v, struct hps_pulled *p, size_t n,
                             const int *row);
void WRAP(hps_versions_pull)(const struct hps_versions *v, struct hps_pulled *p, size_t n,
                             const int *row);
void WRAP(hps_versions_pull)(const struct hps_versions *v, struct hps_pulled *p, size_t n,
                             const int *row)
{
    check_versions(v, n, row);
    REAL(hps_versions_pull)(v, p, n, row);
}

void REAL(hps_slice_forward)(struct hps_slice *slice, int slot, const struct hps_feed *feed,
                             bool training);
void WRAP(hps_slice_forward)(struct hps_slice *slice, int slot, const struct hps_feed *feed,
                             bool training);
void WRAP(hps_slice_forward)(struct hps_slice *slice, int slot, const struct hps_feed *feed,
                             bool training)
{
    interleaved_check_forward(slice, feed, training);
    REAL(hps_slice_forward)(slice, slot, feed, training);
}

struct hps_heartbeat REAL(hps_step_train)(struct hps_step *step, struct hps_feeder *feeder,
                                          struct hps_step_agree *agree, long long number,
                                          struct hps_heartbeat mine, double *loss);
struct hps_heartbeat WRAP(hps_step_train)(struct hps_step *step, struct hps_feeder *feeder,
                                          struct hps_step_agree *agree, long long number,
                                          struct hps_heartbeat mine, double *loss);
struct hps_heartbeat WRAP(hps_step_train)(struct hps_step *step, struct hps_feeder *feeder,
                                          struct hps_step_agree *agree, long long number,
                                          struct hps_heartbeat mine, double *loss)
{
    struct hps_heartbeat all = REAL(hps_step_train)(step, feeder, agree, number, mine, loss);

    me()->clock++;
    return all;
}
