/* m_meet: sums over the ranks of a micro-batch are the serial sums, bit for bit the same on all;
 * every rank gathers all rows in order; a scatter is the transpose of a gather; also with fewer
 * rows than ranks, and as one rank alone does it. */
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "comm/meet.h"

enum { WIDTH = 5, MOST = 64 };

/* Number i of rank r's x: no two sums round alike. */
static double value(int r, size_t i)
{
    return 2 * hps_rng_real(hps_rng_sub(hps_rng_key(7, "meet"), (uint64_t)r), i) - 1;
}

static void check_sum(const struct hps_peers *p, size_t n)
{
    double x[MOST], want;

    for (size_t i = 0; i < n; i++)
        x[i] = value(hps_rank(), i);
    p->sum(p, n, x);
    for (size_t i = 0; i < n; i++) {
        want = 0;
        for (int r = 0; r < hps_nrank(); r++)
            want += value(r, i);
        if (memcmp(&x[i], &want, sizeof want) != 0)
            HPS_DIE("sum %zu of %zu is %.17g, not %.17g", i, n, x[i], want);
    }
}

static float at(int row, int c)
{
    return (float)(row * WIDTH + c) + 0.25f;
}

static void check_gather(const struct hps_peers *p, int B)
{
    float own[MOST * WIDTH], all[MOST * WIDTH];

    for (int b = 0; b < B; b++)
        for (int c = 0; c < WIDTH; c++)
            own[b * WIDTH + c] = at(p->first + b, c);
    memset(all, 0xff, sizeof all);
    p->gather(p, WIDTH, own, all);
    for (int b = 0; b < p->rows; b++)
        for (int c = 0; c < WIDTH; c++)
            if (all[b * WIDTH + c] != at(b, c))
                HPS_DIE("row %d of %d, column %d is %g", b, p->rows, c, (double)all[b * WIDTH + c]);
}

/* Rank r gives (r + 1) times a number that only the place knows. */
static void check_scatter(const struct hps_peers *p, int B)
{
    float own[MOST * WIDTH], all[MOST * WIDTH];
    int k = hps_nrank();

    for (int b = 0; b < p->rows; b++)
        for (int c = 0; c < WIDTH; c++)
            all[b * WIDTH + c] = (float)(hps_rank() + 1) * at(b, c);
    memset(own, 0xff, sizeof own);
    p->scatter(p, WIDTH, all, own);
    for (int b = 0; b < B; b++)
        for (int c = 0; c < WIDTH; c++)
            if (own[b * WIDTH + c] != (float)(k * (k + 1) / 2) * at(p->first + b, c))
                HPS_DIE("row %d of %d, column %d is %g", b, B, c, (double)own[b * WIDTH + c]);
}

static void check(struct hps_dev *dev, MPI_Comm world, int rows)
{
    struct hps_meet *meet;

    if (hps_meet_new(&meet, dev, world) != HPS_OK)
        HPS_DIE("no meeting");
    struct hps_peers p = hps_meet_over(meet, rows), one = hps_peers_alone(dev, rows);
    int B = rows * (hps_rank() + 1) / hps_nrank() - p.first;
    check_sum(&p, (size_t)rows);
    check_gather(&p, B);
    check_scatter(&p, B);
    check_gather(&one, one.rows);
    hps_meet_free(meet);
}

int main(int argc, char **argv)
{
    static const int rows[] = { 1, 2, 3, 4, 7, 33 };
    MPI_Comm world = hps_begin(&argc, &argv, true);
    struct hps_dev dev;

    if (hps_dev_cpu.open(&dev, 0, 1) != HPS_OK)
        HPS_DIE("no device");
    for (int far = 0; far < 2; far++) {                 /* as if device memory were elsewhere */
        dev.host = !far;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            check(&dev, world, rows[i]);
    }
    hps_dev_cpu.close(&dev);
    if (hps_mem_held_bytes() != 0)
        HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
