/* row_lmdb.c - the row work of a training (perf/bin/row_work.h) by LMDB: a tree of whole numbers,
 * written through the map, never flushed, one transaction a step. It has one writer, so THREADS
 * does not matter; the page cache of the memory group is all its memory. Built by
 * `make perf/peers/row_lmdb`. */
#include <lmdb.h>
#include <string.h>

#include "../bin/row_work.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"

static void good(int rc)
{
    if (rc) HPS_DIE("LMDB: %s", mdb_strerror(rc));
}

struct store {
    const struct row_work *work;
    MDB_env *env;
    MDB_dbi rows;
    float *x;                   /* (stride) scratch */
};

static MDB_txn *begin(const struct store *s)
{
    MDB_txn *txn;

    good(mdb_txn_begin(s->env, NULL, 0, &txn));
    return txn;
}

static void *open_store(const struct row_work *w)
{
    struct store *s = hps_mem_new(1, sizeof *s);
    const unsigned flags = MDB_WRITEMAP | MDB_NOSYNC | MDB_NOMETASYNC | MDB_NORDAHEAD | MDB_NOLOCK;

    s->work = w;
    s->x = hps_mem_new(w->stride, sizeof *s->x);
    good(mdb_env_create(&s->env));
    good(mdb_env_set_mapsize(s->env, 4 * (size_t)w->nrow * w->row_bytes + ((size_t)1 << 30)));
    good(mdb_env_open(s->env, w->directory, flags, 0600));
    MDB_txn *txn = begin(s);
    good(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &s->rows));
    good(mdb_txn_commit(txn));
    return s;
}

static void close_store(void *context)
{
    struct store *s = context;

    mdb_env_close(s->env);
    hps_mem_free(s->x);
    hps_mem_free(s);
}

static void put(struct store *s, MDB_txn *txn, int row, const float *x, unsigned flags)
{
    unsigned number = (unsigned)row;
    MDB_val key = { sizeof number, &number }, value = { s->work->row_bytes, (void *)(intptr_t)x };

    good(mdb_put(txn, s->rows, &key, &value, flags));
}

static void fill(void *context, int first, int n, const float *x)
{
    struct store *s = context;
    MDB_txn *txn = begin(s);

    for (int i = 0; i < n; i++)
        put(s, txn, first + i, x + (size_t)i * s->work->stride, MDB_APPEND);
    good(mdb_txn_commit(txn));
}

static uint64_t step(void *context, const struct row_work_step *now,
                     const struct row_work_step *next)
{
    struct store *s = context;
    MDB_txn *txn = begin(s);
    uint64_t sum = 0;
    (void)next;

    for (size_t i = 0; i < now->n; i++) {
        unsigned number = (unsigned)now->row[i];
        MDB_val key = { sizeof number, &number }, value;
        good(mdb_get(txn, s->rows, &key, &value));
        memcpy(s->x, value.mv_data, s->work->row_bytes);
        sum += row_work_update(s->work, now->number, now->row[i], s->x);
        put(s, txn, now->row[i], s->x, 0);
    }
    good(mdb_txn_commit(txn));
    return sum;
}

int main(int argc, char **argv)
{
    static const struct row_work_store store = { open_store, fill, step, close_store };

    return row_work_main(argc, argv, &store);
}
