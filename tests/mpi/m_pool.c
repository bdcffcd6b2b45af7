/* m_pool: the pool is the same on all ranks, partitions them, gives emulated ranks a type of their
 * own, refuses ranks that do not exist on all ranks alike, and knows a link for every pair. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/world.h"
#include "hw/pool.h"

static void must(bool held, const char *what)
{
    if (!held)
        HPS_DIE("%s", what);
}

/* Some bytes are the same on every rank. */
static void must_agree(const void *mine, size_t bytes, MPI_Comm world, const char *what)
{
    char *root = hps_mem_new(bytes, 1);

    if (hps_rank() == 0)
        memcpy(root, mine, bytes);
    HPS_MPI(MPI_Bcast(root, (int)bytes, MPI_BYTE, 0, world));
    must(memcmp(root, mine, bytes) == 0, what);
    hps_mem_free(root);
}

static struct hps_pool *gather(const char *text, const struct hps_node *node, MPI_Comm world)
{
    struct hps_deck *deck;
    struct hps_pool_opt opt;
    struct hps_pool *pool = NULL;

    must(hps_deck_parse(&deck, "m.yaml", text, strlen(text), 0, NULL) == HPS_OK, "the deck parses");
    must(hps_pool_bind(&opt, deck) == HPS_OK, "the resources bind");
    enum hps_status s = hps_pool_gather(&pool, node, &opt, true, world);
    must((s == HPS_OK) == (pool != NULL), "a pool or a status");
    must_agree(&s, sizeof s, world, "the status is the same everywhere");
    hps_pool_opt_done(&opt);
    hps_deck_free(deck);
    return pool;
}

static void check(const struct hps_pool *pool, int T, MPI_Comm world)
{
    size_t types = (size_t)pool->T;
    int total = 0;

    must(pool->R == hps_nrank() && pool->T == T, "so many ranks and types");
    must_agree(pool->type, types * sizeof *pool->type, world, "types are the same everywhere");
    must_agree(pool->link, types * types * sizeof *pool->link, world, "links are the same");
    must_agree(pool->type_of, (size_t)pool->R * sizeof *pool->type_of, world, "ranks' types");
    for (int t = 0; t < T; t++)
        total += pool->type[t].nrank;
    must(total == pool->R, "types partition the ranks");
    for (int t = 0; t < T; t++)
        for (int u = 0; u < T; u++) {
            struct hps_link a = pool->link[t * T + u], b = pool->link[u * T + t];
            must(a.bytes_s > 0 && a.latency_s >= 0 && a.bytes_s <= b.bytes_s &&
                     a.bytes_s >= b.bytes_s,
                 "a rate, the same both ways");
            must(a.latency_s > 0 || (t == u && pool->type[t].nrank == 1), "a latency");
        }
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    struct hps_node node;
    int rank = hps_rank(), R = hps_nrank();
    char text[256];

    hps_node_probe(&node);
    node.threads = 1;                           /* whatever the launcher bound */
    node.cores = 1;
    node.memory_bytes_s = 1e9 + rank;
    struct hps_pool *pool = gather("", &node, world);
    check(pool, 1, world);
    hps_pool_free(pool);

    /* the last rank is slow, the others are of two CPU models in turn */
    snprintf(text, sizeof text, "resources: [{name: fast}, {name: slow, emulate: {ranks: %d, "
             "slow: 3}}]", R - 1);
    snprintf(node.cpu, sizeof node.cpu, "model %d", rank % 2);
    pool = gather(text, &node, world);
    check(pool, R > 2 ? 3 : R, world);
    must(pool->type[pool->type_of[R - 1]].slow >= 3, "the last rank emulates");
    hps_pool_free(pool);

    snprintf(text, sizeof text,
             "resources: [{name: fast}, {name: slow, emulate: {ranks: \"0-%d\"}}]", R);
    must(gather(text, &node, world) == NULL, "a rank beyond the run is refused");
    return hps_end(HPS_OK);
}
