/* dl2_net.c - of each job j with features x[j], and their mean m over the n jobs,
 *     a[j] = relu(W1 (x[j], m) + b1),  h[j] = relu(W2 a[j] + b2),  out[j] = W3 h[j] + b3.
 * Its outputs: what one more step of the job is worth; its part in what an end is worth, a mean
 * over jobs; its part in the value of the state, a sum, since what is to come grows with n. */
#include "jobs/policy/dl2_net_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

enum { STEP, END, VALUE, SPARE, OUTPUTS };
enum { F = HPS_DL2_FEATURES, H = 16, N = HPS_DL2_WINDOW };

/* By inputs, then outputs, so that loops over outputs are of vectors. */
struct weights {
    float w1[F][H], mean[F][H], b1[H], w2[H][H], b2[H], w3[H][OUTPUTS], b3[OUTPUTS];
};
enum { NPARAM = sizeof(struct weights) / sizeof(float) };

struct hps_dl2_net {
    struct weights w, grad;
    float mean[NPARAM], square[NPARAM];         /* moments of Adam (Kingma, Ba 2015) */
    int steps;
};

/* What a forward pass leaves for the backward one. */
struct pass {
    float mean[F], a[N][H], h[N][H], out[N][OUTPUTS];
};

static void draw(float *w, int n, int inputs, double scale, uint64_t key)
{
    for (int k = 0; k < n; k++)
        w[k] = (float)(scale * sqrt(6.0 / inputs) * (2 * hps_rng_real(key, (uint64_t)k) - 1));
}

struct hps_dl2_net *hps_dl2_net_new(uint64_t key)
{
    struct hps_dl2_net *net = hps_mem_new(1, sizeof *net);

    draw(net->w.w1[0], 2 * F * H, 2 * F, 1, hps_rng_sub(key, 1));       /* mean, too */
    draw(net->w.w2[0], H * H, H, 1, hps_rng_sub(key, 2));
    draw(net->w.w3[0], OUTPUTS * H, H, 0.1, hps_rng_sub(key, 3));      /* outputs near 0 */
    return net;
}

void hps_dl2_net_free(struct hps_dl2_net *net)
{
    hps_mem_free(net);
}

void hps_dl2_net_copy(struct hps_dl2_net *to, const struct hps_dl2_net *from)
{
    to->w = from->w;
}

/* y (H) += w (columns, H) transposed, times x (columns). */
static inline void add_dense(int columns, float w[][H], const float *x, float *y)
{
    for (int c = 0; c < columns; c++)
        for (int r = 0; r < H; r++)
            y[r] += w[c][r] * x[c];
}

static inline void rectify(float *y)
{
    for (int r = 0; r < H; r++)
        y[r] = y[r] > 0 ? y[r] : 0;
}

static void run(struct hps_dl2_net *net, int n, const float *x, struct pass *p)
{
    struct weights *w = &net->w;
    float others[H];

    assert(n >= 1 && n <= N);
    memset(p->mean, 0, sizeof p->mean);
    for (int i = 0; i < n; i++)
        for (int f = 0; f < F; f++)
            p->mean[f] += x[i * F + f] / (float)n;
    memcpy(others, w->b1, sizeof others);
    add_dense(F, w->mean, p->mean, others);
    for (int i = 0; i < n; i++) {
        memcpy(p->a[i], others, sizeof others);
        add_dense(F, w->w1, x + (size_t)i * F, p->a[i]);
        rectify(p->a[i]);
        memcpy(p->h[i], w->b2, sizeof w->b2);
        add_dense(H, w->w2, p->a[i], p->h[i]);
        rectify(p->h[i]);
        memcpy(p->out[i], w->b3, sizeof w->b3);
        for (int c = 0; c < H; c++)
            for (int o = 0; o < OUTPUTS; o++)
                p->out[i][o] += w->w3[c][o] * p->h[i][c];
    }
}

double hps_dl2_net_forward(struct hps_dl2_net *net, int n, const float *x, double *logit)
{
    struct pass p;
    double value = 0;

    run(net, n, x, &p);
    logit[n] = 0;
    for (int i = 0; i < n; i++) {
        logit[i] = p.out[i][STEP];
        logit[n] += p.out[i][END] / n;
        value += p.out[i][VALUE] / N;
    }
    return value;
}

/* The gradient dw (columns, H) from dy (H). */
static inline void add_outer(int columns, const float *x, const float *dy, float dw[][H])
{
    for (int c = 0; c < columns; c++)
        for (int r = 0; r < H; r++)
            dw[c][r] += dy[r] * x[c];
}

static inline float dot(const float *x, const float *y, int n)
{
    float sum = 0;

    for (int k = 0; k < n; k++)
        sum += x[k] * y[k];
    return sum;
}

/* One job's part of the gradient; da (H) [out] that of its first layer. */
static void job_back(struct hps_dl2_net *net, const struct pass *p, int i, const float *x,
                     const float *dout, float *da)
{
    struct weights *g = &net->grad;
    float dh[H];

    for (int c = 0; c < H; c++) {
        for (int o = 0; o < OUTPUTS; o++)
            g->w3[c][o] += dout[o] * p->h[i][c];
        dh[c] = p->h[i][c] > 0 ? dot(net->w.w3[c], dout, OUTPUTS) : 0;
    }
    for (int o = 0; o < OUTPUTS; o++)
        g->b3[o] += dout[o];
    add_outer(H, p->a[i], dh, g->w2);
    for (int c = 0; c < H; c++) {
        g->b2[c] += dh[c];
        da[c] = p->a[i][c] > 0 ? dot(net->w.w2[c], dh, H) : 0;
    }
    add_outer(F, x, da, g->w1);
}

void hps_dl2_net_backward(struct hps_dl2_net *net, int n, const float *x, const double *dlogit,
                          double dvalue)
{
    float da[H], all[H] = { 0 };
    struct pass p;

    run(net, n, x, &p);
    for (int i = 0; i < n; i++) {
        float dout[OUTPUTS] = { [STEP] = (float)dlogit[i], [END] = (float)(dlogit[n] / n),
                                [VALUE] = (float)(dvalue / N) };
        job_back(net, &p, i, x + (size_t)i * F, dout, da);
        for (int c = 0; c < H; c++)
            all[c] += da[c];
    }
    for (int c = 0; c < H; c++)
        net->grad.b1[c] += all[c];
    add_outer(F, p.mean, all, net->grad.mean);
}

void hps_dl2_net_step(struct hps_dl2_net *net, double rate)
{
    const float keep = 0.9F, keep2 = 0.999F, tiny = 1e-8F;
    float *w = net->w.w1[0], *grad = net->grad.w1[0];
    double norm = 0;

    for (int k = 0; k < NPARAM; k++)
        norm += (double)grad[k] * grad[k];
    float scale = (float)(norm > 1 ? 1 / sqrt(norm) : 1);
    net->steps++;
    float first = (float)(1 - pow(keep, net->steps)), second = (float)(1 - pow(keep2, net->steps));
    for (int k = 0; k < NPARAM; k++) {
        float g = scale * grad[k];
        net->mean[k] = keep * net->mean[k] + (1 - keep) * g;
        net->square[k] = keep2 * net->square[k] + (1 - keep2) * g * g;
        w[k] += (float)rate * (net->mean[k] / first) / (sqrtf(net->square[k] / second) + tiny);
        grad[k] = 0;
    }
}
