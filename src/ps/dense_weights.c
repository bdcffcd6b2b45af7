/* dense_weights.c - the dense weights of all layers on a server, which updates its share. */
#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "data/data.h"
#include "ps/dense_impl.h"

size_t hps_dense_share_of(size_t nparam, int n, int j)
{
    return (size_t)hps_share((long long)nparam, n, j);
}

enum hps_status hps_dense_weights_new(struct hps_dense_weights **out, const struct hps_net *net,
                                      const struct hps_team *team, struct hps_dev *dev,
                                      const struct hps_train_opt *train, uint64_t seed)
{
    struct hps_dense_weights *w = hps_mem_new(1, sizeof *w);
    struct hps_slice_opt opt = { 0, net->L - 1, 0, 1, train, seed, true };
    int rank;

    HPS_MPI(MPI_Comm_rank(team->world, &rank));
    w->n = team->nserver;
    while (team->server[w->me] != rank)
        w->me++;
    enum hps_status st = hps_slice_new(&w->slice, net, dev, &opt);
    if (!st) {
        w->first = hps_dense_share_of(w->slice->nparam, w->n, w->me);
        w->end = hps_dense_share_of(w->slice->nparam, w->n, w->me + 1);
    }
    *out = w;
    return st;
}

void hps_dense_weights_free(struct hps_dense_weights *w)
{
    if (!w) return;
    hps_slice_free(w->slice);
    hps_mem_free(w);
}

struct hps_slice *hps_dense_slice(const struct hps_dense_weights *w)
{
    return w->slice;
}

/* Shares of x (nparam) from the servers that have them. */
static void gather(const struct hps_dense_weights *w, float *x, MPI_Comm servers)
{
    int *count = hps_mem_new((size_t)w->n, sizeof *count);
    int *at = hps_mem_new((size_t)w->n, sizeof *at);

    assert(w->slice->nparam <= INT_MAX);
    for (int j = 0; j < w->n; j++) {
        at[j] = (int)hps_dense_share_of(w->slice->nparam, w->n, j);
        count[j] = (int)hps_dense_share_of(w->slice->nparam, w->n, j + 1) - at[j];
    }
    HPS_MPI(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, count, at, MPI_FLOAT, servers));
    hps_mem_free(count);
    hps_mem_free(at);
}

void hps_dense_gather(struct hps_dense_weights *w, MPI_Comm servers)
{
    float *plane = hps_mem_new(w->slice->nparam, sizeof *plane);

    gather(w, w->slice->param, servers);
    for (int p = 0; p < hps_slice_nplane(w->slice); p++) {
        hps_slice_states_out(w->slice, p, plane);
        gather(w, plane, servers);
        hps_slice_states_in(w->slice, p, plane);
    }
    hps_mem_free(plane);
}
