/* route.c - a step's rows: counts are exchanged, then row numbers.
 *
 * Counts and row numbers travel on communicators of their own, each in the order of the steps, so
 * that no member's progress decides the order of collectives. */
#include "comm/route.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/radix.h"
#include "base/runs.h"
#include "model/places.h"
#include "model/table.h"

enum { KEPT = 4 };              /* steps: two valid after a take, two begun and not taken */

enum state { READY, COUNTS, ROWS };

struct turn {
    struct hps_route_step step;
    enum state state;
    MPI_Request request;
    int *ask, *give;            /* (parts, M, 2) as they travel: rows, the first's place */
    int *nask, *nask_at;        /* (parts) rows to each owner, and where they begin   */
    int *ngive, *ngive_at;
    int *want;                  /* (nplace) rows asked, by owner, then micro-batch    */
    size_t want_cap;
    struct hps_places_room room;
    struct hps_ints row, merged, merge_start, merge_from;
};

struct hps_route {
    MPI_Comm count_comm, row_comm;      /* owned; MPI_COMM_NULL when alone         */
    struct hps_dev *dev;
    const struct hps_near *near;        /* borrowed, or NULL                       */
    int parts, me, M;
    struct hps_places *places;
    uint64_t *given, *spare;            /* scratch: rows asked of me                */
    size_t *run;                        /* (M * parts + 1) scratch: runs among them */
    size_t given_cap, spare_cap;
    int *cursor;                        /* (parts) scratch                          */
    struct turn turn[KEPT];
    long long begun, taken;
    double bytes;
};

static void turn_new(struct hps_route *r, struct turn *t, int nlayer)
{
    size_t pairs = (size_t)r->M * (size_t)r->parts, parts = (size_t)r->parts;

    t->request = MPI_REQUEST_NULL;
    t->step.M = r->M;
    t->step.parts = r->parts;
    t->step.first = hps_mem_new((size_t)r->M + 1, sizeof(int));
    t->step.ask = hps_mem_new(pairs, sizeof(int));
    t->step.give = hps_mem_new(2 * pairs, sizeof(int));
    t->step.give_place = t->step.give + pairs;
    t->step.bag = hps_mem_new((size_t)r->M * (size_t)nlayer, sizeof *t->step.bag);
    t->ask = hps_mem_new(2 * pairs, sizeof(int));
    t->give = hps_mem_new(2 * pairs, sizeof(int));
    t->nask = hps_mem_new(4 * parts, sizeof(int));
    t->nask_at = t->nask + parts;
    t->ngive = t->nask_at + parts;
    t->ngive_at = t->ngive + parts;
}

static void turn_free(struct hps_route *r, struct turn *t)
{
    hps_mem_free(t->step.first);
    hps_mem_free(t->step.ask);
    hps_mem_free(t->step.give);
    hps_mem_free(t->step.bag);
    hps_mem_free(t->ask);
    hps_mem_free(t->give);
    hps_mem_free(t->nask);
    hps_mem_free(t->want);
    hps_places_room_free(&t->room, r->dev);
    hps_ints_free(&t->row, r->dev);
    hps_ints_free(&t->merged, r->dev);
    hps_ints_free(&t->merge_start, r->dev);
    hps_ints_free(&t->merge_from, r->dev);
}

enum hps_status hps_route_new(struct hps_route **route, const struct hps_route_use *use,
                              long long rows, int M, struct hps_dev *dev,
                              const struct hps_near *near, MPI_Comm comm)
{
    int parts = 1, me = 0;

    if (comm != MPI_COMM_NULL) {
        HPS_MPI(MPI_Comm_size(comm, &parts));
        HPS_MPI(MPI_Comm_rank(comm, &me));
    }
    assert(hps_table_nlocal(rows, 0, parts) <= INT_MAX);
    struct hps_route *r = hps_mem_new(1, sizeof *r);
    *route = r;
    r->count_comm = r->row_comm = MPI_COMM_NULL;
    if (parts > 1) {
        HPS_MPI(MPI_Comm_dup(comm, &r->count_comm));
        HPS_MPI(MPI_Comm_dup(comm, &r->row_comm));
    }
    r->dev = dev;
    r->near = near;
    r->parts = parts;
    r->me = me;
    r->M = M;
    r->places = hps_places_new(use->nlayer, use->layer, rows, M, parts, use->index,
                               dev);
    r->run = hps_mem_new((size_t)M * (size_t)parts + 1, sizeof *r->run);
    r->cursor = hps_mem_new((size_t)parts, sizeof *r->cursor);
    for (int i = 0; i < KEPT; i++)
        turn_new(r, &r->turn[i], use->nlayer);
    return HPS_OK;
}

void hps_route_free(struct hps_route *r)
{
    if (!r)
        return;
    while (r->taken < r->begun)                 /* a run that stops has begun one more step */
        hps_route_take(r);
    for (int i = 0; i < KEPT; i++)
        turn_free(r, &r->turn[i]);
    hps_places_free(r->places);
    hps_mem_free(r->given);
    hps_mem_free(r->spare);
    hps_mem_free(r->run);
    hps_mem_free(r->cursor);
    if (r->count_comm != MPI_COMM_NULL)
        HPS_MPI(MPI_Comm_free(&r->count_comm));
    if (r->row_comm != MPI_COMM_NULL)
        HPS_MPI(MPI_Comm_free(&r->row_comm));
    hps_mem_free(r);
}

/* Row numbers by place become row numbers by owner, then micro-batch; counts turn likewise. */
static void pack(struct hps_route *r, struct turn *t, int *want)
{
    const int *ask = t->step.ask, *from = t->room.row.host;
    int at = 0, place = 0;

    memset(t->nask, 0, (size_t)r->parts * sizeof *t->nask);
    for (int m = 0; m < r->M; m++)
        for (int q = 0; q < r->parts; q++) {
            int n = ask[m * r->parts + q], *tell = t->ask + 2 * (q * r->M + m);
            tell[0] = n;
            tell[1] = place;
            place += n;
            t->nask[q] += n;
        }
    for (int q = 0; q < r->parts; q++) {
        r->cursor[q] = t->nask_at[q] = at;
        at += t->nask[q];
    }
    for (int m = 0; m < r->M; m++)
        for (int q = 0; q < r->parts; q++) {
            int n = ask[m * r->parts + q];
            if (n > 0)
                memcpy(want + r->cursor[q], from, (size_t)n * sizeof *want);
            r->cursor[q] += n;
            from += n;
        }
}

/* n rows, each behind the one before, whose gradients will lie at `at` and behind it. */
static void tell_rows(const int *row, size_t n, uint64_t at, int tail_bits, uint64_t *word)
{
    for (size_t i = 0; i < n; i++) {
        assert(i == 0 || row[i - 1] < row[i]);
        word[i] = (uint64_t)(uint32_t)row[i] << tail_bits | (at + i);
    }
}

/* Where the gradients of the rows that member q asked of me for micro-batch m will lie; *other is
 * the first number that is free behind those of mine. */
static uint64_t gradients_at(const struct hps_route *r, const struct turn *t, int q, int m,
                             uint64_t *other)
{
    int i = m * r->parts + q;
    uint64_t at = *other;

    if (q == r->me) return (uint64_t)t->step.give_place[i];
    if (hps_near_is(r->near, q))
        return (uint64_t)hps_near_first(r->near, q) + (uint64_t)t->step.give_place[i];
    *other += (uint64_t)t->step.give[i];
    return at;
}

/* All rows asked of me with where their gradients will lie: a sorted run for each member and
 * micro-batch. */
static void tell_given(struct hps_route *r, const struct turn *t, int tail_bits)
{
    uint64_t other = (uint64_t)t->step.nplace;
    size_t at = 0, *run = r->run;

    for (int q = 0; q < r->parts; q++)
        for (int m = 0; m < r->M; m++) {
            size_t n = (size_t)t->step.give[m * r->parts + q];
            tell_rows(t->row.host + at, n, gradients_at(r, t, q, m, &other), tail_bits,
                      r->given + at);
            *run++ = at;
            at += n;
        }
    *run = at;
}

/* The sorted rows, and the gradients of each, as lists. */
static void list_rows(struct turn *t, const uint64_t *word, size_t n, int tail_bits)
{
    const uint64_t tail = ((uint64_t)1 << tail_bits) - 1;
    int *restrict start = t->merge_start.host, *restrict from = t->merge_from.host;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        from[i] = (int)(word[i] & tail);
    for (size_t i = 0; i < n; i++) {            /* one that is no new row's is written over */
        start[k] = (int)i;
        k += i == 0 || (word[i] ^ word[i - 1]) > tail;
    }
    start[k] = (int)n;
    for (size_t i = 0; i < k; i++)
        t->merged.host[i] = (int)(word[start[i]] >> tail_bits);
    t->step.nmerge = (int)k;
}

/* Which of the rows that members asked of me are the same row. */
static void merge(struct hps_route *r, struct turn *t)
{
    size_t n = t->step.ngive;
    int tail_bits = hps_radix_bits(r->near ? HPS_NEAR_MOST : (uint64_t)t->step.nplace + n);

    hps_ints_grow(&t->merged, n + 1);    /* never NULL */
    hps_ints_grow(&t->merge_start, n + 1);
    hps_ints_grow(&t->merge_from, n + 1);
    hps_mem_grow(&r->given, &r->given_cap, n + 1, sizeof *r->given);
    hps_mem_grow(&r->spare, &r->spare_cap, n + 1, sizeof *r->spare);
    tell_given(r, t, tail_bits);
    list_rows(t, hps_runs_merge(r->given, r->spare, r->parts * r->M, r->run, tail_bits), n,
              tail_bits);
    t->step.row = hps_ints_show(&t->row, n, r->dev);
    t->step.merged = hps_ints_show(&t->merged, (size_t)t->step.nmerge, r->dev);
    t->step.merge_start = hps_ints_show(&t->merge_start, (size_t)t->step.nmerge + 1, r->dev);
    t->step.merge_from = hps_ints_show(&t->merge_from, n, r->dev);
    t->step.row_host = t->row.host;
    t->step.merged_host = t->merged.host;
}

/* Alone, what is asked is what is given, and all of it is distinct. */
static void keep(struct hps_route *r, struct turn *t)
{
    size_t n = (size_t)t->step.nplace;

    memcpy(t->step.give, t->step.ask, (size_t)r->M * sizeof(int));
    memcpy(t->step.give_place, t->step.first, (size_t)r->M * sizeof(int));
    t->step.ngive = n;
    t->step.nmerge = t->step.nplace;
    t->step.row = t->step.merged = hps_ints_show(&t->room.row, n, r->dev);
    t->step.row_host = t->step.merged_host = t->room.row.host;
    t->state = READY;
}

static void send_counts(struct hps_route *r, struct turn *t)
{
    hps_mem_grow(&t->want, &t->want_cap, (size_t)t->step.nplace, sizeof *t->want);
    pack(r, t, t->want);
    HPS_MPI(MPI_Ialltoall(t->ask, 2 * r->M, MPI_INT, t->give, 2 * r->M, MPI_INT, r->count_comm,
                          &t->request));
    r->bytes += (double)(r->parts - 1) * 2 * r->M * (double)sizeof(int)
                + (double)(t->step.nplace - t->nask[r->me]) * (double)sizeof(int);
    t->state = COUNTS;
}

/* All counts have come: now the rows. */
static void send_rows(struct hps_route *r, struct turn *t)
{
    size_t n = 0;

    for (int q = 0; q < r->parts; q++) {
        t->ngive[q] = 0;
        t->ngive_at[q] = (int)n;
        for (int m = 0; m < r->M; m++) {
            const int *told = t->give + 2 * (q * r->M + m);
            t->step.give[m * r->parts + q] = told[0];
            t->step.give_place[m * r->parts + q] = told[1];
            n += (size_t)told[0];
        }
        if (n + (size_t)t->step.nplace > INT_MAX)
            HPS_DIE("%d ranks ask this one for more than %d rows in one step", r->parts, INT_MAX);
        t->ngive[q] = (int)n - t->ngive_at[q];
    }
    t->step.ngive = n;
    hps_ints_grow(&t->row, n + 1);
    HPS_MPI(MPI_Ialltoallv(t->want, t->nask, t->nask_at, MPI_INT, t->row.host, t->ngive,
                           t->ngive_at, MPI_INT, r->row_comm, &t->request));
    t->state = ROWS;
}

static bool arrived(MPI_Request *request, bool patient)
{
    int done = 1;

    if (patient)
        hps_wait_all(1, request);
    else
        HPS_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    return done;
}

/* As far as it gets; `patient`: to the end. */
static bool advance(struct hps_route *r, struct turn *t, bool patient)
{
    if (t->state == COUNTS) {
        if (!arrived(&t->request, patient))
            return false;
        send_rows(r, t);
    }
    if (t->state == ROWS) {
        if (!arrived(&t->request, patient))
            return false;
        merge(r, t);
        t->state = READY;
    }
    return true;
}

void hps_route_begin(struct hps_route *r, const struct hps_batch *batch)
{
    struct turn *t = &r->turn[r->begun % KEPT];

    assert(r->begun - r->taken < 2);
    hps_places_find(r->places, batch, &t->room, t->step.first, t->step.ask, t->step.bag);
    t->step.nplace = t->step.first[r->M];
    if (batch)
        hps_places_show(r->places, &t->room, t->step.bag);
    if (r->parts == 1)
        keep(r, t);
    else
        send_counts(r, t);
    r->begun++;
}

void hps_route_poll(struct hps_route *r)
{
    for (long long s = r->taken; s < r->begun; s++)
        if (!advance(r, &r->turn[s % KEPT], false))
            break;              /* rows travel in the order of the steps */
}

const struct hps_route_step *hps_route_take(struct hps_route *r)
{
    struct turn *t = &r->turn[r->taken % KEPT];

    assert(r->taken < r->begun);
    advance(r, t, true);
    r->taken++;
    return &t->step;
}

double hps_route_bytes(const struct hps_route *r)
{
    return r->bytes;
}
