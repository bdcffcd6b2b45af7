/* m_gather: rows of tables that several ranks share lie in the file as they were when the save
 * began, in few writes, whatever is changed meanwhile and however little may be kept; a save that
 * comes to nothing leaves no message behind, so the next one is whole. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/world.h"
#include "ps/table.h"
#include "train/ckpt_write.h"

enum { TABLES = 3, DIM = 6 };

static const char path[] = "m_gather.part";

struct world {
    MPI_Comm comm;
    int R, me;
    struct hps_net net;
    struct hps_train_opt opt;
    struct hps_dev dev;
    struct hps_table *table[TABLES];
    float *then[TABLES]; /* my rows as they were when the save began */
};

static size_t bytes_of(const struct hps_table *t)
{
    return (size_t)t->nrow * t->stride * sizeof *t->row;
}

/* One row of seven of a table, others each time. */
static void train(const struct world *w, int which, uint64_t step)
{
    struct hps_table *t = w->table[which];
    struct hps_rule rule =
        hps_opt_rule(&w->opt, &w->net.table[which].override, hps_update_of(0, 1));
    int *at = hps_mem_new((size_t)t->nrow, sizeof *at), n = 0;
    float *grad = hps_mem_new((size_t)t->nrow * DIM, sizeof *grad);

    for (int r = 0; r < t->nrow; r++)
        if (hps_rng_bits(step, (uint64_t)r) % 7 == 0) at[n++] = r;
    for (int i = 0; i < n * DIM; i++)
        grad[i] = 1;
    hps_table_apply(t, &rule, (size_t)n, at, &(struct hps_row_sums){ .row = grad });
    hps_mem_free(grad);
    hps_mem_free(at);
}

static void begin(struct world *w, struct hps_ckpt_item *item, double share)
{
    uint64_t offset = 100;

    for (int i = 0; i < TABLES; i++) {
        struct hps_table *t = w->table[i];
        memcpy(w->then[i], t->row, bytes_of(t));
        item[i] = (struct hps_ckpt_item){ .kind = "table",
                                          .of = t->shape->name,
                                          .rows = t->shape->rows,
                                          .width = (int)t->stride,
                                          .offset = offset,
                                          .snapshot = hps_snapshot_new(t, share),
                                          .comm = w->comm };
        offset += (uint64_t)t->shape->rows * t->stride * sizeof(float);
    }
    if (w->me == 0) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (fd < 0 || ftruncate(fd, (off_t)offset) != 0 || close(fd) != 0)
            HPS_DIE("%s cannot be made", path);
    }
    HPS_MPI(MPI_Barrier(w->comm));
}

/* My blocks of the file. */
static void compare(const struct world *w, const struct hps_ckpt_item *it, int which)
{
    const struct hps_table *t = w->table[which];
    size_t block = HPS_CYCLIC_BLOCK * t->stride;
    float *got = hps_mem_new(block, sizeof *got);
    int fd = open(path, O_RDONLY);

    for (long long r = 0, b = t->part; r < t->nrow; r += HPS_CYCLIC_BLOCK, b += t->parts) {
        long long rows = t->nrow - r < HPS_CYCLIC_BLOCK ? t->nrow - r : HPS_CYCLIC_BLOCK;
        size_t bytes = (size_t)rows * t->stride * sizeof *got;
        off_t at = (off_t)(it->offset + (uint64_t)b * block * sizeof *got);
        if (pread(fd, got, bytes, at) != (ssize_t)bytes ||
            memcmp(got, w->then[which] + (size_t)r * t->stride, bytes) != 0)
            HPS_DIE("block %lld of table %d is another", b, which);
    }
    close(fd);
    hps_mem_free(got);
}

/* `whole`: to its end; else one rank gives up in the middle, and all stop. */
static void save(struct world *w, double share, bool whole)
{
    struct hps_ckpt_item item[TABLES];

    begin(w, item, share);
    struct hps_ckpt_write write = { .path = path, .n = TABLES, .item = item };
    write.gather = hps_gather_new(TABLES, item);
    if (!write.gather != (w->R == 1)) HPS_DIE("tables of one rank are no matter of messages");
    struct hps_background *errand = hps_background_new(hps_ckpt_write, &write);
    for (uint64_t step = 0; step < (whole ? 4 : 1); step++)
        for (int i = 0; i < TABLES; i++)
            train(w, i, step);
    write.quit = !whole && w->me == 0;
    for (bool over = false; !over;) {
        bool sent = !write.gather || hps_gather_sent(write.gather);
        int mine = sent && hps_background_done(errand, 0), n;
        if (write.gather) hps_gather_poll(write.gather);
        HPS_MPI(MPI_Allreduce(&mine, &n, 1, MPI_INT, MPI_SUM, w->comm));
        over = whole ? n == w->R : n > 0 || write.quit || w->me > 0;
    }
    if (!whole) write.quit = true;
    hps_background_free(errand);
    if (!whole && write.gather) hps_gather_stop(write.gather);
    hps_gather_free(write.gather);
    HPS_MPI(MPI_Barrier(w->comm));
    for (int i = 0; i < TABLES; i++) {
        hps_snapshot_free(item[i].snapshot);
        if (whole) compare(w, &item[i], i);
    }
    HPS_MPI(MPI_Barrier(w->comm));
}

int main(int argc, char **argv)
{
    struct hps_table_shape shape[TABLES] = {
        { .name = "small", .rows = 65, .dim = DIM, .init_std = 1 },
        { .name = "large", .rows = 300001, .dim = DIM, .init_std = 1 },
        { .name = "other", .rows = 70000, .dim = DIM, .init_std = 1 },
    };
    struct world w = { .comm = hps_begin(&argc, &argv, true),
                       .net = { .ntable = TABLES, .table = shape },
                       .opt = { .optimizer = "adagrad", .learning_rate = 0.1, .epsilon = 1e-8,
                                .decay = "none", .table_optimizer = "same" } };
    w.R = hps_nrank();
    w.me = hps_rank();
    if (hps_dev_cpu.open(&w.dev, 0, 1) != HPS_OK) HPS_DIE("no device");
    for (int i = 0; i < TABLES; i++) {
        struct hps_table_opt opt = { .part = w.me, .parts = w.R, .train = &w.opt, .seed = 1,
                                     .tier = hps_tier_find("device") };
        if (hps_table_new(&w.table[i], &w.net, i, &w.dev, &opt) != HPS_OK)
            HPS_DIE("no table");
        w.then[i] = hps_mem_new(bytes_of(w.table[i]) + 1, 1);
    }
    save(&w, 0.5, true);
    save(&w, 0.5, false);
    save(&w, 0, true);
    for (int i = 0; i < TABLES; i++) {
        hps_table_free(w.table[i]);
        hps_mem_free(w.then[i]);
    }
    hps_dev_cpu.close(&w.dev);
    if (w.me == 0) unlink(path);
    if (hps_mem_held_bytes() != 0) HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
