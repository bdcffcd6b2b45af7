/* row_ideal.c - how many rows of a step the best fixed set of rows lacks: that of the rows which
 * most batches of a dataset have, an ideal count of frequencies.
 *   row_ideal DATASET.h5 BATCH own|shared SLOTS
 *       prints "NAME VALUE": rows (of the table, all slots' own or one that they share), asked,
 *       misses (a step, with SLOTS rows in memory). Built by `make perf/bin/row_ideal`. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "row_work.h"

/* How many batches have the rows that most of them have. */
static double best(const struct row_work *w, long long slots)
{
    int *times = hps_mem_new((size_t)w->nrow, sizeof *times);
    long long *rows = hps_mem_new((size_t)w->nbatch + 1, sizeof *rows);     /* by times */
    double sum = 0;

    for (size_t i = 0; i < w->begin[w->nbatch]; i++)
        times[w->row[i]]++;
    for (int r = 0; r < w->nrow; r++)
        rows[times[r]]++;
    for (int k = w->nbatch; k > 0 && slots > 0; slots -= rows[k--])
        sum += (double)k * (double)(rows[k] < slots ? rows[k] : slots);
    hps_mem_free(times);
    hps_mem_free(rows);
    return sum;
}

int main(int argc, char **argv)
{
    struct row_work w = { 0 };

    hps_begin(NULL, NULL, false);
    if (argc != 5) HPS_DIE("row_ideal DATASET.h5 BATCH own|shared SLOTS");
    row_work_read(&w, argv[1], atoi(argv[2]), strcmp(argv[3], "shared") == 0);
    double asked = (double)w.begin[w.nbatch];
    hps_out("rows %d\nasked %.6g\nmisses %.6g\n", w.nrow, asked / w.nbatch,
            (asked - best(&w, atoll(argv[4]))) / w.nbatch);
    row_work_done(&w);
    return hps_end(hps_out_flush());
}
