/* m_near: what a member writes in its rows, all who are near read at that member's numbers, in
 * every buffer and however long it has become, whoever made it so long; who shares nothing is near
 * to nobody, who is told to share by groups to its own, and both sides say the same. */
#include <stdlib.h>
#include <sys/resource.h>

#include "base/env.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/world.h"
#include "comm/shm.h"

enum { BUFFERS = 2, ROUNDS = 5 };

static const int dim[BUFFERS] = { 3, 16 };

struct world {
    MPI_Comm comm;
    int R, me;
};

static float value(int owner, int b, size_t i, int round)
{
    return (float)((size_t)(owner * 7 + b * 3 + round * 11) + i);
}

/* So long is member q's buffer in a round. */
static size_t rows_of(int q, int round)
{
    return (size_t)1 + (size_t)(q + 1) * (size_t)round * (size_t)round * 20000;
}

static void barrier(const struct world *w)
{
    hps_shm_release();
    HPS_MPI(MPI_Barrier(w->comm));
    hps_shm_acquire();
}

static void write_mine(const struct world *w, struct hps_shm *near, int round)
{
    for (int b = 0; b < BUFFERS; b++) {
        float *row = hps_shm_at(near, w->me, b, rows_of(w->me, round));
        for (size_t i = 0; i < rows_of(w->me, round) * (size_t)dim[b]; i++)
            row[i] = value(w->me, b, i, round);
    }
}

/* Of all buffers of member q, by its own pointer and by the number of its rows behind mine. */
static void read_all_of(const struct world *w, struct hps_shm *near, int q, int round)
{
    for (int b = 0; b < BUFFERS; b++) {
        size_t n = rows_of(q, round) * (size_t)dim[b];
        const float *there = hps_shm_at(near, q, b, rows_of(q, round));
        const float *mine = hps_shm_at(near, w->me, b, 1);
        if (there != mine + (size_t)hps_shm_first(near, q) * (size_t)dim[b])
            HPS_DIE("member %d's rows are not at their number", q);
        for (size_t i = 0; i < n; i++)
            if (there[i] != value(q, b, i, round))
                HPS_DIE("round %d: element %zu of member %d's buffer %d is %g, not %g", round, i, q,
                        b, (double)there[i], (double)value(q, b, i, round));
    }
}

static void use(const struct world *w, struct hps_shm *near)
{
    for (int q = 1; near && q < w->R; q += 2)           /* before their owners have them so long */
        if (hps_shm_is(near, q)) hps_shm_at(near, q, 0, rows_of(q, ROUNDS / 2));
    for (int round = 0; round < ROUNDS; round++) {
        if (near) write_mine(w, near, round);
        barrier(w);
        for (int q = 0; near && q < w->R; q++)
            if (hps_shm_is(near, q)) read_all_of(w, near, q, round);
        barrier(w);
    }
}

/* Is near who shares and is of my group, where there are groups, and nobody else? */
static void check_who(const struct world *w, const struct hps_shm *near, bool share)
{
    int *shares = hps_mem_new((size_t)w->R, sizeof *shares), mine = share, others = 0;
    int each = hps_env_count("HETERPS_SHARED_RANKS");

    HPS_MPI(MPI_Allgather(&mine, 1, MPI_INT, shares, 1, MPI_INT, w->comm));
    for (int q = 0; q < w->R; q++) {
        bool together = shares[q] && (each == 0 || q / each == w->me / each);
        others += q != w->me && together;
        bool want = near && (q == w->me || (share && together));
        if (hps_shm_is(near, q) != want) HPS_DIE("member %d is %snear", q, want ? "not " : "");
    }
    if ((near != NULL) != (share && others > 0))
        HPS_DIE("%s is near, of %d who share", near ? "somebody" : "nobody", others);
    hps_mem_free(shares);
}

static void run(const struct world *w, bool may, bool share)
{
    struct hps_shm *near = hps_shm_new(may, BUFFERS, dim, w->comm);

    check_who(w, near, share);
    use(w, near);
    hps_shm_free(near);
}

/* A limit on files is none on these, but a rank with one shares nothing. */
static void run_limited(const struct world *w)
{
    struct rlimit before, less;

    if (getrlimit(RLIMIT_FSIZE, &before) != 0)
        HPS_DIE("no limit can be read");
    less = before;
    less.rlim_cur = (rlim_t)1 << 40;
    if (w->me == 0 && setrlimit(RLIMIT_FSIZE, &less) != 0)
        HPS_DIE("no limit can be set");
    run(w, true, w->me != 0);
    if (w->me == 0 && setrlimit(RLIMIT_FSIZE, &before) != 0)
        HPS_DIE("the limit stays");
}

/* By twos: the first of the host says so for all. */
static void run_groups(const struct world *w)
{
    setenv("HETERPS_SHARED_RANKS", w->me == 0 ? "2" : "no number", 1);
    struct hps_shm *near = hps_shm_new(true, BUFFERS, dim, w->comm);
    setenv("HETERPS_SHARED_RANKS", "2", 1);
    check_who(w, near, true);
    use(w, near);
    hps_shm_free(near);
    unsetenv("HETERPS_SHARED_RANKS");
}

int main(int argc, char **argv)
{
    struct world w = { .comm = hps_begin(&argc, &argv, true) };

    w.R = hps_nrank();
    w.me = hps_rank();
    unsetenv("HETERPS_SHARED_MEMORY");
    unsetenv("HETERPS_SHARED_RANKS");
    run(&w, true, true);
    run(&w, w.me % 2 == 0, w.me % 2 == 0);
    run_limited(&w);
    run_groups(&w);
    if (w.me == 0) setenv("HETERPS_SHARED_MEMORY", "0", 1);
    run(&w, true, w.me != 0);
    if (hps_shm_new(true, BUFFERS, dim, MPI_COMM_NULL)) HPS_DIE("who is alone has nobody near");
    if (hps_mem_held_bytes() != 0)
        HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
