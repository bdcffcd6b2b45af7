/* m_metric: what n ranks say of predictions is what one rank says that has them all: the same area
 * bit for bit, however they are spread, with ranks that have none; the file is in example order. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/h5.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/say.h"
#include "base/world.h"
#include "step/distribute.h"
#include "step/metric.h"

enum { N = 30000 };

struct row { float score, label; };

static struct row row_of(int kind, long long e)
{
    float u = hps_rng_unit(11, (uint64_t)e), score = u;

    if (kind == 1) score = floorf(u * 7) / 7;           /* ties over ranks      */
    if (kind == 2) score = 0.5f + u * 1e-3f;            /* all in one bin       */
    if (kind == 3) score = 0.125f;                      /* all in one score     */
    if (kind == 4) score = u * u * u * 1e-3f;           /* rare clicks          */
    return (struct row){ score, hps_rng_unit(12, (uint64_t)e) < u ? 1.0f : 0.0f };
}

/* Whose example is it: in turn; all the last rank's; in blocks, none for rank 0. */
static int owner_of(int way, long long e, int R)
{
    if (way == 0) return (int)(e % R);
    if (way == 1) return R - 1;
    return R == 1 ? 0 : 1 + (int)(e * (R - 1) / N);
}

static struct hps_metric *mine(int kind, int way, int me, int R)
{
    struct hps_metric *m = hps_metric_new();

    for (long long k = 0; k < N; k++) {
        long long e = (long long)hps_rng_permute(13, (uint64_t)k, N);
        struct row row = row_of(kind, e);
        if (owner_of(way, e, R) == me) hps_metric_add(m, 1, &row.score, &row.label, &e);
    }
    return m;
}

static void compare(const struct hps_metric_result *a, const struct hps_metric_result *b)
{
    if (a->auc != b->auc || a->examples != b->examples || a->positives != b->positives)
        HPS_DIE("area %.17g of %lld, alone it is %.17g of %lld", a->auc, a->examples, b->auc,
                b->examples);
    if (fabs(a->logloss - b->logloss) > 1e-12 || fabs(a->calibration - b->calibration) > 1e-12)
        HPS_DIE("log loss %.17g, alone it is %.17g", a->logloss, b->logloss);
    for (int i = 0; i < HPS_METRIC_BINS; i++)
        if (a->bin[i].n != b->bin[i].n) HPS_DIE("bin %d is another", i);
}

static void same_everywhere(const struct hps_metric_result *r, MPI_Comm world)
{
    struct hps_metric_result first = *r;

    HPS_MPI(MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, world));
    if (memcmp(&first.auc, &r->auc, sizeof r->auc) != 0 ||
        memcmp(&first.logloss, &r->logloss, sizeof r->logloss) != 0)
        HPS_DIE("the ranks do not agree");
}

static void metrics(int me, int R, MPI_Comm world)
{
    for (int kind = 0; kind < 5; kind++) {
        struct hps_metric *whole = mine(kind, 0, 0, 1);
        struct hps_metric_result want = hps_metric_read(whole, MPI_COMM_NULL);
        hps_metric_free(whole);
        for (int way = 0; way < 3; way++) {
            struct hps_metric *part = mine(kind, way, me, R);
            struct hps_metric_result got = hps_metric_read(part, world);
            hps_metric_free(part);
            compare(&got, &want);
            same_everywhere(&got, world);
        }
    }
    struct hps_metric *none = hps_metric_new();
    float score = NAN, label = 1;
    if (!isnan(hps_metric_read(none, world).auc)) HPS_DIE("no predictions have an area");
    if (me == R - 1) hps_metric_add(none, 1, &score, &label, NULL);
    if (!isnan(hps_metric_read(none, world).logloss)) HPS_DIE("NaN on one rank was not heard");
    hps_metric_free(none);
}

static void file(int way, int me, int R, MPI_Comm world)
{
    char path[64];
    struct hps_h5 h;
    int pid = (int)getpid();

    HPS_MPI(MPI_Bcast(&pid, 1, MPI_INT, 0, world));
    snprintf(path, sizeof path, "m_metric_%d.h5", pid);
    struct hps_metric *m = mine(0, way, me, R);
    if (hps_metric_write(m, N, path, world) != HPS_OK) HPS_DIE("%s is not written", path);
    if (hps_metric_write(m, N, "/nowhere/at.h5", world) != HPS_OUTPUT) HPS_DIE("no 73");
    hps_metric_free(m);

    long long *example = hps_mem_new(N, sizeof *example);
    float *score = hps_mem_new(N, sizeof *score), *label = hps_mem_new(N, sizeof *label);
    if (hps_h5_open(&h, path) || hps_h5_get(&h, "example", H5T_NATIVE_LLONG, 0, N, 0, example) ||
        hps_h5_get(&h, "score", H5T_NATIVE_FLOAT, 0, N, 0, score) ||
        hps_h5_get(&h, "label", H5T_NATIVE_FLOAT, 0, N, 0, label) || hps_h5_close(&h))
        HPS_DIE("%s cannot be read", path);
    for (long long e = 0; e < N; e++) {
        struct row row = row_of(0, e);
        if (example[e] != e || score[e] != row.score || label[e] != row.label)
            HPS_DIE("row %lld is another", e);
    }
    hps_mem_free(label);
    hps_mem_free(score);
    hps_mem_free(example);
    HPS_MPI(MPI_Barrier(world));
    if (me == 0) unlink(path);
}

/* Several rounds: things so large that few fit in one, and of unlike numbers. */
static void spread(int me, int R, MPI_Comm world)
{
    enum { SIZE = 1 << 20 };
    long long count[64] = { 0 }, all = 0, came;

    for (int r = 0; r < R; r++)
        all += count[r] = 1 + 9 * (me == 0) + r;
    char *from = hps_mem_new((size_t)all, SIZE), *at = from;
    for (int r = 0; r < R; r++)
        for (long long k = 0; k < count[r]; k++, at += SIZE)
            memset(at, 17 * me + r, SIZE);
    unsigned char *to = hps_distribute(from, SIZE, count, &came, world);
    if (came != R * (1 + me) + 9) HPS_DIE("%lld things came", came);
    for (long long k = 0; k < came; k++) {
        unsigned char *thing = to + (size_t)k * SIZE;
        if (thing[0] != thing[SIZE - 1] || thing[0] % 17 != me) HPS_DIE("thing %lld is wrong", k);
    }
    hps_mem_free(to);
    hps_mem_free(from);
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    int me = hps_rank(), R = hps_nrank();

    hps_say_min(HPS_SILENT);
    metrics(me, R, world);
    spread(me, R, world);
    for (int way = 0; way < 3; way++)
        file(way, me, R, world);
    if (hps_mem_held_bytes()) HPS_DIE("%zu bytes are held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
