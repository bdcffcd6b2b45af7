/* m_rounded_sum: sums of numbers that travel encoded are those of a serial computation that rounds
 * in the same places, bit for bit, on all ranks: at every size, in place or not, several under way,
 * step after step, whether a rank polls or waits. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/say.h"
#include "base/world.h"
#include "comm/rounded_sum.h"

enum { SUMS = 5, MAX = 5000 };

static const size_t size[] = { 0, 1, 2, 3, 7, 1023, 1024, 1025, MAX };
enum { NSIZE = sizeof size / sizeof *size };

/* Number i of sum `sum` on rank r in a step: of every magnitude. */
static float value(int step, int sum, int r, size_t i)
{
    uint64_t key = hps_rng_sub(hps_rng_key(9, "sum"), (uint64_t)((step * SUMS + sum) * 64 + r));
    float x = hps_rng_unit(key, i) - 0.5f;
    return i % 3 == 0 ? x * 1e-30f : i % 3 == 1 ? x : x * 1e30f;
}

static float rounded(const struct hps_codec_ops *codec, float x)
{
    uint16_t to;

    codec->encode(1, 1, &x, &to);
    codec->decode(1, 1, &to, &x);
    return x;
}

static void check(const struct hps_codec_ops *codec, int step, int sum, size_t n, const float *got)
{
    for (size_t i = 0; i < n; i++) {
        float twin = rounded(codec, value(step, sum, 0, i));
        for (int r = 1; r < hps_nrank(); r++)
            twin += rounded(codec, value(step, sum, r, i));
        twin = rounded(codec, twin);
        if (memcmp(&twin, &got[i], sizeof twin) != 0)
            HPS_DIE("step %d, sum %d, element %zu of %zu: %.9g, not %.9g", step, sum, i, n,
                    (double)got[i], (double)twin);
    }
}

static void run(struct hps_rounded_sum *s, const struct hps_codec_ops *codec, int step)
{
    static float x[SUMS][MAX], to[SUMS][MAX];

    for (int j = 0; j < SUMS; j++) {
        size_t n = size[(step + j) % NSIZE];
        for (size_t i = 0; i < n; i++)
            x[j][i] = value(step, j, hps_rank(), i);
        hps_rounded_sum_start(s, x[j], j % 2 ? x[j] : to[j], n);
        if ((step + j + hps_rank()) % 3 == 0) hps_rounded_sum_done(s, j + 1, false);
        if ((step + hps_rank()) % 2 == 0 && j == 3 && !hps_rounded_sum_done(s, 2, true))
            HPS_DIE("a wait came back before the sums were done");
    }
    if (step % 3 == 0)
        while (!hps_rounded_sum_done(s, SUMS, false))
            continue;
    if (!hps_rounded_sum_done(s, SUMS, true)) HPS_DIE("a wait for all came back early");
    hps_rounded_sum_reset(s);
    for (int j = 0; j < SUMS; j++)
        check(codec, step, j, size[(step + j) % NSIZE], j % 2 ? x[j] : to[j]);
}

static void run_all(MPI_Comm world, const struct hps_codec_ops *codec)
{
    struct hps_message_count count = { 0 };
    struct hps_rounded_sum *s = hps_rounded_sum_new(world, SUMS, codec, &count);

    for (int step = 0; step < 2 * NSIZE; step++)
        run(s, codec, step);
    hps_rounded_sum_free(s);
    /* for fp16 the largest are too large */
    double error = hps_message_error(&count), limit = codec == &hps_codec_fp16 ? 1 : codec->share;
    if (count.n == 0 || !(error > 0 && error <= limit))
        HPS_DIE("%s: an error of %g in %lld", codec->name, error, count.n);
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    run_all(world, &hps_codec_bf16);
    run_all(world, &hps_codec_fp16);
    hps_rounded_sum_free(NULL);
    if (hps_mem_held_bytes() != 0) HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
