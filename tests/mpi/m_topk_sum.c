/* m_topk_sum: sums of which a share travels are those of a serial computation that chooses the same
 * numbers, bit for bit, on all ranks, at every size, in place or not, several under way, whether a
 * rank polls or waits. Over the steps nothing is lost: what arrived and what the residuals have is
 * the sum of all summands. Of a share of 1 nothing is left. What is counted as sent is what was. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/say.h"
#include "base/world.h"
#include "comm/topk.h"
#include "comm/topk_sum.h"

enum { SUMS = 5, MAX = 5000, STEPS = 12, RANKS = 8 };

static const size_t size[SUMS] = { 0, MAX, 1, 33, 1000 };

/* Number i of sum `sum` on rank r in a step: of several magnitudes. */
static float value(int step, int sum, int r, size_t i)
{
    uint64_t key = hps_rng_sub(hps_rng_key(9, "sum"), (uint64_t)((step * SUMS + sum) * 64 + r));
    float x = hps_rng_unit(key, i) - 0.5f;
    return i % 3 == 0 ? x * 0.01f : i % 3 == 1 ? x : x * 10;
}

/* What a serial computation has of all ranks: residuals, and sums over the steps. */
struct twin {
    float residual[RANKS][SUMS][MAX];
    double all[SUMS][MAX];              /* of all summands so far */
    double come[SUMS][MAX];             /* of all sums so far     */
};
static struct twin twin;
static float residual[SUMS][MAX];

static void check(int step, int sum, double share, const float *got)
{
    size_t n = size[sum], k = hps_topk_count(n, share);
    float to[MAX] = { 0 };
    uint32_t message[2 * MAX + 64];

    for (int r = 0; r < hps_nrank(); r++) {
        float *left = twin.residual[r][sum];
        for (size_t i = 0; i < n; i++) {
            twin.all[sum][i] += (double)value(step, sum, r, i);
            left[i] += value(step, sum, r, i);
        }
        hps_topk_take(n, left, k, message);
        hps_topk_add(n, k, message, to);
    }
    if (memcmp(to, got, n * sizeof *to) != 0)
        HPS_DIE("step %d, sum %d: not that of the twin", step, sum);
    if (memcmp(twin.residual[hps_rank()][sum], residual[sum], n * sizeof *to) != 0)
        HPS_DIE("step %d, sum %d: not the residual of the twin", step, sum);
    for (size_t i = 0; i < n; i++)
        twin.come[sum][i] += (double)got[i];
}

/* Summands are below 5, and each of some 15 roundings is of 2^-24 of what is added so far. */
static void check_nothing_lost(int sum, double share)
{
    for (size_t i = 0; i < size[sum]; i++) {
        double all = twin.come[sum][i];
        for (int r = 0; r < hps_nrank(); r++)
            all += (double)twin.residual[r][sum][i];
        if (fabs(all - twin.all[sum][i]) > 1e-4)
            HPS_DIE("sum %d, element %zu: %g came of %g", sum, i, all, twin.all[sum][i]);
        if (share == 1 && residual[sum][i] != 0) HPS_DIE("something is left of all");
    }
}

static void run(struct hps_topk_sum *s, int step, double share)
{
    static float x[SUMS][MAX], to[SUMS][MAX];

    for (int j = 0; j < SUMS; j++) {
        for (size_t i = 0; i < size[j]; i++)
            x[j][i] = value(step, j, hps_rank(), i);
        hps_topk_sum_start(s, x[j], j % 2 ? x[j] : to[j], size[j], residual[j]);
        if ((step + j + hps_rank()) % 3 == 0) hps_topk_sum_done(s, j + 1, false);
        if ((step + hps_rank()) % 2 == 0 && j == 3 && !hps_topk_sum_done(s, 2, true))
            HPS_DIE("a wait came back before the sums were done");
    }
    if (step % 3 == 0)
        while (!hps_topk_sum_done(s, SUMS, false))
            continue;
    if (!hps_topk_sum_done(s, SUMS, true)) HPS_DIE("a wait for all came back early");
    hps_topk_sum_reset(s);
    for (int j = 0; j < SUMS; j++)
        check(step, j, share, j % 2 ? x[j] : to[j]);
}

static void check_count(const struct hps_message_count *count, double share)
{
    double others = hps_nrank() - 1, words = 0, plain = 0, error = hps_message_error(count);

    for (int j = 0; j < SUMS; j++) {
        words += STEPS * others * (double)hps_topk_words(size[j], hps_topk_count(size[j], share));
        plain += STEPS * 2 * others / hps_nrank() * 4 * (double)size[j];
    }
    if (count->bytes != 4 * words || fabs(count->plain_bytes - plain) > 1e-9 * plain)
        HPS_DIE("%g bytes of %g are counted", count->bytes, count->plain_bytes);
    if (share < 1 ? !(error > 0.1 && error < 1) : error != 0) HPS_DIE("an error of %g", error);
}

static void run_all(MPI_Comm world, double share)
{
    struct hps_message_count count = { 0 };
    struct hps_topk_sum *s = hps_topk_sum_new(world, SUMS, share, &count);

    memset(&twin, 0, sizeof twin);
    memset(residual, 0, sizeof residual);
    for (int step = 0; step < STEPS; step++)
        run(s, step, share);
    for (int j = 0; j < SUMS; j++)
        check_nothing_lost(j, share);
    check_count(&count, share);
    hps_topk_sum_free(s);
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    if (hps_nrank() > RANKS) HPS_DIE("at most %d ranks", RANKS);
    run_all(world, 0.01);
    run_all(world, 0.3);
    run_all(world, 1);
    hps_topk_sum_free(NULL);
    if (hps_mem_held_bytes() != 0) HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
