/* m_pipe: a micro-batch sent between stages of any two sizes arrives whole, both ways, with several
 * flights under way, also when ranks have no row of it. With the argument `wrong` the receiver
 * expects another step: then the run must end and name both ranks. */
#include <string.h>

#include "base/mem.h"
#include "comm/pipe.h"
#include "model/data.h"

enum { MOST = 64, FLIGHTS = 3, STEPS = 2 };

struct side {
    struct hps_team *team;
    struct hps_pipe *pipe;
    int width[2];
    float *out[FLIGHTS], *in[FLIGHTS];
};

static float value(enum hps_way way, long long step, int m, long long row, int c)
{
    return (float)(((step * 5 + m) * 100 + row) * 16 + c) + (way ? 0.5f : 0.0f);
}

/* My rows of micro-batch m, written or checked. */
static void fill(const struct side *s, enum hps_way way, long long step, int m, int n, float *buf,
                 bool check)
{
    const struct hps_team *t = s->team;
    long long first = hps_share(n, t->nparts, t->my_part);
    long long end = hps_share(n, t->nparts, t->my_part + 1);

    for (long long row = first; row < end; row++)
        for (int c = 0; c < s->width[way]; c++, buf++) {
            float x = value(way, step, m, row, c);
            if (!check)
                *buf = x;
            else if (*buf != x)
                HPS_DIE("way %d step %lld micro-batch %d of %d rows: row %lld, column %d is wrong",
                        (int)way, step, m, n, row, c);
        }
}

/* A step: FLIGHTS micro-batches under way, my stage sends one way and receives the other. */
static void turn(struct side *s, int side, long long step, int n)
{
    enum hps_way out = side == 1 ? HPS_WAY_FORWARD : HPS_WAY_BACKWARD;
    enum hps_way in = side == 1 ? HPS_WAY_BACKWARD : HPS_WAY_FORWARD;

    for (int m = 0; m < FLIGHTS; m++) {                 /* a flight's buffer is not always one */
        int at = (m + (int)step) % FLIGHTS;
        fill(s, out, step, m, n + m, s->out[at], false);
        hps_pipe_recv(s->pipe, in, m, step, m, n + m, s->in[at]);
        hps_pipe_send(s->pipe, out, m, step, m, n + m, s->out[at]);
        hps_pipe_poll(s->pipe);
    }
    for (int m = FLIGHTS - 1; m >= 0; m--) {            /* waiting goes in any order */
        hps_pipe_wait(s->pipe, in, m);
        fill(s, in, step, m, n + m, s->in[(m + (int)step) % FLIGHTS], true);
        hps_pipe_sent(s->pipe, out, m);
    }
}

static void run(struct hps_team *team, struct hps_dev *dev, int side, int n, int forward,
                int backward)
{
    struct side s = { .team = team, .width = { forward, backward } };
    int rows = (n + FLIGHTS - 1 + team->nparts - 1) / team->nparts;

    if (hps_pipe_new(&s.pipe, team, dev, side, forward, backward, FLIGHTS, rows) != HPS_OK)
        HPS_DIE("no pipe");
    for (int m = 0; m < FLIGHTS; m++) {
        s.out[m] = hps_mem_new((size_t)rows * 16, sizeof(float));
        s.in[m] = hps_mem_new((size_t)rows * 16, sizeof(float));
    }
    for (long long step = 0; step < STEPS; step++)
        turn(&s, side, step, n);
    turn(&s, side, STEPS, 0);                           /* the last batch is short */
    if ((hps_pipe_bytes(s.pipe) > 0) != (rows > 0 && (side == 1 ? forward : backward) > 0 &&
        hps_share(n + 2, team->nparts, team->my_part) <
        hps_share(n + 2, team->nparts, team->my_part + 1)) && n > 2)
        HPS_DIE("%g bytes counted", hps_pipe_bytes(s.pipe));
    hps_pipe_free(s.pipe);
    for (int m = 0; m < FLIGHTS; m++) {
        hps_mem_free(s.out[m]);
        hps_mem_free(s.in[m]);
    }
}

/* Stage 0 of `front` ranks, stage 1 of `back`, the rest idle. */
static void between(MPI_Comm world, struct hps_dev *dev, int front, int back)
{
    static const int rows[] = { 0, 1, 2, 5, 16, 33 };
    int stage_of[MOST];
    struct hps_team *team;

    for (int r = 0; r < hps_nrank(); r++)
        stage_of[r] = r < back ? 1 : r < back + front ? 0 : -1;
    if (hps_team_new(&team, 2, stage_of, world) != HPS_OK)
        HPS_DIE("no team");
    for (size_t i = 0; i < sizeof rows / sizeof *rows && team->my_stage >= 0; i++) {
        int side = team->my_stage == 0 ? 1 : -1;
        run(team, dev, side, rows[i], 7, 16);
        run(team, dev, side, rows[i], 1, 0);
    }
    hps_team_free(team);
}

static void expect_wrong(MPI_Comm world, struct hps_dev *dev)
{
    struct hps_team *team;
    struct hps_pipe *pipe;
    float x[4] = { 0 };

    if (hps_nrank() != 2 || hps_team_new(&team, 2, (int[]){ 0, 1 }, world) != HPS_OK)
        HPS_DIE("two ranks are needed");
    bool front = team->my_stage == 0;
    if (hps_pipe_new(&pipe, team, dev, front ? 1 : -1, 2, 0, 1, 2) != HPS_OK)
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
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    struct hps_dev dev;

    if (hps_dev_cpu.open(&dev, 0, 1) != HPS_OK)
        HPS_DIE("no device");
    if (argc > 1 && strcmp(argv[1], "wrong") == 0)
        expect_wrong(world, &dev);
    for (int far = 0; far < 2; far++) {                 /* as if device memory were elsewhere */
        dev.host = !far;
        for (int front = 1; front < hps_nrank(); front++)
            for (int back = 1; front + back <= hps_nrank(); back++)
                between(world, &dev, front, back);
    }
    hps_dev_cpu.close(&dev);
    if (hps_mem_held_bytes() != 0)
        HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
