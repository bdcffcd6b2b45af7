/* dev.h - the device interface: what a backend must do, and the list of devices of this build.
 *
 * A backend is a constant table of functions over one device. Pointers called `device` memory come
 * from ops->alloc and are touched by ops only; on the CPU backend they are plain memory (dev->host
 * is true). Operations are queued in order on the device's stream COMPUTE and may return before
 * they are done; ops->sync waits. Sizes: B rows (examples), ld = distance of rows in floats (ld >=
 * width). Matrices are row-major; B = 0 does nothing. Inputs and outputs do not overlap unless
 * said.
 * No operation allocates, but for scratch that the device keeps. All are Local. The same call on
 * the same inputs with the same number of threads gives the same bits. */
#ifndef HPS_HW_DEV_H
#define HPS_HW_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "hw/ops.h"

struct hps_dev_ops;

/* What a product's operands are rounded to before they are multiplied; a CPU's are not. */
enum hps_precision { HPS_FP32, HPS_TF32, HPS_BF16 };
#define HPS_PRECISION_WORDS "fp32|tf32|bf16"
enum hps_precision hps_dev_precision(const char *word);         /* one of them. Pure. */

/* A stream is what a device does in order: COMPUTE runs the operations; beside it FEED copies the
 * inputs of a later step from the host, RECV and SEND copy tensors from and to other stages, PEERS
 * exchanges with the ranks of a stage. A stream waits for another one only where it is told to. On
 * a host all streams are one. */
enum hps_stream {
    HPS_STREAM_COMPUTE, HPS_STREAM_FEED, HPS_STREAM_RECV, HPS_STREAM_SEND, HPS_STREAM_PEERS,
    HPS_NSTREAM
};
#define HPS_NGRAPH 64
struct hps_event;               /* a point in a stream: done when all that is queued before it is */

struct hps_dev {
    const struct hps_dev_ops *ops;
    bool host;                  /* device memory is host memory          */
    int nthread;                /* CPU: threads of this rank             */
    double slow;                /* emulation: computation lasts this many times as long (>= 1),
                                   the rest slept: applied by step/step and profile/measure,
                                   never in here                         */
    enum hps_precision precision;       /* HPS_FP32 when opened            */
    void *state;                /* the backend's own                     */
};

struct hps_dev_ops {
    const char *name;           /* "cpu", "cuda"                       */

    /* Open the `local`-th device this rank may use with `nthread` CPU threads; sets all of *dev
     * (slow = 1). HPS_FAIL with a message. */
    enum hps_status (*open)(struct hps_dev *dev, int local, int nthread);
    void (*close)(struct hps_dev *dev);

    /* alloc gives zeroed memory; no memory ends the run, said with the size. free takes NULL, and
     * may wait for all streams, as alloc may: neither belongs into a step. */
    void *(*alloc)(struct hps_dev *dev, size_t bytes);
    void (*free)(struct hps_dev *dev, void *p);
    /* Copies of any host memory, on COMPUTE. The host memory has been read when copy_to_device
     * returns, and is filled when copy_to_host does. */
    void (*copy_to_device)(struct hps_dev *dev, void *to, const void *from_host, size_t bytes);
    void (*copy_to_host)(struct hps_dev *dev, void *to_host, const void *from, size_t bytes);
    void (*zero)(struct hps_dev *dev, void *p, size_t bytes);
    void (*sync)(struct hps_dev *dev);                          /* waits for COMPUTE */

    /* Host memory that asynchronous copies go to and from; zeroed. unpin takes NULL; no copy may be
     * under way. As alloc and free, not in a step. */
    void *(*pin)(struct hps_dev *dev, size_t bytes);
    void (*unpin)(struct hps_dev *dev, void *p);
    /* Mapped memory: pinned, and operations reach it too, over the bus: for what is larger than
     * the device. To unpin. */
    void *(*pin_mapped)(struct hps_dev *dev, size_t bytes);
    /* Queue a copy on a stream, between pinned memory and the device. Never waits; neither side is
     * the caller's until an event recorded behind the copy is done. */
    void (*copy_to_device_async)(struct hps_dev *dev, enum hps_stream stream, void *to,
                                 const void *from_pinned, size_t bytes);
    void (*copy_to_host_async)(struct hps_dev *dev, enum hps_stream stream, void *to_pinned,
                               const void *from, size_t bytes);
    /* What is queued on `stream` from now on begins when what is queued on `before` now is done. */
    void (*stream_wait)(struct hps_dev *dev, enum hps_stream stream, enum hps_stream before);
    /* An event is recorded behind what a stream has queued, as often as wanted; one never recorded
     * is done. event_done never waits; event_wait does, for no more than the event. */
    struct hps_event *(*event_new)(struct hps_dev *dev);
    void (*event_free)(struct hps_dev *dev, struct hps_event *event);   /* NULL is fine */
    void (*event_record)(struct hps_dev *dev, struct hps_event *event, enum hps_stream stream);
    bool (*event_done)(struct hps_dev *dev, struct hps_event *event);
    void (*event_wait)(struct hps_dev *dev, struct hps_event *event);
    /* What is queued on `stream` from now on begins when the event, as recorded now, is done. */
    void (*stream_wait_event)(struct hps_dev *dev, enum hps_stream stream,
                              struct hps_event *event);
    /* Seconds of the device from one event to a later one, both done. */
    double (*event_elapsed_s)(struct hps_dev *dev, struct hps_event *from, struct hps_event *to);

    /* What is queued on COMPUTE between the two may be launched as one graph. Nothing in it waits,
     * takes memory or looks at another stream. number < HPS_NGRAPH: much the same is queued under
     * the same number, which may then cost less. NULL: the device has no graphs. */
    void (*graph_begin)(struct hps_dev *dev, int number);
    void (*graph_end)(struct hps_dev *dev, int number);
    /* Begin a named range on a profiler's timeline; NULL: end the innermost one. The operation
     * NULL: nobody would look. */
    void (*range)(const char *name);

    /* Fully connected: y = act(x w + b);  x (B, in), w (in, out), b (out), y (B, out). gelu (the
     * exact x * Phi(x)) also keeps `pre` (B, out), contiguous: x w + b; the others ignore it. With
     * none, b and db may be NULL: there is none. */
    void (*fc_forward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                       const float *w, const float *b, struct hps_tensor y, float *pre);
    /* Its derivative. dy (B, out) is overwritten by dy * act'(y). dw, db are added to. dx: data
     * NULL = not wanted; `add`: add to dx, else overwrite. act' comes from y for none, relu,
     * sigmoid, tanh; gelu needs `pre`, which fc_forward kept. y is not looked at for none. */
    void (*fc_backward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                        const float *w, struct hps_tensor y, const float *pre,
                        struct hps_tensor dy, struct hps_tensor dx, bool add, float *dw,
                        float *db);

    /* y = x or y += x, element by element (concat, add, tensors that pass through use it). */
    void (*copy)(struct hps_dev *dev, int B, int width, const float *x, size_t ldx, float *y,
                 size_t ldy, bool add);

    /* y = by * x, element by element. */
    void (*scale)(struct hps_dev *dev, int B, float by, struct hps_tensor x, struct hps_tensor y);

    /* Inverted dropout: y = x * keep/(1-p), 0 <= p < 1; element (b, c) is kept when
     * unit(key, example[b]*width + c) >= p. Backward is the same call on gradients. `example` (B)
     * lies on the device. y may be x. */
    void (*dropout)(struct hps_dev *dev, int B, int width, float p, uint64_t key,
                    const long long *example, const float *x, size_t ldx, float *y, size_t ldy,
                    bool add);

    /* y = act(x), element by element; dx (+)= dy * act'(x), from x and y. */
    void (*act_forward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                        struct hps_tensor y);
    void (*act_backward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                         struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx,
                         bool add);
    /* y = a * b + x, element by element. Backward: da (+)= dy * b, then b is overwritten by its own
     * gradient dy * a. da may be the memory of neither. */
    void (*gate_forward)(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                         struct hps_tensor x, struct hps_tensor y);
    void (*gate_backward)(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                          struct hps_tensor dy, struct hps_tensor da, bool add);
    /* y (B, 1) = a . b / (|a| |b|), |a|^2 = a . a + 1e-12; keep (B, 2) gets 1/|a|, 1/|b|. Unwanted
     * gradients have data NULL. */
    void (*cosine_forward)(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                           struct hps_tensor y, float *keep);
    void (*cosine_backward)(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                            struct hps_tensor y, float *keep, struct hps_tensor dy,
                            struct hps_tensor da, bool add_a, struct hps_tensor db, bool add_b);
    /* Of each row: y = exp(x) / sum exp(x), without overflow; dx (+)= y * (dy - y . dy). */
    void (*softmax_forward)(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y);
    void (*softmax_backward)(struct hps_dev *dev, int B, struct hps_tensor y,
                             struct hps_tensor dy, struct hps_tensor dx, bool add);
    /* Of each row: y = gain * (x - mean) / sqrt(variance + eps) + shift (Ba, Kiros, Hinton 2016);
     * gain, shift (width); keep (B, 2). dgain, dshift are added to. */
    void (*row_norm_forward)(struct hps_dev *dev, int B, struct hps_tensor x, const float *gain,
                             const float *shift, float eps, struct hps_tensor y, float *keep);
    void (*row_norm_backward)(struct hps_dev *dev, int B, struct hps_tensor x, const float *gain,
                              float *keep, struct hps_tensor dy, struct hps_tensor dx, bool add,
                              float *dgain, float *dshift);
    /* Of each column: sums (2, width) = sum of x, sum of x * z; of no row: 0. */
    void (*moments)(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor z,
                    double *sums);
    /* Batch norm (Ioffe and Szegedy 2015), once a column; h = (x - mean) * rate, rate = 1 /
     * sqrt(variance + epsilon). sums (2, width) are those of moments.
     * forward: of all rows, of x and x: norm->stats are made of them, and running (2, width) takes
     * its share, the variance as of a sample (of one row it stays); sums NULL: the stats are there.
     * p (width) = gain * rate.
     * gradients: of my rows, of dy and x: dshift += sum of dy, dgain += sum of dy h, which the
     * second sums become.
     * backward: of all rows, summed from those: dx = q dy + p (x - mean) + r. */
    void (*norm_forward)(struct hps_dev *dev, const struct hps_norm *norm, const double *sums,
                         float *running, float *p);
    void (*norm_gradients)(struct hps_dev *dev, const struct hps_norm *norm, double *sums,
                           float *dgain, float *dshift);
    void (*norm_backward)(struct hps_dev *dev, const struct hps_norm *norm, const double *sums,
                          float *p, float *r, float *q);
    /* Of each column: y (+)= p * (x - m) + r + q * z; p, m, r, q (width); z.data NULL: without. */
    void (*blend)(struct hps_dev *dev, int B, const float *p, struct hps_tensor x, const float *m,
                  const float *r, const float *q, struct hps_tensor z, struct hps_tensor y,
                  bool add);

    /* to (n) = part (k, n) summed over the k, in their order; k is at least 1. */
    void (*reduce)(struct hps_dev *dev, int k, size_t n, const float *part, float *to);
    void (*reduce_doubles)(struct hps_dev *dev, int k, size_t n, const double *part, double *to);

    /* The n vectors v of dim that the tensors x (nx), each (B, some * dim), make side by side.
     * dots: y (B, n(n-1)/2) = v_i . v_j, j < i, row after row of the triangle; `self`: j <= i,
     * n(n+1)/2 of them. Gradients (nx) as for a layer. */
    void (*dots_forward)(struct hps_dev *dev, int B, int dim, bool self, int nx,
                         const struct hps_tensor *x, struct hps_tensor y);
    void (*dots_backward)(struct hps_dev *dev, int B, int dim, bool self, int nx,
                          const struct hps_tensor *x, struct hps_tensor dy,
                          const struct hps_tensor *dx, const bool *add);
    /* fm: y (B, dim) = sum over j < i of v_i * v_j, number by number, or (B, 1): the sum of
     * those (Rendle 2010); sums (B, dim) from forward to backward. */
    void (*fm_forward)(struct hps_dev *dev, int B, int dim, int nx, const struct hps_tensor *x,
                       struct hps_tensor y, float *sums);
    void (*fm_backward)(struct hps_dev *dev, int B, int dim, int nx, const struct hps_tensor *x,
                        float *sums, struct hps_tensor dy, const struct hps_tensor *dx,
                        const bool *add);

    /* Bags of rows: y (B, nslot*dim) or (B, dim) from rows (nrow, dim); an empty bag gives 0. */
    void (*bag_forward)(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                        enum hps_pool_kind pool, enum hps_combine combine, const float *rows,
                        struct hps_tensor y);
    /* rows_grad (nrow, dim): `add`, or else all of it is overwritten. Every row's sum is made in
     * the order of the ids. */
    void (*bag_backward)(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                         enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor dy,
                         float *rows_grad, size_t nrow, bool add);

    /* Attention over the bags of one slot: y (B, dim) = sum of weight * row, the weights from a net
     * on (c, row, c - row, c * row) with the candidate c (B, dim); softmax: exp(score / sqrt(dim))
     * / sum of them in the bag, else the score itself (Zhou et al. 2018). An empty bag gives 0.
     * grad (as the weights) and rows_grad are added to; rows in the order of the ids. */
    void (*attend_forward)(struct hps_dev *dev, const struct hps_attend *net,
                           const struct hps_bag *bag, const float *param, const float *rows,
                           struct hps_tensor c, struct hps_tensor y);
    void (*attend_backward)(struct hps_dev *dev, const struct hps_attend *net,
                            const struct hps_bag *bag, const float *param, const float *rows,
                            struct hps_tensor c, struct hps_tensor dy, float *grad,
                            struct hps_tensor dc, bool add, float *rows_grad, size_t nrow);

    /* Logistic loss on one logit a row: p = 1/(1+exp(-x)); loss = -(t log p + (1-t) log(1-p)),
     * computed without overflow. score (B; NULL: not wanted) gets p; *loss_sum (device double) is
     * added the sum of losses; dx (B,1) = (p - t) * weight. dx.data NULL: forward only. A NaN in
     * gives NaN out. */
    void (*logistic)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                     float weight, float *score, double *loss_sum, struct hps_tensor dx, bool add);

    /* The others have weight, score, loss_sum and dx as logistic, but dx is overwritten.
     * cross_entropy: -log softmax(x)[label], x (B, C), label a whole number in 0..C-1 (else NaN).
     * score: the chance of class 1 where C = 2, else the likeliest class (the first of equals).
     * squared: (x - label)^2, x (B, 1). score: x.
     * hinge: max(0, margin - t x), t = 1 where label is above 0.5, else -1. score: x. */
    void (*cross_entropy)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                          float weight, float *score, double *loss_sum, struct hps_tensor dx);
    void (*squared)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                    float weight, float *score, double *loss_sum, struct hps_tensor dx);
    void (*hinge)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                  float margin, float weight, float *score, double *loss_sum,
                  struct hps_tensor dx);
    /* Rows of length 1: y (B, width) = x / norm, norm (B) = sqrt(x.x + 1e-12). Back: dy
     * (B, width) becomes dx = (dy - (y . dy) y) / norm. */
    void (*unit)(struct hps_dev *dev, int B, struct hps_tensor x, float *y, float *norm);
    void (*unit_back)(struct hps_dev *dev, int B, int width, float *y, float *norm, float *dy);
    /* Hinge between rows: the mean over row b's others o of max(0, margin - u[b].all[b] +
     * u[b].all[o]). score: u[b].all[b]. du (B, width), dall (rows, width) are overwritten; NULL:
     * not wanted. */
    void (*pairs)(struct hps_dev *dev, const struct hps_pairs *pairs, float weight, float *score,
                  double *loss_sum, float *du, float *dall);
    /* Noise-contrastive estimation (Gutmann and Hyvarinen 2010; Mnih and Teh 2012) of x (B, D)
     * over K classes: e (B, K, D + 1) are their weights and biases, the one that was seen, then K -
     * 1 drawn as noise. With f = x.w + b, the log of how much likelier than noise a class is, and o
     * = f - log(K - 1): loss = -log s(o) of the seen one - sum of log s(-o) of the others, s the
     * logistic function. score: f of the seen one. dx (B, D) NULL: forward only; else e becomes its
     * gradient. */
    void (*nce)(struct hps_dev *dev, int B, struct hps_tensor x, int K, float *e, float weight,
                float *score, double *loss_sum, float *dx);

    /* Dense update: param (n), grad (n), state (nstate, n) planes. grad is zeroed in the same
     * pass. */
    void (*update)(struct hps_dev *dev, const struct hps_rule *rule, size_t n, float *param,
                   float *grad, float *state);
    /* Rows of a table, `stride` floats apart: hps_rule_stride floats each.
     * gather: out (n, dim) = weights of rows at[i]. apply: the rule on rows at[i] with the i-th
     * gradient; at is distinct. */
    void (*rows_gather)(struct hps_dev *dev, const float *table, size_t stride, int dim, size_t n,
                        const int *at, float *out);
    void (*rows_apply)(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                       size_t stride, int dim, size_t n, const int *at,
                       const struct hps_row_sums *grad);
    /* to[to_at[i]] = from[from_at[i]], rows of `stride` floats; to_at is distinct. One of the two
     * may be mapped memory. */
    void (*rows_move)(struct hps_dev *dev, size_t stride, size_t n, const int *from_at,
                      const float *from, const int *to_at, float *to);
    /* to (n, dim) = the sums, each in its order. */
    void (*rows_sum)(struct hps_dev *dev, int dim, size_t n, const struct hps_row_sums *sums,
                     float *to);

    /* *sum (host) = sum of squares of x (n), in double, deterministic. Waits. */
    void (*norm2)(struct hps_dev *dev, size_t n, const float *x, double *sum);

    /* Micro-benchmark: seconds of one C(m,n) += A(m,k) B(k,n), the median of `repeat` after one to
     * warm up, for the roofline. Waits. */
    double (*gemm_s)(struct hps_dev *dev, int m, int n, int k, int repeat);
};

extern const struct hps_dev_ops hps_dev_cpu;

/* "cuda": has no operation but `open`, which loads the backend - heterps-cuda.so in HETERPS_LIBDIR,
 * else beside the program, else where it was installed - and leaves its table in dev->ops. HPS_FAIL
 * where there is none or no GPU answers it: the reason is said as HPS_DEBUG. */
extern const struct hps_dev_ops hps_dev_loaded;

/* The backend called `name`, NULL when this build has none. */
const struct hps_dev_ops *hps_dev_find(const char *name);

/* ops->event_wait, while the messages that other ranks wait for go out (base/progress.h). */
void hps_dev_wait(struct hps_dev *dev, struct hps_event *event);

/* The BLAS uses no threads of its own from now on: ours call it, and what it computes does not
 * depend on how many it would have had. Local. */
void hps_dev_blas_alone(void);

#endif
