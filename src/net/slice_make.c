/* slice_make.c - all memory that a slice will ever need: buffers of tensors, weights, states. */
#include <assert.h>

#include "base/mem.h"
#include "net/slice_impl.h"

/* Blocks begin at multiples of 64 bytes. */
static size_t block(size_t rows, size_t width)
{
    return (rows * width + 15) / 16 * 16;
}

static void view_in(struct hps_slice *s, struct hps_slice_view *view)
{
    const struct hps_net *net = s->net;
    size_t at = 0, grad_at = 0;

    hps_net_boundary(net, s->first, NULL, &s->in_width, &s->in_grad_width);
    for (int l = 0; l < s->first; l++) {
        const struct hps_layer *x = &net->layer[l];
        if (x->last_use < s->first) continue;
        view[l].buffer = HPS_BUFFER_IN;
        view[l].at = at;
        view[l].ld = (size_t)s->in_width;
        at += (size_t)x->width;
        if (!x->grad) continue;
        view[l].grad_buffer = HPS_BUFFER_IN;
        view[l].grad_at = grad_at;
        view[l].grad_ld = (size_t)s->in_grad_width;
        grad_at += (size_t)x->width;
    }
}

/* Layers here write the tensors that leave straight into the boundary; skip tensors are copied. */
static void view_out(struct hps_slice *s, struct hps_slice_view *view)
{
    const struct hps_net *net = s->net;
    size_t at = 0, grad_at = 0;

    hps_net_boundary(net, s->last + 1, NULL, &s->out_width, &s->out_grad_width);
    for (int l = 0; l <= s->last; l++) {
        const struct hps_layer *x = &net->layer[l];
        if (x->last_use <= s->last) continue;
        view[l].passes = l < s->first;
        view[l].out_at = at;
        view[l].out_grad_at = grad_at;
        at += (size_t)x->width;
        grad_at += x->grad ? (size_t)x->width : 0;
        if (view[l].passes) continue;
        view[l].buffer = HPS_BUFFER_OUT;
        view[l].at = view[l].out_at;
        view[l].ld = (size_t)s->out_width;
        view[l].grad_buffer = x->grad ? HPS_BUFFER_OUT : HPS_BUFFER_NONE;
        view[l].grad_at = view[l].out_grad_at;
        view[l].grad_ld = (size_t)s->out_grad_width;
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

/* Does layer k read its inputs in bf16 alone? A concatenation does where it is kept so. */
static bool reads_rounded(const struct hps_slice *s, const struct hps_slice_view *view, int k)
{
    const struct hps_layer *x = &s->net->layer[k];

    if (x->type->concatenates) return view[k].rounded;
    return x->type->reads_rounded && x->type->reads_rounded(x, s->dev);
}

/* Is the output of layer l kept in bf16? Its readers are in this slice, their views are made. */
static bool keeps_rounded(const struct hps_slice *s, const struct hps_slice_view *view, int l)
{
    const struct hps_net *net = s->net;
    const struct hps_layer *x = &net->layer[l];
    const struct hps_dense_ops *dense = s->dev->ops->dense;
    bool all = dense->keeps_rounded && dense->keeps_rounded(s->dev) && readers(net, l) > 0 &&
               x->type->writes_rounded && x->type->writes_rounded(x, s->dev);

    for (int k = l + 1; all && k <= x->last_use; k++)
        for (int i = 0; all && i < net->layer[k].ninput; i++)
            if (net->layer[k].input[i] == l) all = reads_rounded(s, view, k);
    return all;
}

/* The inputs of concatenation c that are made here and do not leave become views of its columns, so
 * that nothing is copied: their numbers where both are kept alike, and their gradients where no
 * other layer reads the input. */
static void view_concatenated(const struct hps_slice *s, struct hps_slice_view *view, int c)
{
    const struct hps_net *net = s->net;
    const struct hps_slice_view *y = &view[c];

    for (size_t i = 0, at = 0; i < (size_t)net->layer[c].ninput; i++) {
        int l = net->layer[c].input[i];
        struct hps_slice_view *x = &view[l];
        bool here = l >= s->first && x->buffer == HPS_BUFFER_NONE;
        if (here && keeps_rounded(s, view, l) == y->rounded) {
            x->buffer = y->buffer;
            x->at = y->at + at;
            x->ld = y->ld;
            x->rounded = y->rounded;
        }
        if (here && net->layer[l].grad && readers(net, l) == 1) {
            x->grad_buffer = y->grad_buffer;
            x->grad_at = y->grad_at + at;
            x->grad_ld = y->grad_ld;
        }
        at += (size_t)net->layer[l].width;
    }
}

/* A block of its own for the output of layer l; *inner: floats of all blocks. */
static void view_block(const struct hps_slice *s, struct hps_slice_view *view, int l,
                       size_t *inner)
{
    size_t width = (size_t)s->net->layer[l].width;
    bool rounded = keeps_rounded(s, view, l);

    view[l].buffer = HPS_BUFFER_INNER;
    view[l].rounded = rounded;
    view[l].at = rounded ? 2 * *inner : *inner;
    view[l].ld = width;
    *inner += block((size_t)s->rows, rounded ? (width + 1) / 2 : width);
}

/* All other tensors get blocks of their own; a loss has none. *inner, *grad: floats of all blocks.
 */
static void view_inner(const struct hps_slice *s, struct hps_slice_view *view, size_t *inner,
                       size_t *grad)
{
    *inner = *grad = 0;
    for (int l = s->last; l >= s->first; l--) {
        const struct hps_layer *x = &s->net->layer[l];
        if (x->type->loss) continue;
        if (view[l].buffer == HPS_BUFFER_NONE) view_block(s, view, l, inner);
        if (x->grad && view[l].grad_buffer == HPS_BUFFER_NONE) {
            view[l].grad_buffer = HPS_BUFFER_INNER;
            view[l].grad_at = *grad;
            view[l].grad_ld = (size_t)x->width;
            *grad += block((size_t)s->rows, (size_t)x->width);
        }
        if (x->type->concatenates) view_concatenated(s, view, l);
    }
}

static float *floats(struct hps_slice *s, size_t n)
{
    return s->dev->ops->alloc(s->dev, n * sizeof(float));
}

static float **slot_floats(struct hps_slice *s, size_t n)
{
    float **p = hps_mem_new((size_t)s->nslot, sizeof *p);

    for (int f = 0; f < s->nslot; f++)
        p[f] = floats(s, n);
    return p;
}

static void alloc_buffers(struct hps_slice *s, bool training)
{
    struct hps_slice_impl *impl = s->impl;
    size_t rows = (size_t)s->rows, inner, grad, saved = 0, nscratch = 0;

    view_in(s, impl->view);
    view_out(s, impl->view);
    view_inner(s, impl->view, &inner, &grad);
    for (int l = s->first; l <= s->last; l++) {
        const struct hps_layer *x = &s->net->layer[l];
        impl->saved_at[l - s->first] = saved;
        saved += block(rows, x->nsaved);
        impl->saved_batch_at[l - s->first] = saved;
        saved += block(1, x->nsaved_batch);
        if (impl->scratch_row < x->nscratch_row) impl->scratch_row = x->nscratch_row;
        nscratch = x->nscratch > nscratch ? x->nscratch : nscratch;
    }
    impl->scratch = s->dev->ops->alloc(s->dev, nscratch * sizeof *impl->scratch);
    impl->all_cap = rows * impl->scratch_row;
    impl->all = floats(s, impl->all_cap);
    impl->inner = slot_floats(s, inner);
    impl->saved = slot_floats(s, saved);
    s->in = slot_floats(s, rows * (size_t)s->in_width);
    s->out = slot_floats(s, rows * (size_t)s->out_width);
    if (training) {
        impl->inner_grad = floats(s, grad);
        s->in_grad = slot_floats(s, rows * (size_t)s->in_grad_width);
        s->out_grad = slot_floats(s, rows * (size_t)s->out_grad_width);
    }
    if (s->last == s->net->L - 1) s->score = floats(s, (size_t)s->nslot * rows);
    size_t losses = (size_t)(s->last - s->first + 1) * sizeof *s->loss;
    s->loss = s->dev->ops->alloc(s->dev, losses);
    impl->loss_copy = s->dev->ops->pin(s->dev, HPS_LOSS_COPIES * losses);
    for (int i = 0; i < HPS_LOSS_COPIES; i++)
        impl->loss_event[i] = s->dev->ops->event_new(s->dev);
}

struct hps_rule hps_slice_rule(const struct hps_slice *s, int i, struct hps_update update)
{
    return hps_opt_rule(s->opt, &s->net->layer[s->first + i].override, update);
}

/* Initial optimiser states for the weights in `param` (host). */
static void init_states(struct hps_slice *s, const float *param)
{
    int n = s->last - s->first + 1;

    for (int i = 0; i < n; i++)
        s->state_at[i + 1] = s->state_at[i] + s->net->layer[s->first + i].nparam
                             * (size_t)hps_slice_rule(s, i, hps_update_of(0, 1)).nstate;
    s->state = floats(s, s->state_at[n]);
    float *host = hps_mem_new(s->state_at[n], sizeof *host);
    for (int i = 0; i < n; i++) {
        struct hps_rule rule = hps_slice_rule(s, i, hps_update_of(0, 1));
        size_t nparam = s->net->layer[s->first + i].nparam;
        if (nparam > 0)
            hps_opt_init_states(&rule, nparam, param + s->offset[i], host + s->state_at[i]);
    }
    s->dev->ops->copy_to_device(s->dev, s->state, host, s->state_at[n] * sizeof *host);
    s->dev->ops->sync(s->dev);
    hps_mem_free(host);
}

static void init_running(struct hps_slice *s)
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

static void init_weights(struct hps_slice *s, uint64_t seed, bool training)
{
    struct hps_slice_impl *impl = s->impl;
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
        s->grad = impl->grad = floats(s, s->nparam);
        init_states(s, host);
    }
    hps_mem_free(host);
}

static void init_packed(struct hps_slice *s)
{
    struct hps_slice_impl *impl = s->impl;
    size_t n = (size_t)(s->last - s->first + 1);

    impl->packed_at = hps_mem_new(n + 1, sizeof *impl->packed_at);
    for (size_t i = 0; i < n; i++) {
        const struct hps_layer *l = &s->net->layer[s->first + (int)i];
        size_t bytes = l->type->packed_bytes ? l->type->packed_bytes(l, s->dev) : 0;
        impl->packed_at[i + 1] = impl->packed_at[i] + bytes;
    }
    impl->packed = s->dev->ops->alloc(s->dev, impl->packed_at[n]);
    for (int l = s->first; l <= s->last; l++)
        hps_slice_pack(s, l);
}

enum hps_status hps_slice_new(struct hps_slice **out, const struct hps_net *net,
                              struct hps_dev *dev, const struct hps_slice_opt *opt)
{
    int first = opt->first, last = opt->last;
    assert(0 <= first && first <= last && last < net->L && opt->rows >= 0 && opt->nslot >= 1);
    struct hps_slice *s = hps_mem_new(1, sizeof *s);
    struct hps_slice_impl *impl = hps_mem_new(1, sizeof *impl);
    size_t n = (size_t)(last - first + 1), inputs = 0;

    *s = (struct hps_slice){ .net = net, .dev = dev, .first = first, .last = last,
                             .rows = opt->rows, .nslot = opt->nslot, .opt = opt->train,
                             .impl = impl };
    for (int l = first; l <= last; l++)
        if (inputs < (size_t)net->layer[l].ninput) inputs = (size_t)net->layer[l].ninput;
    impl->view = hps_mem_new((size_t)last + 1, sizeof *impl->view);
    impl->written = hps_mem_new((size_t)last + 1, sizeof *impl->written);
    impl->saved_at = hps_mem_new(n, sizeof *impl->saved_at);
    impl->saved_batch_at = hps_mem_new(n, sizeof *impl->saved_batch_at);
    s->running_at = hps_mem_new(n + 1, sizeof *s->running_at);
    impl->x = hps_mem_new(inputs, sizeof *impl->x);
    impl->dx = hps_mem_new(inputs, sizeof *impl->dx);
    s->offset = hps_mem_new(n + 1, sizeof *s->offset);
    s->state_at = hps_mem_new(n + 1, sizeof *s->state_at);
    alloc_buffers(s, opt->training);
    init_running(s);
    init_weights(s, opt->seed, opt->training);
    init_packed(s);
    *out = s;
    return HPS_OK;
}

void hps_slice_borrow_grad(struct hps_slice *s, float *grad)
{
    struct hps_slice_impl *impl = s->impl;

    if (grad == s->grad) return;
    s->dev->ops->free(s->dev, impl->grad);
    impl->grad = NULL;
    s->grad = grad;
}

static void free_slots(struct hps_slice *s, float **p)
{
    for (int f = 0; p && f < s->nslot; f++)
        s->dev->ops->free(s->dev, p[f]);
    hps_mem_free(p);
}

void hps_slice_free(struct hps_slice *s)
{
    if (!s) return;
    struct hps_slice_impl *impl = s->impl;
    void *const device[] = { s->param, impl->grad, s->state, s->running, s->score, s->loss,
                             impl->inner_grad, impl->all, impl->scratch, impl->packed };
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        if (device[i]) s->dev->ops->free(s->dev, device[i]);
    s->dev->ops->unpin(s->dev, impl->loss_copy);
    for (int i = 0; i < HPS_LOSS_COPIES; i++)
        s->dev->ops->event_free(s->dev, impl->loss_event[i]);
    for (int i = 0; impl->clock && i <= s->last - s->first + 1; i++)
        s->dev->ops->event_free(s->dev, impl->clock[i]);
    hps_mem_free(impl->clock);
    free_slots(s, s->in);
    free_slots(s, s->out);
    free_slots(s, s->in_grad);
    free_slots(s, s->out_grad);
    free_slots(s, impl->inner);
    free_slots(s, impl->saved);
    hps_mem_free(impl->view);
    hps_mem_free(impl->written);
    hps_mem_free(impl->saved_at);
    hps_mem_free(impl->saved_batch_at);
    hps_mem_free(impl->packed_at);
    hps_mem_free(s->running_at);
    hps_mem_free(impl->x);
    hps_mem_free(impl->dx);
    hps_mem_free(impl);
    hps_mem_free(s->offset);
    hps_mem_free(s->state_at);
    hps_mem_free(s);
}
