/* kern_loss.cu - losses, a thread or a warp for a row; kern_sum.cu sums them. */
#include "base/rng.h"
#include "hw/cuda/kern_impl.h"

/* With e = exp(-|x|) in (0, 1] nothing overflows and no digits cancel. */
struct logistic : hps_loss {
    double *losses;

    __device__ void operator()(size_t r, int) const
    {
        double v = (double)row_of(x, r)[0], t = (double)label[r], e = exp(-fabs(v));
        double p = v < 0 ? e / (1 + e) : 1 / (1 + e);
        losses[r] = (v < 0 ? 0 : v) - t * v + log1p(e);
        if (score) score[r] = (float)p;
        if (dx.data) put_to(row_of(dx, r), (float)((p - t) * (double)weight), dx.add);
    }
};

extern "C" int hps_kern_logistic(void *stream, struct hps_loss loss, double *losses)
{
    logistic f = { loss, losses };
    return run_each(stream, (size_t)loss.B, 1, f);
}

struct squared : hps_loss {
    double *losses;

    __device__ void operator()(size_t r, int) const
    {
        float v = row_of(x, r)[0];
        double off = (double)v - (double)label[r];
        losses[r] = off * off;
        if (score) score[r] = v;
        if (dx.data) row_of(dx, r)[0] = (float)(2 * off * (double)weight);
    }
};

extern "C" int hps_kern_squared(void *stream, struct hps_loss loss, double *losses)
{
    squared f = { loss, losses };
    return run_each(stream, (size_t)loss.B, 1, f);
}

struct hinge : hps_loss {
    float margin;
    double *losses;

    __device__ void operator()(size_t r, int) const
    {
        float v = row_of(x, r)[0], sign = label[r] > 0.5f ? 1.0f : -1.0f;
        float lack = margin - sign * v;
        losses[r] = lack <= 0 ? 0 : (double)lack;       /* propagates NaN */
        if (score) score[r] = v;
        if (dx.data) row_of(dx, r)[0] = lack > 0 ? -sign * weight : 0;
    }
};

extern "C" int hps_kern_hinge(void *stream, struct hps_loss loss, float margin, double *losses)
{
    hinge f = { loss, margin, losses };
    return run_each(stream, (size_t)loss.B, 1, f);
}

/* The largest logit is subtracted, so that no exponential overflows. */
struct classes : hps_loss {
    double *losses;

    /* The probability of the second of two classes, else the first of the likeliest classes. */
    __device__ float score_of(const float *v, int C, float top, double sum, int lane) const
    {
        int best = C - 1;
        if (C == 2) return (float)(exp((double)v[1] - (double)top) / sum);
        for (int c = C - 1 - lane; c >= 0; c -= WARP)
            best = v[c] == top ? c : best;
        return (float)warp_min(best);
    }
    __device__ void operator()(size_t r, int lane) const
    {
        const float *v = row_of(x, r);
        int C = x.width;
        bool known = label[r] >= 0 && label[r] < (float)C;
        float top = v[0];
        double sum = 0;
        for (int c = lane; c < C; c += WARP)
            top = v[c] > top ? v[c] : top;
        top = warp_max(top);
        for (int c = lane; c < C; c += WARP)
            sum += (double)expf(v[c] - top);
        sum = warp_sum(sum);
        float is = score_of(v, C, top, sum, lane);
        if (lane == 0 && score) score[r] = is;
        if (lane == 0)
            losses[r] = log(sum) + (double)top - (known ? (double)v[(int)label[r]] : (double)NAN);
        float share = (float)((double)weight / sum);
        for (int c = lane; dx.data && c < C; c += WARP)
            row_of(dx, r)[c] = share * expf(v[c] - top) -
                               (known && c == (int)label[r] ? weight : 0.0f);
    }
};

extern "C" int hps_kern_cross_entropy(void *stream, struct hps_loss loss, double *losses)
{
    classes f = { loss, losses };
    return run_rows(stream, (size_t)loss.B, f);
}

static __device__ __forceinline__ float dot(int n, const float *a, const float *b, int lane)
{
    float sum = 0;

    for (int i = lane; i < n; i += WARP)
        sum += a[i] * b[i];
    return warp_sum(sum);
}

/* ---- noise-contrastive estimation ---- */

struct nce : hps_loss {
    int D, K;
    float *e;
    double *losses;

    /* The loss of one class of a row; its weights are overwritten by their gradient. */
    __device__ double class_of(size_t b, int j, int lane) const
    {
        float *mine = e + (b * (size_t)K + (size_t)j) * (size_t)(D + 1);
        const float *v = row_of(x, b);
        float *d = dx.data ? dx.data + b * (size_t)D : NULL;
        double f = (double)dot(D, v, mine, lane) + (double)mine[D], want = j == 0 ? 1 : 0;
        double odds = f - log((double)(K - 1)), away = want > 0 ? -odds : odds;
        float force = (float)((1 / (1 + exp(-odds)) - want) * (double)weight);
        if (j == 0 && score && lane == 0) score[b] = (float)f;
        for (int i = lane; d && i < D; i += WARP) {
            d[i] = (j == 0 ? 0.0f : d[i]) + force * mine[i];
            mine[i] = force * v[i];
        }
        __syncwarp();                   /* all lanes have read the bias */
        if (d && lane == 0) mine[D] = force;
        return (away > 0 ? away : 0) + log1p(exp(-fabs(away)));
    }
    __device__ void operator()(size_t b, int lane) const
    {
        double sum = 0;
        for (int j = 0; j < K; j++)
            sum += class_of(b, j, lane);
        if (lane == 0) losses[b] = sum;
    }
};

extern "C" int hps_kern_nce(void *stream, struct hps_loss loss, int K, float *e, double *losses)
{
    nce f = { loss, loss.x.width, K, e, losses };
    return run_rows(stream, (size_t)loss.B, f);
}

/* ---- in-batch negatives ---- */

struct pairing : hps_kern_pairs {
    float weight, *score;
    double *losses;

    /* The j-th negative of row b. */
    __device__ int other(size_t b, int j) const
    {
        uint64_t i = (uint64_t)j, others = (uint64_t)p.rows - 1;
        if ((uint64_t)p.negatives < others)
            i = hps_rng_permute(hps_rng_sub(p.key, (uint64_t)p.example[b]), i, others);
        return (int)(i + (i >= (uint64_t)p.first + b));
    }
    __device__ void operator()(size_t b, int lane) const
    {
        const float *u = p.u + b * (size_t)p.width;
        int mine = p.first + (int)b;
        float own = dot(p.width, u, p.all + (size_t)mine * (size_t)p.width, lane), pull = 0;
        float share = n > 1 ? 1.0f / (float)(n - 1) : 0.0f;
        bool taken = p.label[b] > 0.5f;
        double sum = 0;
        for (int j = 1; j < n; j++) {
            int o = taken ? other(b, j - 1) : mine;
            float lack = p.margin - own +
                         dot(p.width, u, p.all + (size_t)o * (size_t)p.width, lane);
            float f = taken && lack > 0 ? share * weight : 0.0f;
            sum += !taken || lack <= 0 ? 0 : (double)lack;
            pull -= f;
            if (lane == 0) at[b * (size_t)n + (size_t)j] = o;
            if (lane == 0) force[b * (size_t)n + (size_t)j] = f;
        }
        if (lane != 0) return;
        at[b * (size_t)n] = mine;
        force[b * (size_t)n] = pull;
        if (score) score[b] = own;
        losses[b] = sum * (double)share;
    }
};

extern "C" int hps_kern_pairs(void *stream, struct hps_kern_pairs pairs, float weight, float *score,
                              double *losses)
{
    pairing f = { pairs, weight, score, losses };
    return run_rows(stream, (size_t)pairs.p.B, f);
}

struct pairs_du : hps_kern_pairs {
    float *du;

    __device__ void operator()(size_t b, int d) const
    {
        float sum = 0;
        for (int j = 0; j < n; j++) {
            size_t k = b * (size_t)n + (size_t)j;
            sum += force[k] * p.all[(size_t)at[k] * (size_t)p.width + (size_t)d];
        }
        du[b * (size_t)p.width + (size_t)d] = sum;
    }
};

extern "C" int hps_kern_pairs_du(void *stream, struct hps_kern_pairs pairs, float *du)
{
    pairs_du f = { pairs, du };
    return run_each(stream, (size_t)pairs.p.B, pairs.p.width, f);
}

/* The gradient that a pair adds to its item. */
struct pulled : hps_kern_pairs {
    const int *nth;

    __device__ float operator()(size_t k, int d) const
    {
        size_t b = (size_t)(nth[k] / n);
        return force[nth[k]] * p.u[b * (size_t)p.width + (size_t)d];
    }
};

extern "C" int hps_kern_pairs_dall(void *stream, struct hps_kern_pairs pairs, const int *key,
                                   const int *nth, float *partial, float *dall)
{
    pulled g = { pairs, nth };
    size_t n = (size_t)pairs.p.B * (size_t)pairs.n;
    return run_keys(stream, n, pairs.p.width, key, g, partial, dall);
}
