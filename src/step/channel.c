/* channel.c - a channel for each worker. Servers open all of them, in the order of the workers. */
#include "step/channel.h"

#include <math.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"

enum hps_status hps_channels_open(struct hps_channel **out, int *n, const struct hps_net *net,
                                  const struct hps_plan *plan, const struct hps_team *team,
                                  struct hps_dev *dev, const struct hps_ps_opt *opt)
{
    struct hps_channel *list = hps_mem_new((size_t)team->W, sizeof *list);
    enum hps_status st = HPS_OK;

    *n = 0;
    for (int w = 0; !st && w < team->W; w++) {
        struct hps_ps_opt mine = *opt;
        struct hps_channel c = { .comm = hps_team_of_worker(team, w), .norm = MPI_REQUEST_NULL };
        mine.worker = w;
        mine.tables = team->serves && *n > 0 ? list[0].ps : NULL;
        st = hps_ps_new(&c.ps, net, plan, team, dev, &mine);
        if (c.comm == MPI_COMM_NULL) {
            bool kept = !hps_team_works(team) && w == 0;
            if (kept) list[0].ps = c.ps;
            if (!kept) hps_ps_free(c.ps);
            continue;
        }
        hps_step_agree_init(&c.agree, c.comm);
        list[(*n)++] = c;
    }
    *out = list;
    return st;
}

void hps_channels_join_dense(struct hps_channel *c, int n, const struct hps_plan *plan,
                             const struct hps_team *team, struct hps_slice *const *stage,
                             struct hps_dense_weights *weights, const struct hps_codec_ops *codec)
{
    for (int i = 0; i < n; i++)
        c[i].dense = hps_dense_new(plan, team, team->serves ? i : team->worker, c[i].comm, stage,
                                   weights, codec);
}

void hps_channels_close(struct hps_channel *c, int n)
{
    for (int i = 0; i < n; i++)
        hps_dense_free(c[i].dense);
    if (c && n == 0) hps_ps_free(c[0].ps);
    for (int i = n; i-- > 0;) {                 /* the first one has the tables */
        hps_ps_free(c[i].ps);
        hps_step_agree_done(&c[i].agree);
        HPS_MPI(MPI_Comm_free(&c[i].comm));
    }
    hps_mem_free(c);
}

double hps_channel_bytes(const struct hps_channel *c)
{
    return hps_ps_bytes(c->ps) + (c->dense ? hps_dense_bytes(c->dense) : 0);
}

void hps_channel_count(const struct hps_channel *c, struct hps_message_count count[HPS_MESSAGES])
{
    struct hps_message_count *dense = &count[HPS_MESSAGE_DENSE];

    hps_ps_count(c->ps, count);
    if (c->dense) hps_message_count_add(dense, hps_dense_count(c->dense), 1);
}

void hps_channel_norm_begin(struct hps_channel *c, double norm2)
{
    c->norm2[0] = norm2;
    HPS_MPI(MPI_Iallreduce(&c->norm2[0], &c->norm2[1], 1, MPI_DOUBLE, MPI_SUM, c->comm, &c->norm));
}

bool hps_channel_norm_arrived(struct hps_channel *c)
{
    return hps_wait_arrived(1, &c->norm, false);
}

double hps_channel_norm_end(struct hps_channel *c)
{
    hps_wait_all(1, &c->norm);
    return sqrt(c->norm2[1]);
}
