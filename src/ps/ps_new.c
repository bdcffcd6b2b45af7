/* ps_new.c - the tables of a run, their owners, and which of them can share requests. Which ranks
 * read or serve a table is computed on every rank from the same net, plan and team; only these then
 * hold anything. */

#include <assert.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "ps/ps_impl.h"

static int stage_of_layer(const struct hps_plan *plan, int l)
{
    int s = 0;
    while (plan->stage[s].last < l)
        s++;
    return s;
}

/* The next layer from `l` on that reads table t; L when there is none. */
static int next_reader(const struct hps_net *net, int t, int l)
{
    while (l < net->L && net->layer[l].table != t)
        l++;
    return l;
}

/* Whose tables they are: the ranks of all workers, or of one. */
struct whose {
    const struct hps_net *net;
    const struct hps_plan *plan;
    const struct hps_team *team;
    int worker;
};

/* Which ranks' stages read table t, or serve it? (R), to free. */
static bool *members_of(const struct whose *o, int t)
{
    const struct hps_net *net = o->net;
    const struct hps_team *team = o->team;
    bool *member = hps_mem_new((size_t)team->R, sizeof *member);

    for (int l = next_reader(net, t, 0); l < net->L; l = next_reader(net, t, l + 1))
        hps_team_mark_stage(team, stage_of_layer(o->plan, l), o->worker, member);
    hps_team_mark_servers(team, member);
    return member;
}

/* The communicator of the ranks that read or serve table t. Collective over world. */
static MPI_Comm comm_of(const struct whose *o, int t)
{
    bool *member = members_of(o, t);
    MPI_Comm comm = hps_team_of(o->team, member);

    hps_mem_free(member);
    return comm;
}

/* sums (ntable) [out]: do the owners of a table send pooled sums? Not from or to GPUs. Collective
 * over world. */
static void list_sums(const struct whose *o, const struct hps_dev *dev, bool *sums)
{
    const struct hps_net *net = o->net;
    const struct hps_team *team = o->team;
    bool *host = hps_mem_new((size_t)team->R, sizeof *host), any = false;

    for (int t = 0; t < net->ntable; t++)
        any |= net->table[t].sums;
    if (any) HPS_MPI(MPI_Allgather(&dev->host, 1, MPI_C_BOOL, host, 1, MPI_C_BOOL, team->world));
    for (int t = 0; t < net->ntable; t++) {
        bool *member = members_of(o, t), hosts = true;
        for (int r = 0; r < team->R; r++)
            hosts &= host[r] || !member[r];
        sums[t] = net->table[t].sums && hosts;
        hps_mem_free(member);
    }
    hps_mem_free(host);
}

/* Are the same rows of tables a and b requested on every rank? Then one request serves both. */
static bool same_requests(const struct whose *o, const bool *sums, int a, int b)
{
    const struct hps_net *net = o->net;

    if (net->table[a].rows != net->table[b].rows || sums[a] != sums[b]) return false;
    int la = next_reader(net, a, 0), lb = next_reader(net, b, 0);
    while (la < net->L && lb < net->L) {
        const int *lead = o->team->lead;
        if (lead[stage_of_layer(o->plan, la)] != lead[stage_of_layer(o->plan, lb)]) return false;
        if (!hps_net_same_ids(&net->layer[la], &net->layer[lb])) return false;
        la = next_reader(net, a, la + 1);
        lb = next_reader(net, b, lb + 1);
    }
    return la == net->L && lb == net->L;
}

/* List the layers of my stages that read table t, the first of the group. */
static void list_layers(struct hps_ps_group *g, const struct whose *o, int t)
{
    const struct hps_net *net = o->net;

    g->rows = net->table[t].rows;
    g->layer = hps_mem_new((size_t)net->L, sizeof *g->layer);
    for (int l = next_reader(net, t, 0); l < net->L; l = next_reader(net, t, l + 1))
        if (hps_team_has_stage(o->team, stage_of_layer(o->plan, l)))
            g->layer[g->nlayer++] = &net->layer[l];
}

/* Set for each layer of my stages which of my tables it reads and which lookup of its group. */
static void note_layers(struct hps_ps *s, const struct whose *o, int mine)
{
    const struct hps_net *net = o->net;
    int t = s->table[mine].index, bag = 0;
    for (int l = next_reader(net, t, 0); l < net->L; l = next_reader(net, t, l + 1)) {
        int stage = stage_of_layer(o->plan, l);
        if (!hps_team_has_stage(o->team, stage)) continue;
        if (bag == 0) s->table[mine].stage = stage;
        s->layer_table[l] = mine;
        s->layer_bag[l] = bag++;
        s->group[s->table[mine].group].index |= !net->layer[l].type->host_needs_no_index;
    }
}

/* Make the groups of all tables, the same on every rank; mine (ntable) [out]: my number of the
 * group of a table, -1 where this rank is no member. */
static void make_groups(struct hps_ps *s, const struct whose *o, const bool *sums, int *mine)
{
    for (int t = 0; t < o->net->ntable; t++) {
        int like = 0;
        while (like < t && !same_requests(o, sums, like, t))
            like++;
        if (like < t) {
            mine[t] = mine[like];
            continue;
        }
        MPI_Comm comm = comm_of(o, t);
        mine[t] = comm == MPI_COMM_NULL ? -1 : s->ngroup;
        if (comm == MPI_COMM_NULL) continue;
        struct hps_ps_group *g = &s->group[s->ngroup++];
        g->comm = comm;
        g->sums = sums[t];
        list_layers(g, o, t);
    }
}

struct hps_ps_owner hps_ps_owner_of(const struct hps_ps *s, const struct hps_ps_table *st)
{
    struct hps_ps_owner o;
    MPI_Comm comm = s->group[st->group].comm;

    HPS_MPI(MPI_Comm_rank(comm, &o.part));
    HPS_MPI(MPI_Comm_size(comm, &o.parts));
    if (s->team->nserver > 0) o.parts = s->team->nserver;
    return o;
}

/* Collective over world. */
static MPI_Comm server_comm(const struct hps_team *team)
{
    bool *member = hps_mem_new((size_t)team->R, sizeof *member);
    MPI_Comm comm = MPI_COMM_NULL;

    hps_team_mark_servers(team, member);
    if (team->nserver > 0) comm = hps_team_of(team, member);
    hps_mem_free(member);
    return comm;
}

/* Memory that the ranks of a group on one host share, with buffers for each of its tables and,
 * behind them, for its requests. Collective over the group. */
static void make_shm(struct hps_ps *s, struct hps_dev *dev)
{
    int *dim =
        hps_mem_new((size_t)s->ntable * HPS_EXCHANGE_BUFFERS + HPS_REQUEST_BUFFERS, sizeof *dim);

    for (int g = 0; g < s->ngroup; g++) {
        int n = 0;
        for (int i = 0; i < s->ntable; i++)
            for (int b = 0; s->table[i].group == g && b < HPS_EXCHANGE_BUFFERS; b++)
                dim[n++] = s->table[i].table->dim;
        s->group[g].request_buffers = n;
        for (int b = 0; b < HPS_REQUEST_BUFFERS; b++)
            dim[n++] = 1;
        s->group[g].shm = hps_shm_new(dev->host, n, dim, s->group[g].comm);
    }
    hps_mem_free(dim);
}

/* Make the exchanges of the tables, which have consecutive buffers of their group's shared memory;
 * all of them, whichever is refused. Collective over the groups. */
static enum hps_status make_exchanges(struct hps_ps *s, struct hps_dev *dev)
{
    int *next = hps_mem_new((size_t)s->ngroup, sizeof *next);
    enum hps_status st = HPS_OK;

    for (int i = 0; i < s->ntable; i++) {
        struct hps_ps_table *t = &s->table[i];
        const struct hps_ps_group *g = &s->group[t->group];
        enum hps_status one = hps_exchange_new(&t->exchange, t->table, dev, g->shm,
                                               next[t->group]++, &s->codec, g->comm);
        bool by_number = t->table->format.weights == HPS_AS_FP32 || t->table->parts == 1;
        if (one) st = one;
        if (!st && !g->index && !g->sums && t->table->nrow > 0 && by_number)
            hps_exchange_read_in_place(t->exchange);
        if (!st && g->sums && t->table->part == 0 && t->table->parts > 1)
            HPS_SAY_ALL(HPS_INFO, "table '%s': its %d owners send sums of bags",
                        t->table->shape->name, t->table->parts);
    }
    hps_mem_free(next);
    return st;
}

/* The same of all ranks, one of which says why it is refused. Collective over team->world. */
static enum hps_status make_exchanges_of_all(struct hps_ps *s, struct hps_dev *dev)
{
    enum hps_status st = hps_agree(s->team->world, make_exchanges(s, dev));
    int me;

    HPS_MPI(MPI_Comm_rank(s->team->world, &me));
    if (st && me == 0)
        HPS_SAY_ALL(HPS_ERROR, "storage.messages: rows %s, gradients %s: GPUs that exchange rows "
                    "by NCCL send fp32", s->codec.rows->name, s->codec.gradients->name);
    return st;
}

/* Ranks of a worker that read tables keep rows for some clocks, and hold gradients back. Sums of
 * bags are no rows. */
static void make_caches(struct hps_ps *s, int worker)
{
    bool reads = !s->team->serves, holds = worker != HPS_TEAM_ALL_WORKERS;

    for (struct hps_ps_group *g = s->group; g < s->group + s->ngroup; g++) {
        g->holds = holds && !g->sums && s->train->cache_clocks > 0;
        if (g->holds && reads) g->cache = hps_row_cache_new(s->train->cache_clocks);
    }
}

static enum hps_status make_tables(struct hps_ps *s, const struct hps_net *net,
                                   struct hps_dev *dev, const struct hps_ps_opt *opt)
{
    enum hps_status st = HPS_OK;

    for (int i = 0; !st && i < s->ntable; i++) {
        struct hps_ps_table *t = &s->table[i];
        const struct hps_ps_group *g = &s->group[t->group];
        struct hps_ps_owner o = hps_ps_owner_of(s, t);
        if (s->borrows) {
            t->table = opt->tables->table[i].table;
            t->versions = opt->tables->table[i].versions;
            t->held = opt->tables->table[i].held;
            continue;
        }
        struct hps_row_format kept =
            hps_storage_row_format(opt->storage, &net->table[t->index], opt->train);
        struct hps_table_opt own = { o.part, o.parts, opt->train, opt->seed,
                                     g->tier, g->slots, kept.weights, kept.states };
        st = hps_table_new(&t->table, net, t->index, dev, &own);
        if (!st && s->versioned)
            t->versions.of = hps_mem_new((size_t)t->table->nrow, sizeof *t->versions.of);
        if (!st && s->versioned && opt->train->aggregate > 1)
            t->held = hps_aggregate_new((size_t)t->table->nrow, t->table->dim);
    }
    return st;
}

/* A worker's gradients may be those of several pulls. */
static void hold_versions(struct hps_ps *s)
{
    for (struct hps_ps_table *t = s->table; t < s->table + s->ntable; t++)
        if (s->group[t->group].holds) hps_pulled_hold(&t->pulled, (size_t)t->table->nrow);
}

/* List the tables that this rank is a member of, with their groups and layers. Collective over
 * world. */
static void list_tables(struct hps_ps *s, const struct whose *o, const struct hps_dev *dev)
{
    const struct hps_net *net = o->net;
    int *mine = hps_mem_new((size_t)net->ntable, sizeof *mine);
    bool *sums = hps_mem_new((size_t)net->ntable, sizeof *sums);

    list_sums(o, dev, sums);
    make_groups(s, o, sums, mine);
    for (int t = 0; t < net->ntable; t++) {
        if (mine[t] < 0) continue;
        s->table[s->ntable] = (struct hps_ps_table){ .index = t, .group = mine[t] };
        note_layers(s, o, s->ntable);
        s->ntable++;
    }
    hps_mem_free(mine);
    hps_mem_free(sums);
}

enum hps_status hps_ps_new(struct hps_ps **out, const struct hps_net *net,
                           const struct hps_plan *plan, const struct hps_team *team,
                           struct hps_dev *dev, const struct hps_ps_opt *opt)
{
    struct hps_ps *s = hps_mem_new(1, sizeof *s);
    enum hps_status st;

    *s = (struct hps_ps){ .net = net,
                          .team = team,
                          .servers = MPI_COMM_NULL,
                          .dev = dev,
                          .train = opt->train,
                          .codec = { hps_storage_codec(opt->storage, HPS_MESSAGE_ROWS),
                                     hps_storage_codec(opt->storage, HPS_MESSAGE_GRADIENTS) },
                          .delta = hps_storage_sends_differences(opt->storage),
                          .versioned = team->serves && opt->worker != HPS_TEAM_ALL_WORKERS,
                          .borrows = opt->tables != NULL };
    s->group = hps_mem_new((size_t)net->ntable, sizeof *s->group);
    s->table = hps_mem_new((size_t)net->ntable, sizeof *s->table);
    s->layer_table = hps_mem_new((size_t)net->L, sizeof *s->layer_table);
    s->layer_bag = hps_mem_new((size_t)net->L, sizeof *s->layer_bag);
    for (int l = 0; l < net->L; l++)
        s->layer_table[l] = s->layer_bag[l] = -1;
    list_tables(s, &(struct whose){ net, plan, team, opt->worker }, dev);
    s->servers = server_comm(team);
    make_caches(s, opt->worker);
    st = hps_agree(team->world, hps_ps_make_tiers(s, opt));
    if (!st) st = hps_agree(team->world, make_tables(s, net, dev, opt));
    if (!st && s->versioned) hold_versions(s);
    if (!st) st = hps_agree(team->world, hps_ps_make_paging(s, opt));
    if (!st) make_shm(s, dev);
    if (!st) st = make_exchanges_of_all(s, dev);
    if (st) {
        hps_ps_free(s);
        s = NULL;
    }
    *out = s;
    return st;
}

void hps_ps_free(struct hps_ps *s)
{
    if (!s) return;
    for (int i = 0; i < s->ntable; i++) {
        hps_exchange_free(s->table[i].exchange);
        if (!s->borrows) {
            hps_table_free(s->table[i].table);
            hps_mem_free(s->table[i].versions.of);
            hps_aggregate_free(s->table[i].held);
        }
        hps_pulled_free(&s->table[i].pulled);
    }
    for (int g = 0; g < s->ngroup; g++) {
        hps_shm_free(s->group[g].shm);
        if (!s->borrows) {
            hps_staging_free(s->group[g].staging);
            hps_paging_free(s->group[g].paging);
            hps_row_store_free(s->group[g].store);
            hps_slots_free(s->group[g].slots);
        }
        hps_row_cache_free(s->group[g].cache);
        hps_mem_free(s->group[g].layer);
        HPS_MPI(MPI_Comm_free(&s->group[g].comm));
    }
    if (s->servers != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&s->servers));
    hps_mem_free(s->group);
    hps_mem_free(s->table);
    hps_mem_free(s->layer_table);
    hps_mem_free(s->layer_bag);
    hps_mem_free(s->lookup);
    hps_mem_free(s);
}
