/* dense.c - the channel of a worker for dense weights: which pieces of them its ranks and the
 * servers exchange. */
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "ps/dense_impl.h"

/* The ranks in comm of n ranks of the world. To free. */
static int *ranks_in(MPI_Comm comm, MPI_Comm world, int n, const int *r)
{
    int *at = hps_mem_new((size_t)n, sizeof *at);
    MPI_Group some, all;

    HPS_MPI(MPI_Comm_group(comm, &some));
    HPS_MPI(MPI_Comm_group(world, &all));
    HPS_MPI(MPI_Group_translate_ranks(all, n, r, some, at));
    HPS_MPI(MPI_Group_free(&some));
    HPS_MPI(MPI_Group_free(&all));
    return at;
}

/* Where the weights and the running states of the layers before l end in those of all. */
static void offsets(const struct hps_net *net, int l, size_t *param, size_t *running)
{
    *param = *running = 0;
    for (int i = 0; i < l; i++) {
        *param += net->layer[i].nparam;
        *running += net->layer[i].nrunning;
    }
}

/* How a stage meets server j, seen from replica p of k: the share of the server, cut to the stage.
 * Empty: end <= first. */
static struct hps_dense_piece meet(size_t first, size_t end, size_t all, int N, int j, int p, int k)
{
    size_t share = hps_dense_share_of(all, N, j), b = hps_dense_share_of(all, N, j + 1);
    size_t a = share > first ? share : first;
    struct hps_dense_piece x = { .at = a - share };

    b = b < end ? b : end;
    x.first = a - first;
    x.end = b > a ? b - first : x.first;
    x.push = x.first + hps_dense_share_of(x.end - x.first, k, p);
    x.push_end = x.first + hps_dense_share_of(x.end - x.first, k, p + 1);
    return x;
}

/* The pieces between replica p of stage s and server j, which are me and `peer`. */
static void add(struct hps_dense *d, const struct hps_net *net, const struct hps_plan *plan,
                const struct hps_team *team, int s, int p, int j, int peer)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    size_t first, end, all, r0, r1, rall;

    offsets(net, g->first, &first, &r0);
    offsets(net, g->last + 1, &end, &r1);
    offsets(net, net->L, &all, &rall);
    int part = hps_team_part(team, s);
    int k = hps_team_nreplica(team, s);
    struct hps_dense_piece x = meet(first, end, all, team->nserver, j, p, k);
    x.peer = peer;
    x.part = part;
    x.tag = part * HPS_DENSE_NTAG + HPS_DENSE_WEIGHTS;
    x.shared = hps_shm_is(d->shm, peer);
    if (x.end > x.first && !x.shared && hps_codec_converts(d->codec))
        x.code = hps_mem_new(d->codec->bytes(x.push_end - x.push), sizeof *x.code);
    if (x.end > x.first) d->piece[d->npiece++] = x;
    if (j > 0 || r1 == r0) return;
    d->states[d->nstates++] = (struct hps_dense_states){
        .peer = peer, .tag = part * HPS_DENSE_NTAG + HPS_DENSE_STATES, .part = part,
        .n = r1 - r0, .base = r0, .pushes = p == 0,
        .pair = hps_mem_new(2 * (r1 - r0), sizeof(double)),
        .value = hps_mem_new(r1 - r0, sizeof(float))
    };
}

/* All pieces of this rank with the others of the channel. */
static void list(struct hps_dense *d, const struct hps_net *net, const struct hps_plan *plan,
                 const struct hps_team *team, int worker)
{
    size_t max = (size_t)(team->serves ? team->R * HPS_MY_STAGES : team->nserver * HPS_MY_STAGES);

    d->piece = hps_mem_new(max, sizeof *d->piece);
    d->states = hps_mem_new(max, sizeof *d->states);
    d->request = hps_mem_new(3 * max, sizeof *d->request);
    for (int s = 0; s < team->S; s++) {
        int k = hps_team_nreplica(team, s);
        int *peer = ranks_in(d->comm, team->world, k, team->rank[s] + worker * k);
        for (int p = 0; p < k && team->serves; p++)
            add(d, net, plan, team, s, p, d->weights->me, peer[p]);
        hps_mem_free(peer);
        for (int j = 0; j < team->nserver && hps_team_has_stage(team, s); j++)
            add(d, net, plan, team, s, team->my_replica, j, j);
    }
}

/* Memory of its own: of a server whose share no rank of its host sees; of a rank of a GPU. */
static void make_memory(struct hps_dense *d)
{
    size_t floats = d->weights ? d->weights->end - d->weights->first : 0;

    for (int i = 0; i < HPS_MY_STAGES && d->stage[i]; i++)
        floats += d->stage[i]->dev->host ? 0 : d->stage[i]->nparam;
    if (d->weights && d->shm) return;
    d->out = d->own_out = hps_mem_new(floats, sizeof *d->out);
    d->in = d->own_in = hps_mem_new(floats, sizeof *d->in);
}

struct hps_dense *hps_dense_new(const struct hps_plan *plan, const struct hps_team *team,
                                int worker, MPI_Comm comm, struct hps_slice *const *stage,
                                struct hps_dense_weights *weights,
                                const struct hps_codec_ops *codec)
{
    struct hps_dense *d = hps_mem_new(1, sizeof *d);
    static const int dim[HPS_DENSE_BUFFERS] = { HPS_DENSE_ROW, HPS_DENSE_ROW, HPS_DENSE_ROW };
    struct hps_slice *any = weights ? weights->slice : stage[0];

    HPS_MPI(MPI_Comm_dup(comm, &d->comm));
    d->weights = weights;
    d->codec = codec;
    for (int i = 0; i < team->nmine && stage; i++)
        d->stage[i] = stage[i];
    d->shm = hps_shm_new(any->dev->host, HPS_DENSE_BUFFERS, dim, comm);
    list(d, any->net, plan, team, worker);
    make_memory(d);
    return d;
}

void hps_dense_free(struct hps_dense *d)
{
    if (!d) return;
    if (d->nrequest > 0) hps_wait_all(d->nrequest, d->request);
    for (int i = 0; i < d->nstates; i++) {
        hps_mem_free(d->states[i].pair);
        hps_mem_free(d->states[i].value);
    }
    for (int i = 0; i < d->npiece; i++)
        hps_mem_free(d->piece[i].code);
    hps_mem_free(d->piece);
    hps_mem_free(d->states);
    hps_mem_free(d->request);
    hps_mem_free(d->own_out);
    hps_mem_free(d->own_in);
    hps_shm_free(d->shm);
    HPS_MPI(MPI_Comm_free(&d->comm));
    hps_mem_free(d);
}
