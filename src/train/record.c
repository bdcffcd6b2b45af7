/* record.c - rank 0 writes the events of all servers. An event is a number: twice its worker, and
 * one more where gradients are applied. */
#include "train/record.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/h5.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/world.h"

enum { CHUNK = 1 << 12 };               /* events that are copied, sent and stored at a time */

struct hps_record {
    const char *path;                   /* borrowed                                          */
    char *part;
    struct hps_record_facts facts;
    const struct hps_team *team;
    long long ncut, *step;              /* rank 0: (ncut) cuts in the file ...               */
    long long *count;                   /* ... and (ncut, servers) events of each server     */
};

static char *name_of(int server)
{
    return hps_mem_print("/servers/%d", server);
}

/* An event as a number of the file. */
enum { RELEASE = -1 };

static int code_of(struct hps_clock_event e)
{
    return e.act == HPS_CLOCK_RELEASE ? RELEASE : 2 * e.worker + (e.act == HPS_CLOCK_APPLY);
}

static struct hps_clock_event event_of(int code)
{
    if (code == RELEASE) return (struct hps_clock_event){ 0, HPS_CLOCK_RELEASE };
    return (struct hps_clock_event){ code / 2, code % 2 ? HPS_CLOCK_APPLY : HPS_CLOCK_PULL };
}

/* ---- the head of a file ---- */

static enum hps_status put_facts(struct hps_h5 *h, const struct hps_record_facts *f)
{
    enum hps_status st = hps_h5_put_text(h, "/", "format", "heterps-record-1");

    if (!st) st = hps_h5_put_text(h, "/", "layout", f->layout);
    if (!st) st = hps_h5_put_text(h, "/", "course", f->course);
    if (!st) st = hps_h5_put_text(h, "/", "revision", f->revision);
    if (!st) st = hps_h5_put_long(h, "/", "workers", f->workers);
    if (!st) st = hps_h5_put_long(h, "/", "servers", f->servers);
    if (!st) st = hps_h5_put_long(h, "/", "first", f->first);
    return st;
}

/* Is a fact of the file that of this run? Said, unless quiet. */
static enum hps_status same_text(struct hps_h5 *h, const char *what, const char *mine, bool quiet)
{
    char *was = NULL;
    enum hps_status st = hps_h5_get_text(h, "/", what, &was, quiet);

    if (!st && strcmp(was, mine) != 0) {
        if (!quiet && strcmp(what, "course") != 0)
            HPS_SAY(HPS_ERROR, "%s: the record is of another %s: %s then, %s now", h->path, what,
                    was, mine);
        if (!quiet && strcmp(what, "course") == 0)
            HPS_SAY(HPS_ERROR, "%s: the record is of another deck", h->path);
        st = HPS_DECK;
    }
    hps_mem_free(was);
    return st;
}

static enum hps_status same_long(struct hps_h5 *h, const char *what, long long mine, bool quiet)
{
    long long was;
    enum hps_status st = hps_h5_get_long(h, "/", what, &was, quiet);

    if (st || was == mine) return st;
    if (!quiet)
        HPS_SAY(HPS_ERROR, "%s: the record is of another run: %s %lld then, %lld now", h->path,
                what, was, mine);
    return HPS_DECK;
}

static enum hps_status same_facts(struct hps_h5 *h, const struct hps_record_facts *f, bool quiet)
{
    enum hps_status st = same_text(h, "format", "heterps-record-1", quiet);

    if (!st) st = same_text(h, "revision", f->revision, quiet);
    if (!st) st = same_text(h, "course", f->course, quiet);
    if (!st) st = same_long(h, "workers", f->workers, quiet);
    if (!st) st = same_long(h, "servers", f->servers, quiet);
    if (!st) st = same_text(h, "layout", f->layout, quiet);
    return st;
}

/* The cuts of a file: *step (*n) and *count (*n, servers), to free. */
static enum hps_status get_cuts(struct hps_h5 *h, int servers, long long *n, long long **step,
                                long long **count)
{
    int width;
    enum hps_status st = hps_h5_shape(h, "/cuts/step", n, &width);

    if (st) return st;
    *step = hps_mem_new((size_t)*n, sizeof **step);
    *count = hps_mem_new((size_t)*n * (size_t)servers, sizeof **count);
    st = hps_h5_get(h, "/cuts/step", H5T_NATIVE_LLONG, 0, *n, 0, *step);
    if (!st) st = hps_h5_get(h, "/cuts/events", H5T_NATIVE_LLONG, 0, *n, servers, *count);
    return st;
}

/* ---- recording ---- */

/* Rank 0: find the cut from which this start goes on; without one the record begins here. */
static void look_back(struct hps_record *r)
{
    struct hps_h5 h;
    long long n = 0, first = 0;

    if (r->facts.first == 0 || access(r->path, F_OK) != 0 || hps_h5_open(&h, r->path)) return;
    enum hps_status st = same_facts(&h, &r->facts, true);
    if (!st) st = hps_h5_get_long(&h, "/", "first", &first, true);
    if (!st) st = get_cuts(&h, r->facts.servers, &n, &r->step, &r->count);
    hps_h5_read(&h, st);
    while (!st && n > 0 && r->step[n - 1] != r->facts.first)
        n--;
    if (st || n == 0)
        HPS_SAY(HPS_INFO, "%s begins anew, at step %lld", r->path, r->facts.first);
    else
        r->facts.first = first;
    r->ncut = st ? 0 : n;
}

enum hps_status hps_record_open(struct hps_record **out, const char *path,
                                const struct hps_record_facts *facts, const struct hps_team *team,
                                MPI_Comm world)
{
    struct hps_record *r = hps_mem_new(1, sizeof *r);

    *r = (struct hps_record){ .path = path, .part = hps_mem_print("%s.part", path),
                              .facts = *facts, .team = team };
    if (hps_rank() == 0) look_back(r);
    *out = r;
    return hps_agree(world, hps_rank() != 0 || hps_file_fits(path) ? HPS_OK : HPS_OUTPUT);
}

void hps_record_close(struct hps_record *r)
{
    if (!r) return;
    hps_mem_free(r->part);
    hps_mem_free(r->step);
    hps_mem_free(r->count);
    hps_mem_free(r);
}

/* Copy the first n events of a server from the old file to the new one. */
static enum hps_status copy_events(struct hps_h5 *to, struct hps_h5 *from, const char *name,
                                   long long n)
{
    int *chunk = hps_mem_new(CHUNK, sizeof *chunk);
    enum hps_status st = HPS_OK;

    for (long long at = 0; !st && at < n; at += CHUNK) {
        long long k = n - at < CHUNK ? n - at : CHUNK;
        st = hps_h5_get(from, name, H5T_NATIVE_INT, at, k, 0, chunk);
        if (!st) st = hps_h5_put(to, name, H5T_NATIVE_INT, at, k, 0, chunk);
    }
    hps_mem_free(chunk);
    return st;
}

/* Events behind the first `at`, as server j sends them. */
static enum hps_status take_events(struct hps_record *r, struct hps_h5 *to, const char *name,
                                   int j, long long at, long long n, const int *mine,
                                   MPI_Comm world)
{
    int *chunk = hps_mem_new(CHUNK, sizeof *chunk), from = r->team->server[j];
    enum hps_status st = HPS_OK;

    for (long long i = 0; i < n; i += CHUNK) {
        int k = (int)(n - i < CHUNK ? n - i : CHUNK);
        if (from != 0)
            HPS_MPI(MPI_Recv(chunk, k, MPI_INT, from, HPS_TAG_RECORD, world, MPI_STATUS_IGNORE));
        else
            memcpy(chunk, mine + i, (size_t)k * sizeof *chunk);
        if (!st && to->path) st = hps_h5_put(to, name, H5T_NATIVE_INT, at + i, k, 0, chunk);
    }
    hps_mem_free(chunk);
    return st;
}

static void send_events(long long n, const int *mine, MPI_Comm world)
{
    for (long long i = 0; i < n; i += CHUNK)
        HPS_MPI(MPI_Send(mine + i, (int)(n - i < CHUNK ? n - i : CHUNK), MPI_INT, 0,
                         HPS_TAG_RECORD, world));
}

/* One more cut, at `step`, with so many new events of each server. */
static void note_cut(struct hps_record *r, long long step, const long long *added)
{
    size_t N = (size_t)r->facts.servers, n = (size_t)r->ncut;
    long long *steps = hps_mem_new(n + 1, sizeof *steps);
    long long *count = hps_mem_new((n + 1) * N, sizeof *count);

    if (n > 0) memcpy(steps, r->step, n * sizeof *steps);
    if (n > 0) memcpy(count, r->count, n * N * sizeof *count);
    steps[n] = step;
    for (size_t j = 0; j < N; j++)
        count[n * N + j] = (n > 0 ? count[(n - 1) * N + j] : 0) + added[j];
    hps_mem_free(r->step);
    hps_mem_free(r->count);
    r->step = steps;
    r->count = count;
    r->ncut++;
}

static enum hps_status put_cuts(const struct hps_record *r, struct hps_h5 *h)
{
    int N = r->facts.servers;
    enum hps_status st = hps_h5_make(h, "/cuts/step", H5T_NATIVE_LLONG, r->ncut, 0, 0);

    if (!st) st = hps_h5_put(h, "/cuts/step", H5T_NATIVE_LLONG, 0, r->ncut, 0, r->step);
    if (!st) st = hps_h5_make(h, "/cuts/events", H5T_NATIVE_LLONG, r->ncut, N, 0);
    if (!st) st = hps_h5_put(h, "/cuts/events", H5T_NATIVE_LLONG, 0, r->ncut, N, r->count);
    return st;
}

/* Rank 0: the file with one cut more. What servers send is received after a failure too. */
static enum hps_status write_file(struct hps_record *r, const long long *added, const int *mine,
                                  MPI_Comm world)
{
    const long long *before = r->count + (r->ncut - 2) * r->facts.servers;
    struct hps_h5 old = { 0 }, new = { 0 }, none = { 0 };
    enum hps_status st = r->ncut > 1 ? hps_h5_open(&old, r->path) : HPS_OK;
    bool reads = r->ncut > 1 && !st, writes;

    if (!st) st = hps_h5_create(&new, r->part, MPI_COMM_NULL);
    writes = !st;
    if (!st) st = put_facts(&new, &r->facts);
    for (int j = 0; j < r->facts.servers; j++) {
        char *name = name_of(j);
        long long n = r->ncut > 1 ? before[j] : 0;
        if (!st) st = hps_h5_make(&new, name, H5T_NATIVE_INT, 0, 0, CHUNK);
        if (!st && n > 0) st = copy_events(&new, &old, name, n);
        enum hps_status took = take_events(r, st ? &none : &new, name, j, n, added[j], mine, world);
        if (!st) st = took;
        hps_mem_free(name);
    }
    if (!st) st = put_cuts(r, &new);
    if (writes && st) hps_h5_drop(&new);
    if (writes && !st) st = hps_h5_close(&new);
    if (reads) hps_h5_read(&old, HPS_OK);
    return st;
}

enum hps_status hps_record_add(struct hps_record *r, long long n,
                               const struct hps_clock_event *event, long long step, MPI_Comm world)
{
    int N = r->facts.servers, *mine = hps_mem_new((size_t)n, sizeof *mine), me = hps_rank();
    long long *added = hps_mem_new((size_t)N, sizeof *added);
    enum hps_status st = HPS_OK;

    for (long long i = 0; i < n; i++)
        mine[i] = code_of(event[i]);
    for (int j = 0; j < N; j++)
        if (r->team->server[j] == me) added[j] = n;
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, added, N, MPI_LONG_LONG, MPI_SUM, world));
    if (me == 0) note_cut(r, step, added);
    if (me == 0) st = write_file(r, added, mine, world);
    if (me != 0) send_events(n, mine, world);
    if (me == 0 && !st && (!hps_file_sync(r->part) || rename(r->part, r->path) != 0)) {
        HPS_SAY(HPS_ERROR, "%s cannot be written", r->path);
        st = HPS_OUTPUT;
    }
    hps_mem_free(added);
    hps_mem_free(mine);
    return hps_agree(world, st);
}

/* ---- replaying ---- */

/* Is the record whole, up to its last cut? Rank 0 says what is not. */
static enum hps_status check(struct hps_h5 *h, const struct hps_record_facts *f)
{
    long long n = 0, have, *step = NULL, *count = NULL;
    int width;
    enum hps_status st = same_facts(h, f, false);

    if (!st) st = same_long(h, "first", f->first, false);
    if (!st) st = get_cuts(h, f->servers, &n, &step, &count);
    for (int j = 0; !st && j < f->servers; j++) {
        char *name = name_of(j);
        st = hps_h5_shape(h, name, &have, &width);
        if (!st && (n < 1 || count[(n - 1) * f->servers + j] > have)) {
            HPS_SAY(HPS_ERROR, "%s: the record was cut off: events of server %d are missing",
                    h->path, j);
            st = HPS_DECK;
        }
        hps_mem_free(name);
    }
    hps_mem_free(step);
    hps_mem_free(count);
    return st;
}

/* Server j's events up to the last cut. */
static enum hps_status get_events(struct hps_h5 *h, const struct hps_record_facts *f, int j,
                                  struct hps_clock_order *to)
{
    long long ncut = 0, *step = NULL, *count = NULL;
    char *name = name_of(j);
    enum hps_status st = get_cuts(h, f->servers, &ncut, &step, &count);

    to->ncut = st ? 0 : ncut;
    to->cut = hps_mem_new((size_t)to->ncut, sizeof *to->cut);
    for (long long k = 0, before = 0; !st && k < to->ncut; before = to->cut[k++]) {
        to->cut[k] = count[k * f->servers + j];
        if (to->cut[k] >= before) continue;
        HPS_SAY_ALL(HPS_ERROR, "%s: cuts are out of order", h->path);
        st = HPS_DECK;
    }
    to->n = !st && to->ncut > 0 ? to->cut[to->ncut - 1] : 0;
    int *code = hps_mem_new((size_t)to->n, sizeof *code);
    to->event = hps_mem_new((size_t)to->n, sizeof *to->event);
    if (!st) st = hps_h5_get(h, name, H5T_NATIVE_INT, 0, to->n, 0, code);
    for (long long i = 0; !st && i < to->n; i++) {
        to->event[i] = event_of(code[i]);
        if (code[i] >= RELEASE && code[i] / 2 < f->workers) continue;
        HPS_SAY_ALL(HPS_ERROR, "%s: an event is of no worker", h->path);
        st = HPS_DECK;
    }
    hps_mem_free(code);
    hps_mem_free(step);
    hps_mem_free(count);
    hps_mem_free(name);
    return st;
}

enum hps_status hps_record_load(struct hps_clock_order *order, const char *path,
                                const struct hps_record_facts *f, const struct hps_team *team,
                                MPI_Comm world)
{
    struct hps_h5 h;
    int me = hps_rank();
    enum hps_status st = me == 0 ? hps_h5_open(&h, path) : HPS_OK;

    *order = (struct hps_clock_order){ 0 };
    if (me == 0 && !st) st = hps_h5_read(&h, check(&h, f));
    st = hps_agree(world, st);
    for (int j = 0; !st && j < f->servers; j++) {
        if (team->server[j] != me) continue;
        st = hps_h5_open(&h, path);
        if (!st) st = hps_h5_read(&h, get_events(&h, f, j, order));
    }
    return hps_agree(world, st);
}

void hps_record_order_free(struct hps_clock_order *order)
{
    hps_mem_free(order->event);
    hps_mem_free(order->cut);
}
