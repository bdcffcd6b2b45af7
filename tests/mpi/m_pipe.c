/* m_pipe: a micro-batch sent between stages of any two sizes arrives whole, both ways, with several
 * flights under way, also when ranks have no row of it, and when two ranks, or one with itself,
 * have several boundaries between them; on a card through the host, and as if MPI took its memory;
 * encoded, it is rounded as its encoding says, in half the bytes.
 * With the argument `wrong` the receiver expects another
 * step: then the run must end and name both ranks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/world.h"
#include "comm/pipe.h"
#include "data/data.h"
#include "tests/lib/device.h"

enum { MAX_N = 64, FLIGHTS = 3, STEPS = 2 };

/* A boundary as a rank sees it from one of its stages. */
struct side {
    const struct hps_team *team;
    struct hps_dev *dev;
    struct hps_pipe *pipe;
    int stage, side;                    /* +1: the next stage is behind it */
    int width[2];
    const struct hps_codec_ops *codec;
    size_t rows;
    float *out[FLIGHTS], *in[FLIGHTS];
};

static float value(const struct side *s, enum hps_way way, long long step, int m, long long row,
                   int c)
{
    int before = s->side == 1 ? s->stage : s->stage - 1;
    return (float)((((before * 3 + step) * 5 + m) * 100 + row) * 16 + c) + (way ? 0.5f : 0.0f);
}

/* As it arrives. */
static float arrives(const struct hps_codec_ops *codec, float x)
{
    uint16_t to;

    if (!hps_codec_converts(codec)) return x;
    codec->encode(1, 1, &x, &to);
    codec->decode(1, 1, &to, &x);
    return x;
}

/* My rows of micro-batch m, written or checked. */
static void fill(const struct side *s, enum hps_way way, long long step, int m, int n, float *buf,
                 bool check)
{
    const struct hps_team *t = s->team;
    long long first = hps_share(n, t->nreplica, t->my_replica);
    long long end = hps_share(n, t->nreplica, t->my_replica + 1);

    for (long long row = first; row < end; row++)
        for (int c = 0; c < s->width[way]; c++, buf++) {
            float x = value(s, way, step, m, row, c);
            if (!check)
                *buf = x;
            else if (*buf != arrives(s->codec, x))
                HPS_DIE("stage %d way %d step %lld micro-batch %d of %d rows: row %lld, column %d "
                        "is wrong", s->stage, (int)way, step, m, n, row, c);
        }
}

static enum hps_way out_of(const struct side *s)
{
    return s->side == 1 ? HPS_WAY_FORWARD : HPS_WAY_BACKWARD;
}

/* A step: FLIGHTS micro-batches under way, my stages send one way and receive the other. */
static void begin(struct side *s, long long step, int m, int n)
{
    enum hps_way out = out_of(s), in = 1 - out;
    int at = (m + (int)step) % FLIGHTS;                 /* a flight's buffer is not always one */

    float made[MAX_N * 16] = { 0 };
    fill(s, out, step, m, n + m, made, false);
    s->dev->ops->copy_to_device(s->dev, s->out[at], made, s->rows * 16 * sizeof *made);
    hps_pipe_recv(s->pipe, in, m, step, m, n + m, s->in[at]);
    hps_pipe_send(s->pipe, out, m, step, m, n + m, s->out[at]);
    hps_pipe_poll(s->pipe);
}

static void end(struct side *s, long long step, int m, int n)
{
    hps_pipe_wait(s->pipe, 1 - out_of(s), m);
    s->dev->ops->sync(s->dev);
    fill(s, 1 - out_of(s), step, m, n + m, s->in[(m + (int)step) % FLIGHTS], true);
    hps_pipe_sent(s->pipe, out_of(s), m);
}

static void turn(struct side *s, int nside, long long step, int n)
{
    for (int m = 0; m < FLIGHTS; m++)
        for (int i = nside - 1; i >= 0; i--)
            begin(&s[i], step, m, n);
    for (int m = FLIGHTS - 1; m >= 0; m--)              /* waiting goes in any order */
        for (int i = 0; i < nside; i++)
            end(&s[i], step, m, n);
}

static void open_side(struct side *s, struct hps_dev *dev, int rows)
{
    struct hps_pipe_opt opt = { s->stage, s->side, { s->width[0], s->width[1] }, FLIGHTS, rows,
                                s->codec };
    if (hps_pipe_new(&s->pipe, s->team, dev, &opt) != HPS_OK)
        HPS_DIE("no pipe");
    s->rows = (size_t)rows;
    for (int m = 0; m < FLIGHTS; m++) {
        s->out[m] = hps_mem_new((size_t)rows * 16, sizeof(float));
        s->in[m] = hps_mem_new((size_t)rows * 16, sizeof(float));
    }
}

static void close_side(struct side *s, int n, int rows)
{
    const struct hps_team *t = s->team;
    bool some = s->width[out_of(s)] > 0 && rows > 0 &&
                hps_share(n + 2, t->nreplica, t->my_replica) <
                hps_share(n + 2, t->nreplica, t->my_replica + 1);

    if (n > 2 && (hps_pipe_bytes(s->pipe) > 0) != some)
        HPS_DIE("%g bytes counted", hps_pipe_bytes(s->pipe));
    const struct hps_message_count *count = hps_pipe_count(s->pipe);
    bool encodes = hps_codec_converts(s->codec) && some;
    if ((n > 2 && (count->bytes > 0) != encodes) || count->plain_bytes != 2 * count->bytes ||
        count->bytes > hps_pipe_bytes(s->pipe))
        HPS_DIE("%g of %g bytes counted as encoded", count->bytes, count->plain_bytes);
    if (n > 2 && encodes && !(hps_message_error(count) <= s->codec->share))
        HPS_DIE("%s: an error of %g", s->codec->name, hps_message_error(count));
    hps_pipe_free(s->pipe);
    for (int m = 0; m < FLIGHTS; m++) {
        hps_mem_free(s->out[m]);
        hps_mem_free(s->in[m]);
    }
}

/* All boundaries of all my stages at once. */
static void run(const struct hps_team *team, struct hps_dev *dev, int n, int forward, int backward,
                const struct hps_codec_ops *codec)
{
    struct side s[2 * HPS_MY_STAGES];
    int rows = (n + FLIGHTS - 1 + team->nreplica - 1) / team->nreplica, nside = 0;

    for (int i = 0; i < team->nmine; i++)
        for (int side = -1; side <= 1; side += 2) {
            int other = team->my_stage[i] + side;
            if (other < 0 || other == team->S) continue;
            s[nside] = (struct side){ .team = team, .dev = dev, .stage = team->my_stage[i],
                                      .side = side, .width = { forward, backward },
                                      .codec = codec };
            open_side(&s[nside++], dev, rows);
        }
    for (long long step = 0; step < STEPS; step++)
        turn(s, nside, step, n);
    turn(s, nside, STEPS, 0);                           /* the last batch is short */
    for (int i = 0; i < nside; i++)
        close_side(&s[i], n, rows);
}

static void run_all(struct hps_plan *plan, const int *stage_of, struct hps_dev *dev,
                    MPI_Comm world)
{
    static const int rows[] = { 0, 1, 2, 5, 16, 33 };
    struct hps_team *team;

    if (hps_team_new(&team, plan, stage_of, world) != HPS_OK)
        HPS_DIE("no team");
    for (size_t i = 0; i < sizeof rows / sizeof *rows && team->nmine > 0; i++) {
        run(team, dev, rows[i], 7, 16, &hps_codec_fp32);
        run(team, dev, rows[i], 1, 0, &hps_codec_fp32);
        run(team, dev, rows[i], 7, 16, i % 2 ? &hps_codec_bf16 : &hps_codec_fp16);
    }
    hps_team_free(team);
    hps_plan_free(plan);
}

/* Stage 0 of `front` ranks, stage 1 of `back`, the rest idle. */
static void between(MPI_Comm world, struct hps_dev *dev, int front, int back)
{
    int stage_of[MAX_N];

    for (int r = 0; r < hps_nrank(); r++)
        stage_of[r] = r < back ? 1 : r < back + front ? 0 : -1;
    run_all(hps_plan_new(2, 2), stage_of, dev, world);
}

/* Pairs of stages that share; `front` ranks do stage 0, the rest stage 1. */
static void shared(MPI_Comm world, struct hps_dev *dev, int front, int S, const int (*pair)[2],
                   int npair)
{
    struct hps_plan *plan = hps_plan_new(S, S);
    int stage_of[MAX_N];

    hps_plan_share(plan, npair);
    for (int i = 0; i < npair; i++)
        for (int a = 0; a < 2; a++)
            plan->share[i][a] = pair[i][a];
    for (int r = 0; r < hps_nrank(); r++)
        stage_of[r] = r >= front;
    run_all(plan, stage_of, dev, world);
}

static void expect_wrong(MPI_Comm world, struct hps_dev *dev)
{
    struct hps_team *team;
    struct hps_pipe *pipe;
    float x[4] = { 0 };

    struct hps_plan *plan = hps_plan_new(2, 2);
    if (hps_nrank() != 2 || hps_team_new(&team, plan, (int[]){ 0, 1 }, world) != HPS_OK)
        HPS_DIE("two ranks are needed");
    bool front = team->my_stage[0] == 0;
    struct hps_pipe_opt opt = { team->my_stage[0], front ? 1 : -1, { 2, 0 }, 1, 2,
                                &hps_codec_fp32 };
    if (hps_pipe_new(&pipe, team, dev, &opt) != HPS_OK)
        HPS_DIE("no pipe");
    if (front) {
        hps_pipe_send(pipe, HPS_WAY_FORWARD, 0, 41, 0, 2, x);
        hps_pipe_sent(pipe, HPS_WAY_FORWARD, 0);
    } else {
        hps_pipe_recv(pipe, HPS_WAY_FORWARD, 0, 42, 0, 2, x);
        hps_pipe_wait(pipe, HPS_WAY_FORWARD, 0);
    }
    hps_pipe_free(pipe);
    hps_team_free(team);
    hps_plan_free(plan);
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    struct hps_dev dev;

    if (HPS_TEST_DEV.open(&dev, 0, 1) != HPS_OK)
        HPS_DIE("no device");
    if (argc > 1 && strcmp(argv[1], "wrong") == 0)
        expect_wrong(world, &dev);
    bool host = dev.host;
    for (int far = 0; far < 2; far++) {                 /* as if device memory were elsewhere */
        dev.host = host && !far;
        setenv("HETERPS_CUDA_AWARE", !host && far ? "1" : "0", 1);
        for (int front = 1; front < hps_nrank(); front++)
            for (int back = 1; front + back <= hps_nrank(); back++)
                between(world, &dev, front, back);
        shared(world, &dev, hps_nrank(), 2, (const int[][2]){ { 0, 1 } }, 1);
        for (int front = 1; front < hps_nrank(); front++) {
            shared(world, &dev, front, 3, (const int[][2]){ { 0, 2 } }, 1);
            shared(world, &dev, front, 3, (const int[][2]){ { 1, 2 } }, 1);
            shared(world, &dev, front, 4, (const int[][2]){ { 0, 2 }, { 1, 3 } }, 2);
        }
    }
    HPS_TEST_DEV.close(&dev);
    if (hps_mem_held_bytes() != 0)
        HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
