/* slice.c - forward, backward and update of layers first..last of a network. */
#include <assert.h>

#include "base/mem.h"
#include "net/slice_impl.h"

static struct hps_tensor value_of(const struct hps_slice *s, int slot, int l)
{
    const struct hps_slice_impl *impl = s->impl;
    const struct hps_slice_view *h = &impl->view[l];
    struct hps_tensor x = { .ld = h->ld, .width = s->net->layer[l].width };

    if (h->rounded)
        x.rounded = (uint16_t *)(void *)impl->inner[slot] + h->at;
    else if (h->buffer == HPS_BUFFER_IN)
        x.data = s->in[slot] + h->at;
    else if (h->buffer == HPS_BUFFER_INNER)
        x.data = impl->inner[slot] + h->at;
    else if (h->buffer == HPS_BUFFER_OUT)
        x.data = s->out[slot] + h->at;
    return x;
}

static struct hps_tensor grad_of(const struct hps_slice *s, int slot, int l)
{
    const struct hps_slice_impl *impl = s->impl;
    const struct hps_slice_view *h = &impl->view[l];
    struct hps_tensor x = { .ld = h->grad_ld, .width = s->net->layer[l].width };

    if (h->grad_buffer == HPS_BUFFER_IN)
        x.data = s->in_grad[slot] + h->grad_at;
    else if (h->grad_buffer == HPS_BUFFER_INNER)
        x.data = impl->inner_grad + h->grad_at;
    else if (h->grad_buffer == HPS_BUFFER_OUT)
        x.data = s->out_grad[slot] + h->grad_at;
    return x;
}

/* The ranks that share the micro-batch. Enlarges the scratch for all of its rows where it must. */
static const struct hps_collective *collective_of(struct hps_slice *s, const struct hps_feed *feed)
{
    struct hps_slice_impl *impl = s->impl;

    impl->alone = hps_collective_alone(s->dev, feed->B);
    const struct hps_collective *c = feed->collective ? feed->collective : &impl->alone;
    size_t need = (size_t)c->rows * impl->scratch_row;
    if (need > impl->all_cap) {
        s->dev->ops->free(s->dev, impl->all);
        impl->all = s->dev->ops->alloc(s->dev, need * sizeof *impl->all);
        impl->all_cap = need;
    }
    return c;
}

/* The pass of layer l for the micro-batch; backward fills in the gradients. */
static struct hps_pass pass_of(struct hps_slice *s, int slot, const struct hps_feed *feed, int l,
                               bool training)
{
    struct hps_slice_impl *impl = s->impl;
    const struct hps_layer *layer = &s->net->layer[l];
    int i = l - s->first;
    struct hps_pass p = {
        .dev = s->dev, .B = feed->B, .training = training, .key = feed->key,
        .raw = { feed->example, feed->label, feed->dense },
        .x = impl->x, .y = value_of(s, slot, l), .dx = impl->dx,
        .weights = { s->param + s->offset[i], s->grad ? s->grad + s->offset[i] : NULL,
                     s->running + s->running_at[i], impl->packed + impl->packed_at[i] },
        .memory = { impl->saved[slot] + impl->saved_at[i],
                    impl->saved[slot] + impl->saved_batch_at[i], NULL, impl->scratch },
        .loss = { (float)(layer->weight * (double)feed->weight),
                  l == s->net->L - 1 ? s->score + (size_t)slot * (size_t)s->rows : NULL,
                  s->loss + i },
        .collective = collective_of(s, feed),
    };

    p.memory.all = impl->all;            /* which collective_of may have moved */
    for (int k = 0; k < layer->ninput; k++)
        impl->x[k] = value_of(s, slot, layer->input[k]);
    if (layer->table >= 0) {
        p.lookup = feed->lookup[i];
        assert(p.lookup->B == feed->B && p.lookup->nslot == layer->nslot);
    }
    return p;
}

size_t hps_slice_nrunning(const struct hps_slice *s)
{
    return s->running_at[s->last - s->first + 1];
}

bool hps_slice_is_collective(const struct hps_net *net, int first, int last)
{
    bool any = false;

    for (int l = first; l <= last; l++)
        any |= net->layer[l].type->collective;
    return any;
}

/* A rank without rows of the micro-batch still calls its collective layers. */
static bool takes_part(const struct hps_slice *s, const struct hps_feed *feed, int l)
{
    return feed->B > 0 ||
           (s->net->layer[l].type->collective && feed->collective && feed->collective->rows > 0);
}

static void forward_layer(struct hps_slice *s, int slot, const struct hps_feed *feed, int l,
                          bool training)
{
    struct hps_pass p = pass_of(s, slot, feed, l, training);

    s->net->layer[l].type->forward(&s->net->layer[l], &p);
}

/* The first layer that writes a gradient overwrites it, the others add to it. */
static void backward_layer(struct hps_slice *s, int slot, const struct hps_feed *feed, int l)
{
    struct hps_slice_impl *impl = s->impl;
    const struct hps_layer *layer = &s->net->layer[l];
    struct hps_pass p = pass_of(s, slot, feed, l, true);

    p.dy = grad_of(s, slot, l);
    for (int k = 0; k < layer->ninput; k++) {
        impl->dx[k] = grad_of(s, slot, layer->input[k]);
        impl->dx[k].add = impl->written[layer->input[k]];
        impl->written[layer->input[k]] = true;
    }
    layer->type->backward(layer, &p);
}

void hps_slice_forward(struct hps_slice *s, int slot, const struct hps_feed *feed, bool training)
{
    const struct hps_slice_impl *impl = s->impl;

    assert(feed->B <= s->rows && slot < s->nslot);
    for (int l = 0; l < s->first && feed->B > 0; l++)
        if (impl->view[l].passes) {
            struct hps_tensor x = value_of(s, slot, l);
            struct hps_tensor y = hps_tensor_view(s->out[slot] + impl->view[l].out_at,
                                                  (size_t)s->out_width, x.width);
            s->dev->ops->dense->copy(s->dev, feed->B, x, y);
        }
    for (int l = s->first; l <= s->last; l++)
        if (takes_part(s, feed, l)) forward_layer(s, slot, feed, l, training);
}

/* Gradients of the next stage are there already; those of skip tensors are copied on. */
static void begin_gradients(struct hps_slice *s, int slot, int B)
{
    struct hps_slice_impl *impl = s->impl;

    for (int l = 0; l <= s->last; l++) {
        const struct hps_slice_view *h = &impl->view[l];
        bool passes = h->passes && h->grad_buffer == HPS_BUFFER_IN;
        impl->written[l] = passes || h->grad_buffer == HPS_BUFFER_OUT;
        if (!passes) continue;
        struct hps_tensor g = grad_of(s, slot, l);
        struct hps_tensor from = hps_tensor_view(s->out_grad[slot] + h->out_grad_at,
                                                 (size_t)s->out_grad_width, g.width);
        s->dev->ops->dense->copy(s->dev, B, from, g);
    }
}

void hps_slice_backward(struct hps_slice *s, int slot, const struct hps_feed *feed,
                        void (*done)(int layer, void *arg), void *arg)
{
    assert(feed->B <= s->rows && slot < s->nslot && s->grad);
    begin_gradients(s, slot, feed->B);
    for (int l = s->last; l >= s->first; l--) {
        const struct hps_layer *layer = &s->net->layer[l];
        if (layer->grad && takes_part(s, feed, l)) backward_layer(s, slot, feed, l);
        if (done && (layer->nparam > 0 || layer->table >= 0)) done(l, arg);
    }
}

static void clock_layer(struct hps_slice *s, const struct hps_feed *feed, bool backward, int l)
{
    if (!backward)
        forward_layer(s, 0, feed, l, true);
    else if (s->net->layer[l].grad)
        backward_layer(s, 0, feed, l);
}

/* Other devices than the host measure with their events. */
static void clock_device(struct hps_slice *s, const struct hps_feed *feed, bool backward,
                         double *seconds)
{
    struct hps_slice_impl *impl = s->impl;
    const struct hps_dev_ops *ops = s->dev->ops;
    int n = s->last - s->first + 1;

    if (!impl->clock) impl->clock = hps_mem_new((size_t)n + 1, sizeof *impl->clock);
    for (int i = 0; i <= n && !impl->clock[n]; i++)
        impl->clock[i] = ops->event_new(s->dev);
    ops->event_record(s->dev, impl->clock[0], HPS_STREAM_COMPUTE);
    if (backward) begin_gradients(s, 0, feed->B);
    for (int i = 0; i < n; i++) {
        clock_layer(s, feed, backward, backward ? s->last - i : s->first + i);
        ops->event_record(s->dev, impl->clock[i + 1], HPS_STREAM_COMPUTE);
    }
    ops->sync(s->dev);
    for (int i = 0; i < n; i++)
        seconds[backward ? n - 1 - i : i] =
            ops->event_elapsed_s(s->dev, impl->clock[i], impl->clock[i + 1]);
}

void hps_slice_measure(struct hps_slice *s, const struct hps_feed *feed, bool backward,
                     double (*clock_s)(void), double *seconds)
{
    int n = s->last - s->first + 1;

    if (!s->dev->host) {
        clock_device(s, feed, backward, seconds);
        return;
    }
    double then_s = clock_s(), now_s;
    if (backward) begin_gradients(s, 0, feed->B);
    for (int i = 0; i < n; i++, then_s = now_s) {
        int l = backward ? s->last - i : s->first + i;
        clock_layer(s, feed, backward, l);
        s->dev->ops->sync(s->dev);
        now_s = clock_s();
        seconds[l - s->first] = now_s - then_s;
    }
}

bool hps_slice_has_loss(const struct hps_net *net, int first, int last)
{
    bool any = false;

    for (int l = first; l <= last; l++)
        any |= net->layer[l].type->loss;
    return any;
}

static size_t layers(const struct hps_slice *s)
{
    return (size_t)(s->last - s->first + 1);
}

void hps_slice_loss_begin(struct hps_slice *s, int copy)
{
    const struct hps_slice_impl *impl = s->impl;
    const struct hps_dev_ops *ops = s->dev->ops;
    size_t bytes = layers(s) * sizeof *s->loss;

    if (!hps_slice_has_loss(s->net, s->first, s->last)) return;
    ops->copy_to_host_async(s->dev, HPS_STREAM_COMPUTE, impl->loss_copy + (size_t)copy * layers(s),
                            s->loss, bytes);
    ops->zero(s->dev, s->loss, bytes);
    ops->event_record(s->dev, impl->loss_event[copy], HPS_STREAM_COMPUTE);
}

double hps_slice_loss_end(struct hps_slice *s, int copy)
{
    const struct hps_slice_impl *impl = s->impl;
    double sum = 0;

    hps_dev_wait(s->dev, impl->loss_event[copy]);
    for (int l = s->first; l <= s->last; l++)
        if (s->net->layer[l].type->loss)
            sum += s->net->layer[l].weight * impl->loss_copy[(size_t)copy * layers(s) +
                                                       (size_t)(l - s->first)];
    return sum;
}

double hps_slice_loss(struct hps_slice *s)
{
    hps_slice_loss_begin(s, HPS_LOSS_COPIES - 1);
    return hps_slice_loss_end(s, HPS_LOSS_COPIES - 1);
}

void hps_slice_pack(struct hps_slice *s, int l)
{
    const struct hps_slice_impl *impl = s->impl;
    const struct hps_layer *layer = &s->net->layer[l];
    int i = l - s->first;

    if (impl->packed_at[i + 1] > impl->packed_at[i])
        layer->type->pack(layer, s->dev, s->param + s->offset[i],
                          impl->packed + impl->packed_at[i]);
}

void hps_slice_update_layer(struct hps_slice *s, int l, const struct hps_rule *rule)
{
    hps_slice_update_part(s, l - s->first, rule, 0, s->nparam);
    hps_slice_pack(s, l);
}

void hps_slice_update(struct hps_slice *s, struct hps_update update, float scale)
{
    for (int l = s->first; l <= s->last; l++) {
        struct hps_rule rule = hps_slice_rule(s, l - s->first, update);
        rule.scale = scale;
        hps_slice_update_layer(s, l, &rule);
    }
}
