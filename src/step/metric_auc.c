/* metric_auc.c - the exact area under the ROC curve over all ranks, in integers.
 *
 * Twice the number of concordant pairs plus the ties is a whole number: every rank counts the part
 * of it that its range of scores decides, 128 bits wide, and one division makes the area. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/key_sort.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "step/distribute.h"
#include "step/metric.h"

__extension__ typedef unsigned __int128 wide;

enum { BIN_BITS = 16, BINS = 1 << BIN_BITS };

/* Predictions of one score. A run of equal scores is as many of these as its counts need. */
struct tie {
    uint32_t key, neg, pos;
};

/* Sums that all ranks add up: the count of pairs in four limbs, then what the division needs. */
enum { LIMBS = 4, NEG = LIMBS, POS, NANS, SUMS };

/* Scores as whole numbers in the same order; -0 is 0. */
static uint32_t key_of(float score)
{
    uint32_t bits;

    if (score == 0) return 0x80000000u;
    memcpy(&bits, &score, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static struct tie *sort(struct tie *tie, struct tie *spare, size_t n)
{
    return hps_key_sort(tie, spare, n, sizeof *tie, false);
}

/* Equal scores of a sorted list become one, as far as 32 bits can count them. */
static size_t unite(struct tie *tie, size_t n)
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        struct tie *last = m > 0 ? &tie[m - 1] : NULL;
        if (last && last->key == tie[i].key && last->neg <= UINT32_MAX - tie[i].neg &&
            last->pos <= UINT32_MAX - tie[i].pos) {
            last->neg += tie[i].neg;
            last->pos += tie[i].pos;
        } else {
            tie[m++] = tie[i];
        }
    }
    return m;
}

/* My predictions as a sorted list without repeats, to free; NaN scores are counted and left out. */
static struct tie *ties_of(size_t n, const struct hps_metric_row *row, size_t *m, long long *nan)
{
    struct tie *tie = hps_mem_new(n, sizeof *tie), *spare = hps_mem_new(n, sizeof *spare);
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        bool pos = row[i].label > 0.5f;
        if (isnan(row[i].score))
            ++*nan;
        else
            tie[k++] = (struct tie){ key_of(row[i].score), !pos, pos };
    }
    struct tie *sorted = sort(tie, spare, k);
    hps_mem_free(sorted == tie ? spare : tie);
    *m = unite(sorted, k);
    return sorted;
}

/* How many of my ties each rank counts: bins of scores, shared out in order so that the ranks get
 * about the same number. A bin has at most 2^16 different scores, which bounds what a rank may get
 * when all scores lie close together. */
static void share_out(const struct tie *tie, size_t n, long long *count, int R, MPI_Comm comm)
{
    long long *mine = hps_mem_new(BINS, sizeof *mine), *all = hps_mem_new(BINS, sizeof *all);
    long long before = 0, total = 0;

    for (size_t i = 0; i < n; i++)
        mine[tie[i].key >> (32 - BIN_BITS)]++;
    HPS_MPI(MPI_Allreduce(mine, all, BINS, MPI_LONG_LONG, MPI_SUM, comm));
    for (int b = 0; b < BINS; b++)
        total += all[b];
    for (int b = 0; b < BINS; b++) {
        if (all[b] == 0) continue;
        count[before * R / total] += mine[b];
        before += all[b];
    }
    hps_mem_free(all);
    hps_mem_free(mine);
}

/* My range of scores, sorted: those of all ranks, to free. */
static struct tie *my_range(struct tie *tie, size_t *n, MPI_Comm comm)
{
    long long came;
    int R;

    if (comm == MPI_COMM_NULL) return tie;
    HPS_MPI(MPI_Comm_size(comm, &R));
    long long *count = hps_mem_new((size_t)R, sizeof *count);
    share_out(tie, *n, count, R, comm);
    struct tie *range = hps_distribute(tie, sizeof *range, count, &came, comm);
    hps_mem_free(count);
    hps_mem_free(tie);
    struct tie *spare = hps_mem_new((size_t)came, sizeof *spare);
    struct tie *sorted = sort(range, spare, (size_t)came);
    hps_mem_free(sorted == range ? spare : range);
    *n = (size_t)came;
    return sorted;
}

/* Twice the pairs that my range decides: each positive is above `below` negatives of lower ranges
 * and those of lower scores here, and ties with those of its own score. */
static wide pairs(const struct tie *tie, size_t n, long long below)
{
    unsigned long long under = (unsigned long long)below;
    wide twice = 0;

    for (size_t i = 0, j; i < n; i = j) {
        unsigned long long neg = 0, pos = 0;
        for (j = i; j < n && tie[j].key == tie[i].key; j++) {
            neg += tie[j].neg;
            pos += tie[j].pos;
        }
        twice += (wide)pos * (2 * (wide)under + neg);
        under += neg;
    }
    return twice;
}

static void add_up(unsigned long long *sum, MPI_Comm comm)
{
    unsigned long long mine[SUMS];

    if (comm == MPI_COMM_NULL) return;
    memcpy(mine, sum, sizeof mine);
    HPS_MPI(MPI_Allreduce(mine, sum, SUMS, MPI_UNSIGNED_LONG_LONG, MPI_SUM, comm));
}

/* Negatives of the ranks before mine. */
static long long negatives_below(long long neg, MPI_Comm comm)
{
    long long below = 0;

    if (comm == MPI_COMM_NULL) return 0;
    HPS_MPI(MPI_Scan(&neg, &below, 1, MPI_LONG_LONG, MPI_SUM, comm));
    return below - neg;
}

double hps_metric_auc(size_t n, const struct hps_metric_row *row, MPI_Comm comm)
{
    unsigned long long sum[SUMS] = { 0 };
    long long nan = 0, neg = 0;
    struct tie *tie = ties_of(n, row, &n, &nan);

    tie = my_range(tie, &n, comm);
    for (size_t i = 0; i < n; i++) {
        neg += tie[i].neg;
        sum[POS] += tie[i].pos;
    }
    wide twice = pairs(tie, n, negatives_below(neg, comm));
    hps_mem_free(tie);
    for (int k = 0; k < LIMBS; k++)
        sum[k] = (unsigned long long)(twice >> 32 * k & 0xffffffffu);
    sum[NEG] = (unsigned long long)neg;
    sum[NANS] = (unsigned long long)nan;
    add_up(sum, comm);
    if (sum[NANS] || !sum[NEG] || !sum[POS]) return NAN;
    twice = 0;
    for (int k = LIMBS; k-- > 0;)
        twice = (twice << 32) + sum[k];
    return (double)twice / (double)((wide)sum[NEG] * sum[POS] * 2);
}
