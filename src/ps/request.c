/* request.c - what a step needs: counts are exchanged, then numbers of rows, which members who are
 * near read where they were written.
 *
 * Counts and numbers travel on communicators of their own, each in the order of the steps, so that
 * no member's progress decides the order of collectives. */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/wait.h"
#include "ps/request_impl.h"
#include "ps/table.h"

/* Room for n numbers where those who are near see them. */
static int *near_room(void *of, size_t n)
{
    const struct hps_request_lent *l = of;

    return hps_shm_ints(l->near, l->me, l->buffer, n);
}

static void turn_new(struct hps_request *r, struct hps_request_turn *t, int nlayer)
{
    size_t pairs = (size_t)r->M * (size_t)r->parts, parts = (size_t)r->parts;

    t->request = MPI_REQUEST_NULL;
    t->step.M = r->M;
    t->step.parts = r->parts;
    t->step.first = hps_mem_new((size_t)r->M + 1, sizeof(int));
    t->step.ask = hps_mem_new(pairs, sizeof(int));
    t->step.give = hps_mem_new(2 * pairs, sizeof(int));
    t->step.give_place = t->step.give + pairs;
    t->step.lookup = hps_mem_new((size_t)r->M * (size_t)nlayer, sizeof *t->step.lookup);
    t->ask = hps_mem_new(HPS_REQUEST_TOLD * pairs, sizeof(int));
    t->give = hps_mem_new(HPS_REQUEST_TOLD * pairs, sizeof(int));
    t->length = hps_mem_new(pairs, sizeof(int));
    t->at = hps_mem_new(pairs, sizeof *t->at);
    t->nask = hps_mem_new(4 * parts, sizeof(int));
    t->nask_at = t->nask + parts;
    t->ngive = t->nask_at + parts;
    t->ngive_at = t->ngive + parts;
    t->heard = hps_mem_new(parts, sizeof *t->heard);
    t->lent = (struct hps_request_lent){ r->near, r->me, 0 };
    if (r->direct) hps_int_mirror_lend(&t->want, near_room, &t->lent);
}

static void turn_free(struct hps_request *r, struct hps_request_turn *t)
{
    hps_mem_free(t->step.first);
    hps_mem_free(t->step.ask);
    hps_mem_free(t->step.give);
    hps_mem_free(t->step.lookup);
    hps_mem_free(t->step.sums);
    hps_mem_free(t->ask);
    hps_mem_free(t->give);
    hps_mem_free(t->length);
    hps_mem_free(t->at);
    hps_mem_free(t->nask);
    hps_mem_free(t->heard);
    hps_int_mirror_free(&t->want, r->dev);
    hps_unique_room_free(&t->room, r->dev);
    hps_int_mirror_free(&t->told, r->dev);
    hps_merged_free(&t->merged, r->dev);
}

/* Is each member near each? Collective over comm. */
static bool all_near(const struct hps_shm *near, int parts, MPI_Comm comm)
{
    bool mine = true, all;

    for (int q = 0; q < parts; q++)
        mine &= hps_shm_is(near, q);
    HPS_MPI(MPI_Allreduce(&mine, &all, 1, MPI_C_BOOL, MPI_LAND, comm));
    return all;
}

enum hps_status hps_request_new(struct hps_request **route, const struct hps_request_use *use,
                                long long rows, int M, struct hps_dev *dev, struct hps_shm *near,
                                MPI_Comm comm)
{
    int parts = 1, me = 0;

    if (comm != MPI_COMM_NULL) {
        HPS_MPI(MPI_Comm_size(comm, &parts));
        HPS_MPI(MPI_Comm_rank(comm, &me));
    }
    assert(hps_cyclic_nlocal(rows, 0, parts) <= INT_MAX && (!use->sums || dev->host));
    struct hps_request *r = hps_mem_new(1, sizeof *r);
    *route = r;
    r->count_comm = r->number_comm = MPI_COMM_NULL;
    if (parts > 1) {
        HPS_MPI(MPI_Comm_dup(comm, &r->count_comm));
        HPS_MPI(MPI_Comm_dup(comm, &r->number_comm));
    }
    r->dev = dev;
    r->near = near;
    r->parts = parts;
    r->me = me;
    r->M = M;
    r->way = use->sums ? &hps_request_by_sums : &hps_request_by_rows;
    r->with = r->way->open(use, rows, r);
    r->direct = near && use->told >= 0;
    r->quiet = parts > 1 && use->told >= 0 && all_near(near, parts, comm);
    r->told = use->told;
    for (int i = 0; i < HPS_REQUEST_KEPT; i++)
        turn_new(r, &r->turn[i], use->nlayer);
    return HPS_OK;
}

void hps_request_free(struct hps_request *r)
{
    if (!r) return;
    while (r->taken < r->begun)                 /* a run that stops has begun one more step */
        hps_request_take(r);
    for (int i = 0; i < HPS_REQUEST_KEPT; i++)
        turn_free(r, &r->turn[i]);
    r->way->close(r->with);
    if (r->count_comm != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&r->count_comm));
    if (r->number_comm != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&r->number_comm));
    hps_mem_free(r);
}

/* ---- to owners ---- */

/* Counts by micro-batch, then owner, turn. Returns how many numbers go to others. */
static size_t tell_counts(const struct hps_request *r, struct hps_request_turn *t)
{
    size_t all = 0;

    for (int q = 0; q < r->parts; q++) {
        t->nask[q] = 0;
        t->nask_at[q] = (int)t->at[q];
        for (int m = 0; m < r->M; m++)
            t->nask[q] += t->length[m * r->parts + q];
        all += q == r->me ? 0 : (size_t)t->nask[q];
    }
    for (int m = 0, i = 0, place = 0; m < r->M; m++)
        for (int q = 0; q < r->parts; q++, i++) {
            int *tell = t->ask + HPS_REQUEST_TOLD * (q * r->M + m);
            tell[0] = t->step.ask[i];
            tell[1] = place;
            tell[2] = t->length[i];
            tell[3] = (int)t->at[i];
            place += t->step.ask[i];
        }
    return all;
}

static void send_counts(struct hps_request *r, struct hps_request_turn *t)
{
    size_t n = tell_counts(r, t);

    hps_shm_release();
    HPS_MPI(MPI_Ialltoall(t->ask, HPS_REQUEST_TOLD * r->M, MPI_INT, t->give,
                          HPS_REQUEST_TOLD * r->M, MPI_INT, r->count_comm, &t->request));
    r->bytes +=
        ((double)(r->parts - 1) * HPS_REQUEST_TOLD * r->M + (double)n) * (double)sizeof(int);
    t->state = HPS_REQUEST_COUNTS;
}

/* Numbers that member q tells me lie where it wrote them. */
static bool is_direct(const struct hps_request *r, int q)
{
    return r->direct && hps_shm_is(r->near, q);
}

static const int *heard_from(struct hps_request *r, struct hps_request_turn *t, int q)
{
    size_t at = (size_t)t->give[HPS_REQUEST_TOLD * q * r->M + 3], n = (size_t)t->ngive[q];

    if (!is_direct(r, q)) return t->told.host + t->ngive_at[q];
    return hps_shm_ints(r->near, q, t->lent.buffer, at + n) + at;
}

/* All counts have come: now the numbers. */
static void send_numbers(struct hps_request *r, struct hps_request_turn *t)
{
    size_t n = 0, ngive = 0;

    hps_shm_acquire();
    for (int q = 0; q < r->parts; q++) {
        t->ngive_at[q] = (int)n;
        for (int m = 0; m < r->M; m++) {
            const int *told = t->give + HPS_REQUEST_TOLD * (q * r->M + m);
            t->step.give[m * r->parts + q] = told[0];
            t->step.give_place[m * r->parts + q] = told[1];
            ngive += (size_t)told[0];
            n += (size_t)told[2];
        }
        if (n + (size_t)t->step.nplace > INT_MAX)
            HPS_DIE("%d ranks tell this one more than %d numbers of rows in one step", r->parts,
                    INT_MAX);
        t->ngive[q] = (int)n - t->ngive_at[q];
    }
    t->step.ngive = ngive;
    if (!r->quiet) hps_int_mirror_grow(&t->told, n + 1);
    for (int q = 0; q < r->parts; q++) {
        t->heard[q] = heard_from(r, t, q);
        if (is_direct(r, q)) t->nask[q] = t->ngive[q] = 0;
    }
    if (!r->quiet)
        HPS_MPI(MPI_Ialltoallv(t->want.host, t->nask, t->nask_at, MPI_INT, t->told.host, t->ngive,
                               t->ngive_at, MPI_INT, r->number_comm, &t->request));
    t->state = HPS_REQUEST_NUMBERS;
}

/* ---- at owners ---- */

void hps_request_show(struct hps_request *r, struct hps_request_turn *t)
{
    struct hps_merged *m = &t->merged;
    size_t n = (size_t)m->n;

    t->step.nmerge = m->n;
    t->step.merged = hps_int_mirror_show(&m->row, n, r->dev);
    t->step.merge_start = hps_int_mirror_show(&m->start, n + 1, r->dev);
    t->step.merge_from = hps_int_mirror_show(&m->from, m->nid, r->dev);
    t->step.merged_host = m->row.host;
}

/* Alone, what is asked is what is given. */
static void hear_myself(struct hps_request *r, struct hps_request_turn *t)
{
    memcpy(t->step.give, t->step.ask, (size_t)r->M * sizeof(int));
    memcpy(t->step.give_place, t->step.first, (size_t)r->M * sizeof(int));
    t->step.ngive = (size_t)t->step.nplace;
    t->heard[0] = t->want.host;
    t->state = HPS_REQUEST_NUMBERS;
}

/* ---- the order of things ---- */

/* As far as its messages get; `patient`: to the end. Have all come? */
static bool advance(struct hps_request *r, struct hps_request_turn *t, bool patient)
{
    if (t->state == HPS_REQUEST_COUNTS) {
        if (!hps_wait_arrived(1, &t->request, patient)) return false;
        send_numbers(r, t);
    }
    return t->state == HPS_REQUEST_READY || hps_wait_arrived(1, &t->request, patient);
}

/* They have: in order. */
static void settle(struct hps_request *r, struct hps_request_turn *t)
{
    if (t->state == HPS_REQUEST_NUMBERS) r->way->merge(r, t);
    t->state = HPS_REQUEST_READY;
}

void hps_request_begin(struct hps_request *r, const struct hps_batch *batch)
{
    struct hps_request_turn *t = &r->turn[r->begun % HPS_REQUEST_KEPT];

    assert(r->begun - r->taken < 2);
    t->lent.buffer = r->told + (int)(r->begun % HPS_REQUEST_BUFFERS);
    r->way->find(r, t, batch);
    t->step.nplace = t->step.first[r->M];
    if (r->parts == 1) {
        hear_myself(r, t);
        settle(r, t);
    } else {
        send_counts(r, t);
    }
    r->begun++;
}

void hps_request_poll(struct hps_request *r, bool time)
{
    for (long long s = r->taken; s < r->begun; s++) {
        struct hps_request_turn *t = &r->turn[s % HPS_REQUEST_KEPT];
        if (!advance(r, t, false)) break; /* numbers travel in the order of the steps */
        if (time) settle(r, t);
    }
}

const struct hps_request_step *hps_request_take(struct hps_request *r)
{
    struct hps_request_turn *t = &r->turn[r->taken % HPS_REQUEST_KEPT];

    assert(r->taken < r->begun);
    advance(r, t, true);
    settle(r, t);
    r->taken++;
    return &t->step;
}

double hps_request_bytes(const struct hps_request *r)
{
    return r->bytes;
}
