/* shim_stream.c - streams and events of the stand-in. What is queued is done as late as a card may
 * do it: when somebody waits or asks for it, in an order among the streams that HPS_SHIM_SEED
 * decides; where that is more than 0, now and then earlier too. So who forgets to wait reads what
 * was there before. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "nvtx3/nvToolsExt.h"
#include "shim.h"

enum { STREAMS = 64 };

struct hps_shim_event {
    long long recorded, reached;        /* records that were queued, that were come to */
    int users;                          /* operations that name it, and its owner      */
    double ms;
};

cudaError_t hps_shim_heard = cudaSuccess;
struct hps_shim_count hps_shim_count;

static struct hps_shim_stream *stream[STREAMS];
static uint64_t dice;

static unsigned throw(unsigned faces)
{
    const char *seed = getenv("HPS_SHIM_SEED");

    if (dice == 0) dice = 0x9e3779b97f4a7c15u + (seed ? strtoull(seed, NULL, 10) * 2 : 0);
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (unsigned)(dice >> 33) % faces;
}

static void let_go(struct hps_shim_event *e)
{
    if (e && --e->users == 0) free(e);
}

static bool may_run(const struct hps_shim_stream *s)
{
    const struct hps_shim_op *op = s ? s->first : NULL;
    return op && (!op->wait || op->wait->reached >= op->time) &&
           (!op->ready || op->ready(op->with));
}

/* The stream's first operation. Device memory is open. */
static void run_first(struct hps_shim_stream *s)
{
    struct hps_shim_op *op = s->first;

    s->first = op->next;
    if (!s->first) s->last = NULL;
    if (op->run) op->run(op->with);
    if (op->done) op->done(op->with);
    if (op->record) {
        op->record->ms = 1e3 * hps_steady_s();
        op->record->reached = op->time;
    }
    let_go(op->record);
    let_go(op->wait);
    free(op);
}

/* One operation of any stream; false: none may run. */
static bool run_any(void)
{
    struct hps_shim_stream *may[STREAMS];
    unsigned n = 0;

    for (int i = 0; i < STREAMS; i++)
        if (may_run(stream[i])) may[n++] = stream[i];
    if (n > 0) run_first(may[throw(n)]);
    return n > 0;
}

/* Now and then the card does some of what it has to do. */
static void pass_time(bool asked)
{
    static int eager = -1;
    const char *seed = getenv("HPS_SHIM_SEED");

    if (eager < 0) eager = seed && atoll(seed) > 0;
    if ((!asked && !eager) || throw(4) != 0) return;
    hps_shim_open(true);
    for (unsigned n = throw(32); n > 0 && run_any(); n--)
        ;
    hps_shim_open(false);
}

/* Does a stream wait for what another process decides? */
static bool others_decide(void)
{
    for (int i = 0; i < STREAMS; i++)
        if (stream[i] && stream[i]->first && stream[i]->first->ready) return true;
    return false;
}

static void run_until(const struct hps_shim_stream *s, const struct hps_shim_event *e,
                      long long time)
{
    bool late = s ? s->first != NULL : e->reached < time;

    if (s && s->captured) hps_shim_die("a stream is waited for while it is captured");
    if (!late) return;
    hps_shim_count.waits++;
    hps_shim_open(true);
    while (s ? s->first != NULL : e->reached < time)
        if (!run_any()) {
            if (!others_decide()) hps_shim_die("streams wait for each other, or for nothing");
            nanosleep(&(struct timespec){ 0, 50000 }, NULL);
        }
    hps_shim_open(false);
}

/* ---- the thread ---- */

static pthread_mutex_t one = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Atomic long calls;
static _Thread_local bool serving;
static pthread_t server;
static atomic_int served;

int hps_shim_lock(void)
{
    pthread_mutex_lock(&one);
    if (!serving) calls++;
    return 0;
}

void hps_shim_unlock(int *alone)
{
    (void)alone;
    pthread_mutex_unlock(&one);
}

static void *serve(void *unused)
{
    const struct timespec nap = { 0, 5000000 };

    serving = true;
    while (served > 0) {
        long before = calls;
        nanosleep(&nap, NULL);
        if (calls != before || pthread_mutex_trylock(&one) != 0) continue;
        hps_shim_open(true);
        for (int n = 0; n < 1000 && run_any(); n++)
            ;
        hps_shim_open(false);
        pthread_mutex_unlock(&one);
    }
    return unused;
}

void hps_shim_serve(bool on)
{
    if (on && served++ == 0 && pthread_create(&server, NULL, serve, NULL) != 0)
        hps_shim_die("no thread");
    if (!on && --served == 0) pthread_join(server, NULL);
}

void hps_shim_drain(void)
{
    HPS_SHIM_ALONE;
    for (int i = 0; i < STREAMS; i++)
        if (stream[i]) run_until(stream[i], NULL, 0);
}

static struct hps_shim_op *append(struct hps_shim_stream *s)
{
    struct hps_shim_op *op = calloc(1, sizeof *op);

    if (!op) hps_shim_die("no memory for an operation");
    if (s->captured) {
        struct hps_shim_graph *g = s->captured;
        *(g->last ? &g->last->next : &g->first) = op;
        g->last = op;
        g->n++;
        return op;
    }
    if (s->last)
        s->last->next = op;
    else
        s->first = op;
    s->last = op;
    return op;
}

void hps_shim_queue(cudaStream_t s, void (*run)(void *with), void *with, void (*done)(void *with))
{
    HPS_SHIM_ALONE;
    if (!s) {                   /* the stream of who names none: after all, and waited for */
        hps_shim_drain();
        hps_shim_open(true);
        run(with);
        hps_shim_open(false);
        if (done) done(with);
        return;
    }
    hps_shim_queue_when(s, NULL, run, with, done);
}

void hps_shim_queue_when(cudaStream_t s, bool (*ready)(void *with), void (*run)(void *with),
                         void *with, void (*done)(void *with))
{
    HPS_SHIM_ALONE;
    struct hps_shim_op *op = append(s);

    op->ready = ready;
    op->run = run;
    op->with = with;
    op->done = done;
    pass_time(false);
}

/* ---- copies ---- */

struct copy {
    char *to;
    const char *from;
    size_t bytes;
    char staged[];
};

static void copy(void *with)
{
    const struct copy *c = with;
    memcpy(c->to, c->from, c->bytes);
}

static void set(void *with)
{
    const struct copy *c = with;
    memset(c->to, *c->staged, c->bytes);
}

static struct copy *copy_of(void *to, const void *from, size_t bytes, size_t staged)
{
    struct copy *c = malloc(sizeof *c + staged);

    if (!c) hps_shim_die("no memory for a copy");
    *c = (struct copy){ to, from, bytes };
    return c;
}

/* Memory that is not pinned is staged: read at once on its way in, waited for on its way out. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t s)
{
    HPS_SHIM_ALONE;
    bool in = kind == cudaMemcpyHostToDevice;
    bool pageable = hps_shim_kind(in ? from : to) != HPS_SHIM_PINNED;

    if (s && s->captured && pageable) hps_shim_die("a graph would copy what is no longer there");
    struct copy *c = copy_of(to, from, bytes, in && pageable ? bytes : 0);

    hps_shim_expect(to, in ? HPS_SHIM_DEVICE : HPS_SHIM_HOST);
    hps_shim_expect(from, in ? HPS_SHIM_HOST : HPS_SHIM_DEVICE);
    hps_shim_count.pageable += pageable;
    if (in && pageable) c->from = memcpy(c->staged, from, bytes);
    hps_shim_queue(s, copy, c, free);
    if (in || !pageable || !s) return cudaSuccess;
    run_until(s, NULL, 0);
    return hps_shim_heard;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t s)
{
    HPS_SHIM_ALONE;
    struct copy *c = copy_of(to, NULL, bytes, 1);

    hps_shim_expect(to, HPS_SHIM_DEVICE);
    *c->staged = (char)value;
    hps_shim_queue(s, set, c, free);
    return cudaSuccess;
}

/* ---- streams ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    HPS_SHIM_ALONE;
    int i = 0;

    (void)flags;
    while (i < STREAMS && stream[i])
        i++;
    if (i == STREAMS) hps_shim_die("too many streams");
    *s = stream[i] = calloc(1, sizeof **s);
    return *s ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    HPS_SHIM_ALONE;
    run_until(s, NULL, 0);
    for (int i = 0; i < STREAMS; i++)
        if (stream[i] == s) stream[i] = NULL;
    free(s);
    return cudaSuccess;
}

/* What is not ready is the last error of who asks, until he asks for that too. */
static _Thread_local cudaError_t last_error = cudaSuccess;

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = last_error;
    last_error = cudaSuccess;
    return e;
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
    HPS_SHIM_ALONE;
    pass_time(true);
    return last_error = s->first ? cudaErrorNotReady : hps_shim_heard;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    HPS_SHIM_ALONE;
    if (s)
        run_until(s, NULL, 0);
    else
        hps_shim_drain();
    return hps_shim_heard;
}

cudaError_t cudaDeviceSynchronize(void)
{
    HPS_SHIM_ALONE;
    hps_shim_drain();
    return hps_shim_heard;
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    if (!*event) return cudaErrorMemoryAllocation;
    (*event)->users = 1;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    HPS_SHIM_ALONE;
    let_go(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s)
{
    HPS_SHIM_ALONE;
    if (s->captured) hps_shim_die("an event is recorded in a stream that is captured");
    struct hps_shim_op *op = append(s);
    op->record = event;
    op->time = ++event->recorded;
    event->users++;
    pass_time(false);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned flags)
{
    HPS_SHIM_ALONE;
    (void)flags;
    if (s->captured) hps_shim_die("a stream that is captured waits for an event");
    struct hps_shim_op *op = append(s);
    op->wait = event;
    op->time = event->recorded;
    event->users++;
    pass_time(false);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    HPS_SHIM_ALONE;
    pass_time(true);
    return last_error = event->reached >= event->recorded ? hps_shim_heard : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    HPS_SHIM_ALONE;
    run_until(NULL, event, event->recorded);
    return hps_shim_heard;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    HPS_SHIM_ALONE;
    if (from->recorded == 0 || to->recorded == 0 || from->reached < from->recorded ||
        to->reached < to->recorded)
        return cudaErrorNotReady;
    *ms = (float)(to->ms - from->ms);
    return cudaSuccess;
}

/* ---- ranges ---- */

static int deep;

int nvtxRangePushA(const char *name)
{
    if (!name || !*name) hps_shim_die("a range without a name");
    hps_shim_count.ranges++;
    return deep++;
}

int nvtxRangePop(void)
{
    if (deep == 0) hps_shim_die("a range is left that was not entered");
    return --deep;
}

/* ---- at the end ---- */

static void __attribute__((destructor)) tell(void)
{
    const struct hps_shim_count *n = &hps_shim_count;
    const char *name = getenv("HPS_SHIM_COUNT");
    FILE *f = name && *name ? fopen(name, "a") : NULL;

    if (!f) return;
    fprintf(f, "taken %ld pinned %ld pageable %ld waits %ld launches %ld ranges %ld open %d "
            "graphs %ld\n",
            n->taken, n->pinned, n->pageable, n->waits, n->launches, n->ranges, deep,
            n->graphs);
    fclose(f);
}
