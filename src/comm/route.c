/* route.c - a step's rows: found and sorted by owner, counts exchanged, then row numbers.
 *
 * Counts and row numbers travel on communicators of their own, each in the order of the steps, so
 * that no member's progress decides the order of collectives. */
#include "comm/route.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "comm/find.h"
#include "model/table.h"

enum { KEPT = 4 };              /* steps: two valid after a take, two begun and not taken */
enum { CHUNK = 256 };

/* Numbers made on the host and read on the device; one memory where the two are one. */
struct ints {
    int *host, *device;
    size_t cap, device_cap;
};

enum state { READY, COUNTS, ROWS };

struct turn {
    struct hps_route_step step;
    enum state state;
    MPI_Request request;
    int *ask, *give;            /* (parts, M) as they travel                        */
    int *nask, *nask_at;        /* (parts) rows to each owner, and where they begin   */
    int *ngive, *ngive_at;
    int *want;                  /* (nplace) rows asked, by owner, then micro-batch    */
    size_t want_cap;
    struct ints index, offset;  /* of all bags                                      */
    struct ints row, merge, merged;
};

struct hps_route {
    MPI_Comm count_comm, row_comm;      /* owned; MPI_COMM_NULL when alone         */
    struct hps_dev *dev;
    int parts, me, M, nlayer;
    const struct hps_layer **layer;
    long long rows;
    struct hps_find *asked, *given;
    int *owner, *local, *place;         /* (nplace) scratch, by first sight         */
    size_t owner_cap, local_cap, place_cap;
    int *cursor;                        /* (parts) scratch                          */
    struct turn turn[KEPT];
    long long begun, taken;
    double bytes;
};

static void ints_grow(struct ints *a, size_t n)
{
    hps_mem_grow(&a->host, &a->cap, n, sizeof *a->host);
}

/* Where the device finds the first n. */
static const int *ints_show(struct ints *a, size_t n, struct hps_dev *dev)
{
    if (dev->host)
        return a->host;
    if (n > a->device_cap) {
        dev->ops->free(dev, a->device);
        a->device_cap = a->cap;
        a->device = dev->ops->alloc(dev, a->cap * sizeof *a->device);
    }
    if (n > 0)
        dev->ops->put(dev, a->device, a->host, n * sizeof *a->host);
    return a->device;
}

static void ints_free(struct ints *a, struct hps_dev *dev)
{
    hps_mem_free(a->host);
    if (a->device)
        dev->ops->free(dev, a->device);
}

static void turn_new(struct hps_route *r, struct turn *t)
{
    size_t pairs = (size_t)r->M * (size_t)r->parts, parts = (size_t)r->parts;

    t->request = MPI_REQUEST_NULL;
    t->step.M = r->M;
    t->step.parts = r->parts;
    t->step.first = hps_mem_new((size_t)r->M + 1, sizeof(int));
    t->step.ask = hps_mem_new(pairs, sizeof(int));
    t->step.give = hps_mem_new(pairs, sizeof(int));
    t->step.bag = hps_mem_new((size_t)r->M * (size_t)r->nlayer, sizeof *t->step.bag);
    t->ask = hps_mem_new(pairs, sizeof(int));
    t->give = hps_mem_new(pairs, sizeof(int));
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
    ints_free(&t->index, r->dev);
    ints_free(&t->offset, r->dev);
    ints_free(&t->row, r->dev);
    ints_free(&t->merge, r->dev);
    ints_free(&t->merged, r->dev);
}

enum hps_status hps_route_new(struct hps_route **route, const struct hps_route_use *use,
                              long long rows, int M, struct hps_dev *dev, MPI_Comm comm)
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
    r->parts = parts;
    r->me = me;
    r->M = M;
    r->rows = rows;
    r->nlayer = use->nlayer;
    r->layer = hps_mem_new((size_t)use->nlayer, sizeof(struct hps_layer *));
    for (int j = 0; j < use->nlayer; j++)
        r->layer[j] = use->layer[j];
    r->asked = hps_find_new();
    r->given = hps_find_new();
    r->cursor = hps_mem_new((size_t)parts, sizeof *r->cursor);
    for (int i = 0; i < KEPT; i++)
        turn_new(r, &r->turn[i]);
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
    hps_find_free(r->asked);
    hps_find_free(r->given);
    hps_mem_free(r->cursor);
    hps_mem_free(r->owner);
    hps_mem_free(r->local);
    hps_mem_free(r->place);
    hps_mem_free((void *)r->layer);
    if (r->count_comm != MPI_COMM_NULL)
        HPS_MPI(MPI_Comm_free(&r->count_comm));
    if (r->row_comm != MPI_COMM_NULL)
        HPS_MPI(MPI_Comm_free(&r->row_comm));
    hps_mem_free(r);
}

/* Ids of a slot in a micro-batch. */
static size_t ids_of(const struct hps_batch *b, int slot)
{
    return b->offset[slot] ? (size_t)b->offset[slot][b->B] : (size_t)b->B;
}

static bool all_single(const struct hps_layer *l, const struct hps_batch *b)
{
    for (int i = 0; i < l->nslot; i++)
        if (b->offset[l->slot[i]])
            return false;
    return true;
}

/* The bags' sizes, and room for all of them. */
static void size_bags(struct hps_route *r, struct turn *t, const struct hps_batch *batch)
{
    size_t nid = 0, noffset = 0;

    for (int m = 0; m < r->M; m++)
        for (int j = 0; j < r->nlayer; j++) {
            const struct hps_layer *l = r->layer[j];
            struct hps_bag *bag = &t->step.bag[m * r->nlayer + j];
            *bag = (struct hps_bag){ .nslot = l->nslot, .B = batch[m].B };
            for (int i = 0; i < l->nslot; i++)
                bag->nid += ids_of(&batch[m], l->slot[i]);
            bag->single = all_single(l, &batch[m]);
            nid += bag->nid;
            if (!bag->single)
                noffset += (size_t)l->nslot * (size_t)bag->B + 1;
        }
    if (nid > INT_MAX)
        HPS_DIE("%zu ids on this rank in one step; it can work with %d", nid, INT_MAX);
    ints_grow(&t->index, nid);
    ints_grow(&t->offset, noffset);
}

/* Places, by first sight, of a slot's ids. */
static void find_slot(struct hps_route *r, const struct hps_layer *l, int i, size_t n,
                      const long long *id, int *place)
{
    long long row[CHUNK], base = l->base[i], modulo = l->modulo[i];

    for (size_t done = 0; done < n; done += CHUNK) {
        size_t now = n - done < CHUNK ? n - done : CHUNK;
        if (modulo > 0)
            for (size_t c = 0; c < now; c++)
                row[c] = base + id[done + c] % modulo;
        else
            for (size_t c = 0; c < now; c++)
                row[c] = base + id[done + c];
        for (size_t c = 0; c < now; c++)
            assert(row[c] >= 0 && row[c] < r->rows);
        hps_find_put(r->asked, now, row, place + done);
    }
}

/* The bags of a layer: index at `index`, offsets at `offset`. */
static void fill_bag(struct hps_route *r, const struct hps_layer *l, const struct hps_bag *bag,
                     const struct hps_batch *b, int *index, int *offset)
{
    int at = 0;

    for (int i = 0; i < l->nslot; i++) {
        const int *o = b->offset[l->slot[i]];
        size_t n = ids_of(b, l->slot[i]);
        find_slot(r, l, i, n, b->ids[l->slot[i]], index + at);
        if (!bag->single)
            for (int e = 0; e < b->B; e++)
                *offset++ = at + (o ? o[e] : e);
        at += (int)n;
    }
    if (!bag->single)
        *offset = at;
}

/* Rows first seen in micro-batch m get their places: sorted by owner, else in the order of sight.
 * r->local then holds the owner's number of each row by place. */
static void sort_places(struct hps_route *r, struct turn *t, int m)
{
    const long long *key = hps_find_keys(r->asked);
    int first = t->step.first[m], end = t->step.first[m + 1], at = first;
    int *ask = t->step.ask + (size_t)m * (size_t)r->parts;

    hps_mem_grow(&r->owner, &r->owner_cap, (size_t)end, sizeof *r->owner);
    hps_mem_grow(&r->local, &r->local_cap, (size_t)end, sizeof *r->local);
    hps_mem_grow(&r->place, &r->place_cap, (size_t)end, sizeof *r->place);
    memset(ask, 0, (size_t)r->parts * sizeof *ask);
    if (r->parts == 1) {
        for (int i = first; i < end; i++)
            r->local[i] = (int)key[i];
        ask[0] = end - first;
        return;
    }
    for (int i = first; i < end; i++)
        ask[r->owner[i] = hps_table_owner(key[i], r->parts)]++;
    for (int q = 0; q < r->parts; q++) {
        r->cursor[q] = at;
        at += ask[q];
    }
    for (int i = first; i < end; i++) {
        r->place[i] = r->cursor[r->owner[i]]++;
        r->local[r->place[i]] = (int)hps_table_local(key[i], r->parts);
    }
}

static void find_rows(struct hps_route *r, struct turn *t, const struct hps_batch *batch)
{
    if (batch)
        size_bags(r, t, batch);
    int *index = t->index.host, *offset = t->offset.host;
    hps_find_begin(r->asked);
    for (int m = 0; m < r->M; m++) {
        int *begin = index;
        for (int j = 0; batch && j < r->nlayer; j++) {
            struct hps_bag *bag = &t->step.bag[m * r->nlayer + j];
            fill_bag(r, r->layer[j], bag, &batch[m], index, offset);
            bag->index = index;
            bag->offset = bag->single ? NULL : offset;
            index += bag->nid;
            offset += bag->single ? 0 : (size_t)bag->nslot * (size_t)bag->B + 1;
        }
        t->step.first[m + 1] = hps_find_count(r->asked);
        sort_places(r, t, m);
        for (int *i = begin; r->parts > 1 && i < index; i++)
            *i = r->place[*i];
    }
    t->step.nplace = t->step.first[r->M];
}

/* The bags as the device sees them. */
static void show_bags(struct hps_route *r, struct turn *t)
{
    struct hps_bag *bag = t->step.bag;
    size_t nid = 0, noffset = 0, nbag = (size_t)r->M * (size_t)r->nlayer;

    if (r->dev->host)
        return;
    for (size_t i = 0; i < nbag; i++) {
        nid += bag[i].nid;
        noffset += bag[i].single ? 0 : (size_t)bag[i].nslot * (size_t)bag[i].B + 1;
    }
    const int *index = ints_show(&t->index, nid, r->dev);
    const int *offset = ints_show(&t->offset, noffset, r->dev);
    for (size_t i = 0; i < nbag; i++) {
        bag[i].index = index + (bag[i].index - t->index.host);
        if (!bag[i].single)
            bag[i].offset = offset + (bag[i].offset - t->offset.host);
    }
}

/* Row numbers by place become row numbers by owner, then micro-batch; counts turn likewise. */
static void pack(struct hps_route *r, struct turn *t, int *want)
{
    const int *ask = t->step.ask, *from = r->local;
    int at = 0;

    memset(t->nask, 0, (size_t)r->parts * sizeof *t->nask);
    for (int m = 0; m < r->M; m++)
        for (int q = 0; q < r->parts; q++) {
            t->ask[q * r->M + m] = ask[m * r->parts + q];
            t->nask[q] += ask[m * r->parts + q];
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

/* Which of the rows that members asked of me are the same row. */
static void merge(struct hps_route *r, struct turn *t)
{
    long long key[CHUNK];
    size_t n = t->step.ngive;

    ints_grow(&t->merge, n);
    hps_find_begin(r->given);
    for (size_t done = 0; done < n; done += CHUNK) {
        size_t now = n - done < CHUNK ? n - done : CHUNK;
        for (size_t i = 0; i < now; i++)
            key[i] = t->row.host[done + i];
        hps_find_put(r->given, now, key, t->merge.host + done);
    }
    t->step.nmerge = hps_find_count(r->given);
    ints_grow(&t->merged, (size_t)t->step.nmerge);
    for (int i = 0; i < t->step.nmerge; i++)
        t->merged.host[i] = (int)hps_find_keys(r->given)[i];
    t->step.row = ints_show(&t->row, n, r->dev);
    t->step.merge = ints_show(&t->merge, n, r->dev);
    t->step.merged = ints_show(&t->merged, (size_t)t->step.nmerge, r->dev);
}

/* Alone, what is asked is what is given, and all of it is distinct. */
static void keep(struct hps_route *r, struct turn *t)
{
    size_t n = (size_t)t->step.nplace;

    memcpy(t->step.give, t->step.ask, (size_t)r->M * sizeof(int));
    ints_grow(&t->row, n);
    ints_grow(&t->merge, n);
    if (n > 0)
        memcpy(t->row.host, r->local, n * sizeof(int));
    for (size_t i = 0; i < n; i++)
        t->merge.host[i] = (int)i;
    t->step.ngive = n;
    t->step.nmerge = t->step.nplace;
    t->step.row = t->step.merged = ints_show(&t->row, n, r->dev);
    t->step.merge = ints_show(&t->merge, n, r->dev);
    t->state = READY;
}

static void send_counts(struct hps_route *r, struct turn *t)
{
    hps_mem_grow(&t->want, &t->want_cap, (size_t)t->step.nplace, sizeof *t->want);
    pack(r, t, t->want);
    HPS_MPI(MPI_Ialltoall(t->ask, r->M, MPI_INT, t->give, r->M, MPI_INT, r->count_comm,
                          &t->request));
    r->bytes += (double)(r->parts - 1) * r->M * (double)sizeof(int)
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
            t->step.give[m * r->parts + q] = t->give[q * r->M + m];
            n += (size_t)t->give[q * r->M + m];
        }
        if (n > INT_MAX)
            HPS_DIE("%d ranks ask this one for more than %d rows in one step", r->parts, INT_MAX);
        t->ngive[q] = (int)n - t->ngive_at[q];
    }
    t->step.ngive = n;
    ints_grow(&t->row, n);
    HPS_MPI(MPI_Ialltoallv(t->want, t->nask, t->nask_at, MPI_INT, t->row.host, t->ngive,
                           t->ngive_at, MPI_INT, r->row_comm, &t->request));
    t->state = ROWS;
}

static bool arrived(MPI_Request *request, bool patient)
{
    int done = 1;

    if (patient)
        HPS_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
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
    assert(batch || r->nlayer == 0);
    find_rows(r, t, batch);
    show_bags(r, t);
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
