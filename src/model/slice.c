/* slice.c - layers first..last of a net, live on one device.
 *
 * Every tensor that the slice sees has a home, found once: a column of the packed boundary before
 * it (in), of the one behind it (out), or a block of its own. A tensor that crosses both is
 * relayed: copied from in to out, its gradient from out to in, where readers here add theirs. */
#include "model/slice.h"

#include <assert.h>

#include "base/mem.h"

enum place { NOWHERE, IN, INNER, OUT };

struct home {
    enum place place, grad_place;
    size_t at, grad_at;                 /* floats from the beginning of the place           */
    size_t ld, grad_ld;
    bool relay;                         /* in `in` (its home) and also in `out`              */
    size_t out_at, out_grad_at;         /* then: its columns there                          */
};

struct own {
    struct home *home;                  /* (last+1) by layer; made before first: if it crosses */
    float **inner;                      /* (flights) outputs that stay here                  */
    float *inner_grad;                  /* their gradients: one flight goes back at a time   */
    float **keep;                       /* (flights)                                         */
    size_t *keep_at, *once_at;          /* (last-first+1)                                    */
    float *all;                         /* scratch of a layer at work, grown when needed     */
    size_t all_cap, shared;             /* floats; most of a row                             */
    double *scratch;                    /* host                                              */
    struct hps_peers alone;             /* of a feed without peers                           */
    bool *written;                      /* (last+1) this backward has begun the gradient     */
    struct hps_tensor *x, *dx;          /* (most inputs) of the layer at work                */
    bool *add;
};

/* Blocks begin at multiples of 64 bytes. */
static size_t block(size_t rows, size_t width)
{
    return (rows * width + 15) / 16 * 16;
}

static void home_in(struct hps_slice *s, struct home *home)
{
    const struct hps_net *net = s->net;
    size_t at = 0, grad_at = 0;

    hps_net_boundary(net, s->first, NULL, &s->in_width, &s->in_grad_width);
    for (int l = 0; l < s->first; l++) {
        const struct hps_layer *x = &net->layer[l];
        if (x->last_use < s->first)
            continue;
        home[l].place = IN;
        home[l].at = at;
        home[l].ld = (size_t)s->in_width;
        at += (size_t)x->width;
        if (!x->grad)
            continue;
        home[l].grad_place = IN;
        home[l].grad_at = grad_at;
        home[l].grad_ld = (size_t)s->in_grad_width;
        grad_at += (size_t)x->width;
    }
}

/* Tensors made here write straight into the boundary; those from before are relayed into it. */
static void home_out(struct hps_slice *s, struct home *home)
{
    const struct hps_net *net = s->net;
    size_t at = 0, grad_at = 0;

    hps_net_boundary(net, s->last + 1, NULL, &s->out_width, &s->out_grad_width);
    for (int l = 0; l <= s->last; l++) {
        const struct hps_layer *x = &net->layer[l];
        if (x->last_use <= s->last)
            continue;
        home[l].relay = l < s->first;
        home[l].out_at = at;
        home[l].out_grad_at = grad_at;
        at += (size_t)x->width;
        grad_at += x->grad ? (size_t)x->width : 0;
        if (home[l].relay)
            continue;
        home[l].place = OUT;
        home[l].at = home[l].out_at;
        home[l].ld = (size_t)s->out_width;
        home[l].grad_place = x->grad ? OUT : NOWHERE;
        home[l].grad_at = home[l].out_grad_at;
        home[l].grad_ld = (size_t)s->out_grad_width;
    }
}

/* The rest stays here; the loss has no tensor. Answers floats of all blocks. */
static void home_inner(const struct hps_slice *s, struct home *home, size_t *inner, size_t *grad)
{
    *inner = *grad = 0;
    for (int l = s->first; l <= s->last; l++) {
        const struct hps_layer *x = &s->net->layer[l];
        if (home[l].place != NOWHERE || x->kind->loss)
            continue;
        home[l].place = INNER;
        home[l].at = *inner;
        home[l].ld = home[l].grad_ld = (size_t)x->width;
        *inner += block((size_t)s->rows, (size_t)x->width);
        if (!x->grad)
            continue;
        home[l].grad_place = INNER;
        home[l].grad_at = *grad;
        *grad += block((size_t)s->rows, (size_t)x->width);
    }
}

static float *floats(struct hps_slice *s, size_t n)
{
    return s->dev->ops->alloc(s->dev, n * sizeof(float));
}

static float **flight_floats(struct hps_slice *s, size_t n)
{
    float **p = hps_mem_new((size_t)s->flights, sizeof *p);

    for (int f = 0; f < s->flights; f++)
        p[f] = floats(s, n);
    return p;
}

static void take_buffers(struct hps_slice *s, bool training)
{
    struct own *own = s->own;
    size_t rows = (size_t)s->rows, inner, grad, keep = 0, nscratch = 0;

    home_in(s, own->home);
    home_out(s, own->home);
    home_inner(s, own->home, &inner, &grad);
    for (int l = s->first; l <= s->last; l++) {
        const struct hps_layer *x = &s->net->layer[l];
        own->keep_at[l - s->first] = keep;
        keep += block(rows, x->kept);
        own->once_at[l - s->first] = keep;
        keep += block(1, x->kept_once);
        own->shared = x->shared > own->shared ? x->shared : own->shared;
        nscratch = x->nscratch > nscratch ? x->nscratch : nscratch;
    }
    own->scratch = hps_mem_new(nscratch, sizeof *own->scratch);
    own->inner = flight_floats(s, inner);
    own->keep = flight_floats(s, keep);
    s->in = flight_floats(s, rows * (size_t)s->in_width);
    s->out = flight_floats(s, rows * (size_t)s->out_width);
    if (training) {
        own->inner_grad = floats(s, grad);
        s->in_grad = flight_floats(s, rows * (size_t)s->in_grad_width);
        s->out_grad = flight_floats(s, rows * (size_t)s->out_grad_width);
    }
    if (s->last == s->net->L - 1)
        s->score = floats(s, (size_t)s->flights * rows);
    s->loss = s->dev->ops->alloc(s->dev, (size_t)(s->last - s->first + 1) * sizeof *s->loss);
}

static struct hps_rule rule_of(const struct hps_slice *s, int i, long long step, long long total)
{
    return hps_opt_rule(s->opt, &s->net->layer[s->first + i].own, step, total);
}

/* What each layer's states begin with, for the weights in `param` (host). */
static void take_states(struct hps_slice *s, const float *param)
{
    int n = s->last - s->first + 1;

    for (int i = 0; i < n; i++)
        s->state_at[i + 1] = s->state_at[i] + s->net->layer[s->first + i].nparam
                             * (size_t)rule_of(s, i, 0, 1).nstate;
    s->state = floats(s, s->state_at[n]);
    float *host = hps_mem_new(s->state_at[n], sizeof *host);
    for (int i = 0; i < n; i++) {
        struct hps_rule rule = rule_of(s, i, 0, 1);
        size_t nparam = s->net->layer[s->first + i].nparam;
        if (nparam > 0)
            hps_opt_start(&rule, nparam, param + s->offset[i], host + s->state_at[i]);
    }
    s->dev->ops->put(s->dev, s->state, host, s->state_at[n] * sizeof *host);
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
    s->dev->ops->put(s->dev, s->running, host, s->running_at[n] * sizeof *host);
    s->dev->ops->sync(s->dev);
    hps_mem_free(host);
}

static void take_weights(struct hps_slice *s, uint64_t seed, bool training)
{
    int n = s->last - s->first + 1;

    for (int i = 0; i < n; i++)
        s->offset[i + 1] = s->offset[i] + s->net->layer[s->first + i].nparam;
    s->nparam = s->offset[n];
    s->param = floats(s, s->nparam);
    float *host = hps_mem_new(s->nparam, sizeof *host);
    for (int i = 0; i < n; i++)
        hps_net_init_param(s->net, s->first + i, seed, host + s->offset[i]);
    s->dev->ops->put(s->dev, s->param, host, s->nparam * sizeof *host);
    s->dev->ops->sync(s->dev);
    if (training) {
        s->grad = floats(s, s->nparam);
        take_states(s, host);
    }
    hps_mem_free(host);
}

enum hps_status hps_slice_new(struct hps_slice **out, const struct hps_net *net, int first,
                              int last, struct hps_dev *dev, int rows, int flights,
                              const struct hps_train_opt *opt, uint64_t seed, bool training)
{
    assert(0 <= first && first <= last && last < net->L && rows >= 0 && flights >= 1);
    struct hps_slice *s = hps_mem_new(1, sizeof *s);
    struct own *own = hps_mem_new(1, sizeof *own);
    size_t n = (size_t)(last - first + 1), inputs = 0;

    *s = (struct hps_slice){ .net = net, .dev = dev, .first = first, .last = last,
                             .rows = rows, .flights = flights, .opt = opt, .own = own };
    for (int l = first; l <= last; l++)
        if (inputs < (size_t)net->layer[l].ninput)
            inputs = (size_t)net->layer[l].ninput;
    own->home = hps_mem_new((size_t)last + 1, sizeof *own->home);
    own->written = hps_mem_new((size_t)last + 1, sizeof *own->written);
    own->keep_at = hps_mem_new(n, sizeof *own->keep_at);
    own->once_at = hps_mem_new(n, sizeof *own->once_at);
    s->running_at = hps_mem_new(n + 1, sizeof *s->running_at);
    own->x = hps_mem_new(inputs, sizeof *own->x);
    own->dx = hps_mem_new(inputs, sizeof *own->dx);
    own->add = hps_mem_new(inputs, sizeof *own->add);
    s->offset = hps_mem_new(n + 1, sizeof *s->offset);
    s->state_at = hps_mem_new(n + 1, sizeof *s->state_at);
    take_buffers(s, training);
    take_running(s);
    take_weights(s, seed, training);
    *out = s;
    return HPS_OK;
}

static void free_flights(struct hps_slice *s, float **p)
{
    for (int f = 0; p && f < s->flights; f++)
        s->dev->ops->free(s->dev, p[f]);
    hps_mem_free(p);
}

void hps_slice_free(struct hps_slice *s)
{
    if (!s)
        return;
    struct own *own = s->own;
    void *const device[] = { s->param, s->grad, s->state, s->running, s->score, s->loss,
                             own->inner_grad, own->all };
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        if (device[i])
            s->dev->ops->free(s->dev, device[i]);
    free_flights(s, s->in);
    free_flights(s, s->out);
    free_flights(s, s->in_grad);
    free_flights(s, s->out_grad);
    free_flights(s, own->inner);
    free_flights(s, own->keep);
    hps_mem_free(own->home);
    hps_mem_free(own->written);
    hps_mem_free(own->keep_at);
    hps_mem_free(own->once_at);
    hps_mem_free(own->scratch);
    hps_mem_free(s->running_at);
    hps_mem_free(own->x);
    hps_mem_free(own->dx);
    hps_mem_free(own->add);
    hps_mem_free(own);
    hps_mem_free(s->offset);
    hps_mem_free(s->state_at);
    hps_mem_free(s);
}

static struct hps_tensor value_of(const struct hps_slice *s, int flight, int l)
{
    const struct own *own = s->own;
    const struct home *h = &own->home[l];
    int width = s->net->layer[l].width;

    switch (h->place) {
    case IN: return (struct hps_tensor){ s->in[flight] + h->at, h->ld, width };
    case INNER: return (struct hps_tensor){ own->inner[flight] + h->at, h->ld, width };
    case OUT: return (struct hps_tensor){ s->out[flight] + h->at, h->ld, width };
    default: return (struct hps_tensor){ NULL, 0, width };
    }
}

static struct hps_tensor grad_of(const struct hps_slice *s, int flight, int l)
{
    const struct own *own = s->own;
    const struct home *h = &own->home[l];
    int width = s->net->layer[l].width;

    switch (h->grad_place) {
    case IN: return (struct hps_tensor){ s->in_grad[flight] + h->grad_at, h->grad_ld, width };
    case INNER: return (struct hps_tensor){ own->inner_grad + h->grad_at, h->grad_ld, width };
    case OUT: return (struct hps_tensor){ s->out_grad[flight] + h->grad_at, h->grad_ld, width };
    default: return (struct hps_tensor){ NULL, 0, width };
    }
}

/* Who shares the micro-batch, and scratch for all of its rows: more than before is rare. */
static const struct hps_peers *peers_of(struct hps_slice *s, const struct hps_feed *feed)
{
    struct own *own = s->own;

    own->alone = hps_peers_alone(s->dev, feed->B);
    const struct hps_peers *peers = feed->peers ? feed->peers : &own->alone;
    size_t need = (size_t)peers->rows * own->shared;
    if (need > own->all_cap) {
        s->dev->ops->free(s->dev, own->all);
        own->all = floats(s, need);
        own->all_cap = need;
    }
    return peers;
}

/* What layer l sees of the micro-batch; the gradients are filled in by backward. */
static struct hps_pass pass_of(struct hps_slice *s, int flight, const struct hps_feed *feed, int l,
                               bool training)
{
    struct own *own = s->own;
    const struct hps_layer *layer = &s->net->layer[l];
    int i = l - s->first;
    struct hps_pass p = {
        .dev = s->dev, .B = feed->B, .training = training, .key = feed->key,
        .example = feed->example, .label = feed->label, .dense = feed->dense,
        .x = own->x, .y = value_of(s, flight, l), .dx = own->dx, .add = own->add,
        .param = s->param + s->offset[i], .grad = s->grad ? s->grad + s->offset[i] : NULL,
        .keep = own->keep[flight] + own->keep_at[i], .once = own->keep[flight] + own->once_at[i],
        .running = s->running + s->running_at[i], .peers = peers_of(s, feed),
        .scratch = own->scratch, .weight = (float)(layer->weight * (double)feed->weight),
        .score = l == s->net->L - 1 ? s->score + (size_t)flight * (size_t)s->rows : NULL,
        .loss = s->loss + i,
    };

    p.all = own->all;
    for (int k = 0; k < layer->ninput; k++)
        own->x[k] = value_of(s, flight, layer->input[k]);
    if (layer->table >= 0) {
        assert(feed->bag[i].B == feed->B && feed->bag[i].nslot == layer->nslot);
        p.bag = &feed->bag[i];
        p.rows = feed->rows[i];
        p.nrow = feed->nrow[i];
        p.rows_grad = feed->rows_grad ? feed->rows_grad[i] : NULL;
    }
    return p;
}

bool hps_slice_meets(const struct hps_net *net, int first, int last)
{
    bool any = false;

    for (int l = first; l <= last; l++)
        any |= net->layer[l].kind->peers;
    return any;
}

/* A rank without rows of a micro-batch still meets those that have some. */
static bool takes_part(const struct hps_slice *s, const struct hps_feed *feed, int l)
{
    return feed->B > 0 || (s->net->layer[l].kind->peers && feed->peers && feed->peers->rows > 0);
}

static void forward_layer(struct hps_slice *s, int flight, const struct hps_feed *feed, int l,
                          bool training)
{
    struct hps_pass p = pass_of(s, flight, feed, l, training);

    s->net->layer[l].kind->forward(&s->net->layer[l], &p);
}

/* The first writer of a gradient overwrites, the others add. */
static void backward_layer(struct hps_slice *s, int flight, const struct hps_feed *feed, int l)
{
    struct own *own = s->own;
    const struct hps_layer *layer = &s->net->layer[l];
    struct hps_pass p = pass_of(s, flight, feed, l, true);

    p.dy = grad_of(s, flight, l);
    for (int k = 0; k < layer->ninput; k++) {
        own->dx[k] = grad_of(s, flight, layer->input[k]);
        own->add[k] = own->written[layer->input[k]];
        own->written[layer->input[k]] = true;
    }
    layer->kind->backward(layer, &p);
}

void hps_slice_forward(struct hps_slice *s, int flight, const struct hps_feed *feed, bool training)
{
    const struct own *own = s->own;

    assert(feed->B <= s->rows && flight < s->flights);
    for (int l = 0; l < s->first && feed->B > 0; l++)
        if (own->home[l].relay) {
            struct hps_tensor x = value_of(s, flight, l);
            s->dev->ops->copy(s->dev, feed->B, x.width, x.data, x.ld,
                              s->out[flight] + own->home[l].out_at, (size_t)s->out_width, false);
        }
    for (int l = s->first; l <= s->last; l++)
        if (takes_part(s, feed, l))
            forward_layer(s, flight, feed, l, training);
}

/* Gradients that arrive from behind are there already: relay those of relayed tensors. */
static void begin_gradients(struct hps_slice *s, int flight, int B)
{
    struct own *own = s->own;

    for (int l = 0; l <= s->last; l++) {
        const struct home *h = &own->home[l];
        bool relay = h->relay && h->grad_place == IN;
        own->written[l] = relay || h->grad_place == OUT;
        if (!relay)
            continue;
        struct hps_tensor g = grad_of(s, flight, l);
        s->dev->ops->copy(s->dev, B, g.width, s->out_grad[flight] + h->out_grad_at,
                          (size_t)s->out_grad_width, g.data, g.ld, false);
    }
}

void hps_slice_backward(struct hps_slice *s, int flight, const struct hps_feed *feed,
                        void (*done)(int layer, void *arg), void *arg)
{
    assert(feed->B <= s->rows && flight < s->flights && s->grad);
    begin_gradients(s, flight, feed->B);
    for (int l = s->last; l >= s->first; l--) {
        const struct hps_layer *layer = &s->net->layer[l];
        if (layer->grad && takes_part(s, feed, l))
            backward_layer(s, flight, feed, l);
        if (done && (layer->nparam > 0 || layer->table >= 0))
            done(l, arg);
    }
}

void hps_slice_clock(struct hps_slice *s, const struct hps_feed *feed, bool backward,
                     double (*clock_s)(void), double *seconds)
{
    int n = s->last - s->first + 1;
    double then_s = clock_s(), now_s;

    if (backward)
        begin_gradients(s, 0, feed->B);
    for (int i = 0; i < n; i++, then_s = now_s) {
        int l = backward ? s->last - i : s->first + i;
        if (!backward)
            forward_layer(s, 0, feed, l, true);
        else if (s->net->layer[l].grad)
            backward_layer(s, 0, feed, l);
        s->dev->ops->sync(s->dev);
        now_s = clock_s();
        seconds[l - s->first] = now_s - then_s;
    }
}

double hps_slice_loss(struct hps_slice *s)
{
    double sum = 0, one;

    s->dev->ops->sync(s->dev);
    for (int l = s->first; l <= s->last; l++) {
        if (!s->net->layer[l].kind->loss)
            continue;
        s->dev->ops->get(s->dev, &one, s->loss + (l - s->first), sizeof one);
        s->dev->ops->sync(s->dev);
        s->dev->ops->zero(s->dev, s->loss + (l - s->first), sizeof one);
        sum += s->net->layer[l].weight * one;
    }
    return sum;
}

void hps_slice_update(struct hps_slice *s, long long step, long long total, float scale)
{
    for (int i = 0; i <= s->last - s->first; i++) {
        size_t n = s->offset[i + 1] - s->offset[i];
        if (n == 0)
            continue;
        struct hps_rule rule = rule_of(s, i, step, total);
        rule.scale = scale;
        s->dev->ops->update(s->dev, &rule, n, s->param + s->offset[i], s->grad + s->offset[i],
                            s->state + s->state_at[i]);
    }
}
