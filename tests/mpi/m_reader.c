/* m_reader: the shares of all ranks together are the rows that one rank reads alone, for any number
 * of micro-batches, a short last batch and batches of one example, from one file or from two; two
 * files in their order are the one file that they were cut from. */
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/world.h"
#include "data/data.h"
#include "tests/lib/sample.h"

static const struct sample shape = { 1003, 100, 2, 1, 1, 42, 0 };
static const struct sample parts[] = { { 290, 100, 2, 1, 1, 42, 0 }, { 713, 0, 2, 1, 1, 42, 290 } };
static const bool all[2] = { true, true };

/* A number for everything that a row holds, and where it was read. */
static uint64_t row_mark(const struct hps_batch *b, int m, long long step, int i)
{
    uint64_t x = hps_rng_bits((uint64_t)b->example[i], (uint64_t)(step * 64 + m));
    float values[3] = { b->label[i], b->dense[2 * i], b->dense[2 * i + 1] };
    uint32_t bits[3];

    memcpy(bits, values, sizeof bits);
    for (int k = 0; k < 3; k++)
        x = hps_rng_bits(x, bits[k]);
    x = hps_rng_bits(x, (uint64_t)hps_ids_get(b->ids[0], (size_t)i));
    for (int k = b->offset[1][i]; k < b->offset[1][i + 1]; k++)
        x = hps_rng_bits(x, (uint64_t)hps_ids_get(b->ids[1], (size_t)k));
    return x;
}

static uint64_t run(const struct hps_data *data, bool shuffle, long long batch, int M, int part,
                    int parts)
{
    struct hps_order order = hps_order_of_data(data, shuffle, M == 3, 5);
    struct hps_steps steps = hps_steps_of(data->N, batch, M, 1, batch == 1 ? 50 : 0);
    struct hps_reader_opt opt = { .label = true, .dense = true, .slot = all,
                                  .part = part, .parts = parts, .ahead = 2 };
    const struct hps_batch *b;
    struct hps_reader *r;
    uint64_t sum = 0;
    long long step = 0;

    if (hps_reader_new(&r, data, &order, &steps, &opt, 0))
        HPS_DIE("no reader");
    for (; !hps_reader_next(r, &b) && b; step++)
        for (int m = 0; m < M; m++)
            for (int i = 0; i < b[m].B; i++)
                sum += row_mark(&b[m], m, step, i);
    if (step != steps.total)
        HPS_DIE("%lld steps instead of %lld", step, steps.total);
    hps_reader_free(r);
    return sum;
}

static void check(const struct hps_data *data, const struct hps_data *whole, MPI_Comm world)
{
    const long long batches[] = { 1, 64, 100, 1003, 5000 };

    for (int k = 0; k < 5; k++)
        for (int M = 1; M <= 7 && M <= batches[k]; M += 2) {
            bool shuffle = data == whole || k % 2;
            unsigned long long mine = run(data, shuffle, batches[k], M, hps_rank(), hps_nrank());
            unsigned long long sum;
            HPS_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, world));
            if (sum != run(shuffle ? data : whole, shuffle, batches[k], M, 0, 1))
                HPS_DIE("batch %lld, %d micro-batches: other rows than alone", batches[k], M);
        }
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    const struct hps_list pattern = { 1, (const char *[]){ "m_*.h5" } };
    struct hps_data *data, *two;

    if (hps_rank() == 0) {
        sample_write("m.h5", &shape);
        sample_write("m_0.h5", &parts[0]);
        sample_write("m_1.h5", &parts[1]);
    }
    HPS_MPI(MPI_Barrier(world));
    if (hps_data_open(&data, "m.h5", world) || hps_data_open_all(&two, &pattern, world))
        HPS_DIE("the sample cannot be opened");
    check(data, data, world);
    check(two, data, world);
    hps_data_close(two);
    hps_data_close(data);
    if (hps_data_open(&data, hps_rank() == 0 ? "m.h5" : "not on this rank", world) !=
        (hps_nrank() > 1 ? HPS_INPUT : HPS_OK))
        HPS_DIE("a file that some ranks lack was not heard of by all");
    hps_data_close(data);
    return hps_end(hps_mem_held_bytes() ? HPS_FAIL : HPS_OK);
}
