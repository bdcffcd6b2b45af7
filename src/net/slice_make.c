/* slice_make.c - all memory that a slice will ever need: homes of tensors, weights, states. */
#include <assert.h>

#include "base/mem.h"
#include "net/slice_impl.h"

/* Blocks begin at multiples of 64 bytes. */
static size_t block(size_t rows, size_t width)
{
    return (rows * width + 15) / 16 * 16;
}

static void home_in(struct hps_slice *s, struct hps_slice_home *home)
{
    const struct hps_net *net = s->net;
    size_t at = 0, grad_at = 0;

    hps_net_boundary(net, s->first, NULL, &s->in_width, &s->in_grad_width);
    for (int l = 0; l < s->first; l++) {
        const struct hps_layer *x = &net->layer[l];
        if (x->last_use < s->first) continue;
        home[l].place = HPS_PLACE_IN;
        home[l].at = at;
        home[l].ld = (size_t)s->in_width;
        at += (size_t)x->width;
        if (!x->grad) continue;
        home[l].grad_place = HPS_PLACE_IN;
        home[l].grad_at = grad_at;
        home[l].grad_ld = (size_t)s->in_grad_width;
        grad_at += (size_t)x->width;
    }
}

/* Tensors made here write straight into the boundary; those from before pass through: they are
 * copied into it. */
static void home_out(struct hps_slice *s, struct hps_slice_home *home)
{
    const struct hps_net *net = s->net;
    size_t at = 0, grad_at = 0;

    hps_net_boundary(net, s->last + 1, NULL, &s->out_width, &s->out_grad_width);
    for (int l = 0; l <= s->last; l++) {
        const struct hps_layer *x = &net->layer[l];
        if (x->last_use <= s->last) continue;
        home[l].passes = l < s->first;
        home[l].out_at = at;
        home[l].out_grad_at = grad_at;
        at += (size_t)x->width;
        grad_at += x->grad ? (size_t)x->width : 0;
        if (home[l].passes) continue;
        home[l].place = HPS_PLACE_OUT;
        home[l].at = home[l].out_at;
        home[l].ld = (size_t)s->out_width;
        home[l].grad_place = x->grad ? HPS_PLACE_OUT : HPS_PLACE_NONE;
        home[l].grad_at = home[l].out_grad_at;
        home[l].grad_ld = (size_t)s->out_grad_width;
    }
}

static int readers(const struct hps_net *net, int l)
{
    int n = 0;

    for (int k = l + 1; k <= net->layer[l].last_use; k++)
        for (int i = 0; i < net->layer[k].ninput; i++)
            n += net->layer[k].input[i] == l;
    return n;
}

/* The inputs of layer c that are made and stay here live in its columns: nothing is left to copy.
 * So do the gradients of those that nobody else reads. */
static void home_side_by_side(const struct hps_slice *s, struct hps_slice_home *home, int c)
{
    const struct hps_net *net = s->net;
    size_t at = 0;

    for (int i = 0; i < net->layer[c].ninput; i++) {
        int l = net->layer[c].input[i];
        struct hps_slice_home *h = &home[l];
        if (l >= s->first && h->place == HPS_PLACE_NONE) {
            h->place = home[c].place;
            h->at = home[c].at + at;
            h->ld = home[c].ld;
            if (net->layer[l].grad && readers(net, l) == 1) {
                h->grad_place = home[c].grad_place;
                h->grad_at = home[c].grad_at + at;
                h->grad_ld = home[c].grad_ld;
            }
        }
        at += (size_t)net->layer[l].width;
    }
}

/* The rest stays here; the loss has no tensor. Answers floats of all blocks. */
static void home_inner(const struct hps_slice *s, struct hps_slice_home *home, size_t *inner,
                       size_t *grad)
{
    *inner = *grad = 0;
    for (int l = s->last; l >= s->first; l--) {
        const struct hps_layer *x = &s->net->layer[l];
        if (x->kind->loss) continue;
        if (home[l].place == HPS_PLACE_NONE) {
            home[l].place = HPS_PLACE_INNER;
            home[l].at = *inner;
            home[l].ld = (size_t)x->width;
            *inner += block((size_t)s->rows, (size_t)x->width);
        }
        if (x->grad && home[l].grad_place == HPS_PLACE_NONE) {
            home[l].grad_place = HPS_PLACE_INNER;
            home[l].grad_at = *grad;
            home[l].grad_ld = (size_t)x->width;
            *grad += block((size_t)s->rows, (size_t)x->width);
        }
        if (x->kind->side_by_side) home_side_by_side(s, home, l);
    }
}

static float *floats(struct hps_slice *s, size_t n)
{
    return s->dev->ops->alloc(s->dev, n * sizeof(float));
}

static float **flight_floats(struct hps_slice *s, size_t n)
{
    float **p = hps_mem_new((size_t)s->nslot, sizeof *p);

    for (int f = 0; f < s->nslot; f++)
        p[f] = floats(s, n);
    return p;
}

static void take_buffers(struct hps_slice *s, bool training)
{
    struct hps_slice_own *own = s->own;
    size_t rows = (size_t)s->rows, inner, grad, saved = 0, nscratch = 0;

    home_in(s, own->home);
    home_out(s, own->home);
    home_inner(s, own->home, &inner, &grad);
    for (int l = s->first; l <= s->last; l++) {
        const struct hps_layer *x = &s->net->layer[l];
        own->saved_at[l - s->first] = saved;
        saved += block(rows, x->nsaved);
        own->saved_batch_at[l - s->first] = saved;
        saved += block(1, x->nsaved_batch);
        own->shared = x->shared > own->shared ? x->shared : own->shared;
        nscratch = x->nscratch > nscratch ? x->nscratch : nscratch;
    }
    own->scratch = s->dev->ops->alloc(s->dev, nscratch * sizeof *own->scratch);
    own->all_cap = rows * own->shared;
    own->all = floats(s, own->all_cap);
    own->inner = flight_floats(s, inner);
    own->saved = flight_floats(s, saved);
    s->in = flight_floats(s, rows * (size_t)s->in_width);
    s->out = flight_floats(s, rows * (size_t)s->out_width);
    if (training) {
        own->inner_grad = floats(s, grad);
        s->in_grad = flight_floats(s, rows * (size_t)s->in_grad_width);
        s->out_grad = flight_floats(s, rows * (size_t)s->out_grad_width);
    }
    if (s->last == s->net->L - 1) s->score = floats(s, (size_t)s->nslot * rows);
    size_t losses = (size_t)(s->last - s->first + 1) * sizeof *s->loss;
    s->loss = s->dev->ops->alloc(s->dev, losses);
    own->loss_copy = s->dev->ops->pin(s->dev, HPS_LOSS_COPIES * losses);
    for (int i = 0; i < HPS_LOSS_COPIES; i++)
        own->loss_event[i] = s->dev->ops->event_new(s->dev);
}

struct hps_rule hps_slice_rule(const struct hps_slice *s, int i, long long step, long long total)
{
    return hps_opt_rule(s->opt, &s->net->layer[s->first + i].own, step, total);
}

/* What each layer's states begin with, for the weights in `param` (host). */
static void take_states(struct hps_slice *s, const float *param)
{
    int n = s->last - s->first + 1;

    for (int i = 0; i < n; i++)
        s->state_at[i + 1] = s->state_at[i] + s->net->layer[s->first + i].nparam
                             * (size_t)hps_slice_rule(s, i, 0, 1).nstate;
    s->state = floats(s, s->state_at[n]);
    float *host = hps_mem_new(s->state_at[n], sizeof *host);
    for (int i = 0; i < n; i++) {
        struct hps_rule rule = hps_slice_rule(s, i, 0, 1);
        size_t nparam = s->net->layer[s->first + i].nparam;
        if (nparam > 0) hps_opt_start(&rule, nparam, param + s->offset[i], host + s->state_at[i]);
    }
    s->dev->ops->copy_to_device(s->dev, s->state, host, s->state_at[n] * sizeof *host);
    s->dev->ops->sync(s->dev);
    hps_mem_free(host);
}

static void take_running(struct hps_slice *s)
{
    int n = s->last - s->first + 1;

    for (int i = 0; i < n; i++)
        s->running_at[i + 1] = s->running_at[i] + s->net->layer[s->first + i].nrunning;
    s->running = floats(s, s->running_at[n]);
    float *host = hps_mem_new(s->running_at[n], sizeof *host);
    for (int i = 0; i < n; i++)
        hps_net_init_running(s->net, s->first + i, host + s->running_at[i]);
    s->dev->ops->copy_to_device(s->dev, s->running, host, s->running_at[n] * sizeof *host);
    s->dev->ops->sync(s->dev);
    hps_mem_free(host);
}

static void take_weights(struct hps_slice *s, uint64_t seed, bool training)
{
    struct hps_slice_own *own = s->own;
    int n = s->last - s->first + 1;

    for (int i = 0; i < n; i++)
        s->offset[i + 1] = s->offset[i] + s->net->layer[s->first + i].nparam;
    s->nparam = s->offset[n];
    s->param = floats(s, s->nparam);
    float *host = hps_mem_new(s->nparam, sizeof *host);
    for (int i = 0; i < n; i++)
        hps_net_init_param(s->net, s->first + i, seed, host + s->offset[i]);
    s->dev->ops->copy_to_device(s->dev, s->param, host, s->nparam * sizeof *host);
    s->dev->ops->sync(s->dev);
    if (training) {
        s->grad = own->grad = floats(s, s->nparam);
        take_states(s, host);
    }
    hps_mem_free(host);
}

enum hps_status hps_slice_new(struct hps_slice **out, const struct hps_net *net,
                              struct hps_dev *dev, const struct hps_slice_opt *opt)
{
    int first = opt->first, last = opt->last;
    assert(0 <= first && first <= last && last < net->L && opt->rows >= 0 && opt->nslot >= 1);
    struct hps_slice *s = hps_mem_new(1, sizeof *s);
    struct hps_slice_own *own = hps_mem_new(1, sizeof *own);
    size_t n = (size_t)(last - first + 1), inputs = 0;

    *s = (struct hps_slice){ .net = net, .dev = dev, .first = first, .last = last,
                             .rows = opt->rows, .nslot = opt->nslot, .opt = opt->train,
                             .own = own };
    for (int l = first; l <= last; l++)
        if (inputs < (size_t)net->layer[l].ninput) inputs = (size_t)net->layer[l].ninput;
    own->home = hps_mem_new((size_t)last + 1, sizeof *own->home);
    own->written = hps_mem_new((size_t)last + 1, sizeof *own->written);
    own->saved_at = hps_mem_new(n, sizeof *own->saved_at);
    own->saved_batch_at = hps_mem_new(n, sizeof *own->saved_batch_at);
    s->running_at = hps_mem_new(n + 1, sizeof *s->running_at);
    own->x = hps_mem_new(inputs, sizeof *own->x);
    own->dx = hps_mem_new(inputs, sizeof *own->dx);
    s->offset = hps_mem_new(n + 1, sizeof *s->offset);
    s->state_at = hps_mem_new(n + 1, sizeof *s->state_at);
    take_buffers(s, opt->training);
    take_running(s);
    take_weights(s, opt->seed, opt->training);
    *out = s;
    return HPS_OK;
}

void hps_slice_lend_grad(struct hps_slice *s, float *grad)
{
    struct hps_slice_own *own = s->own;

    if (grad == s->grad) return;
    s->dev->ops->free(s->dev, own->grad);
    own->grad = NULL;
    s->grad = grad;
}

static void free_flights(struct hps_slice *s, float **p)
{
    for (int f = 0; p && f < s->nslot; f++)
        s->dev->ops->free(s->dev, p[f]);
    hps_mem_free(p);
}

void hps_slice_free(struct hps_slice *s)
{
    if (!s) return;
    struct hps_slice_own *own = s->own;
    void *const device[] = { s->param, own->grad, s->state, s->running, s->score, s->loss,
                             own->inner_grad, own->all, own->scratch };
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        if (device[i]) s->dev->ops->free(s->dev, device[i]);
    s->dev->ops->unpin(s->dev, own->loss_copy);
    for (int i = 0; i < HPS_LOSS_COPIES; i++)
        s->dev->ops->event_free(s->dev, own->loss_event[i]);
    for (int i = 0; own->clock && i <= s->last - s->first + 1; i++)
        s->dev->ops->event_free(s->dev, own->clock[i]);
    hps_mem_free(own->clock);
    free_flights(s, s->in);
    free_flights(s, s->out);
    free_flights(s, s->in_grad);
    free_flights(s, s->out_grad);
    free_flights(s, own->inner);
    free_flights(s, own->saved);
    hps_mem_free(own->home);
    hps_mem_free(own->written);
    hps_mem_free(own->saved_at);
    hps_mem_free(own->saved_batch_at);
    hps_mem_free(s->running_at);
    hps_mem_free(own->x);
    hps_mem_free(own->dx);
    hps_mem_free(own);
    hps_mem_free(s->offset);
    hps_mem_free(s->state_at);
    hps_mem_free(s);
}
