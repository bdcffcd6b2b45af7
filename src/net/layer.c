/* layer.c - the list of layer types, and what all of them share. */
#include "net/layer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/say.h"
#include "net/net.h"

/* Their order is that of the reference deck. */
#define LAYER_TYPES(one)                                                                           \
    one(embedding) one(attention) one(dense_input) one(concat) one(add) one(fc) one(activation)    \
    one(dot_interaction) one(fm) one(cross) one(cosine) one(softmax) one(dropout) one(batch_norm)  \
    one(layer_norm) one(logistic) one(cross_entropy) one(squared) one(hinge) one(nce)

#define DECLARED(name) extern const struct hps_layer_type hps_layer_##name;
LAYER_TYPES(DECLARED)
#define LISTED(name) &hps_layer_##name,
static const struct hps_layer_type *const all[] = { LAYER_TYPES(LISTED) };
enum { NTYPE = sizeof all / sizeof *all, MAX_WIDTH = 1 << 22 };

const struct hps_field hps_layer_fields[] = {
    HPS_FIELD(hps_layer_opt, name, HPS_TEXT, NULL, 0, 0, "", "letters, digits, _ and -"),
    HPS_FIELD(hps_layer_opt, type, HPS_TEXT, NULL, 0, 0, "", "the layer's type"),
    HPS_FIELD(hps_layer_opt, inputs, HPS_LIST, "[]", 0, 0, "",
              "names of earlier layers; not given: the layer before"),
    HPS_CHOICE(hps_layer_opt, optimizer, "same", "same|" HPS_RULE_WORDS,
               "of its weights or rows; same: as in `train`"),
    HPS_FIELD(hps_layer_opt, learning_rate, HPS_REAL, "0", 0, 1e6, "",
              "of its weights or rows; 0: as in `train`"),
    { 0 }
};

const struct hps_layer_type *hps_layer_find(const char *name)
{
    for (int i = 0; i < NTYPE; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

const char *hps_layer_type_words(void)
{
    static char words[512];
    size_t n = 0;

    for (int i = 0; i < NTYPE; i++) {
        size_t more = strlen(all[i]->name);
        assert(n + more + 2 < sizeof words);
        memcpy(words + n, all[i]->name, more);
        n += more;
        words[n++] = '|';
    }
    words[n - 1] = '\0';
    return words;
}

enum hps_status hps_layer_unknown_type(const struct hps_item *item, const char *type)
{
    const char *names[NTYPE];

    for (int i = 0; i < NTYPE; i++)
        names[i] = all[i]->name;
    const char *near = hps_deck_nearest(type, names, NTYPE);
    if (near)
        return hps_deck_wrong(item, "type", "unknown layer type '%s', did you mean '%s'?", type,
                              near);
    return hps_deck_wrong(item, "type", "unknown layer type '%s' (%s)", type,
                          hps_layer_type_words());
}

enum hps_act hps_layer_act(const char *word)
{
    static const char *const words[] = { "none", "relu", "sigmoid", "tanh", "gelu" };
    int act = 0;

    while (strcmp(words[act], word) != 0)
        act++;
    return (enum hps_act)act;
}

enum hps_status hps_layer_vectors(const struct hps_layer *l, const struct hps_net *net, int min,
                                  int *dim, int *n)
{
    if (*dim == 0) *dim = net->layer[l->input[0]].width;
    *n = 0;
    for (int i = 0; i < l->ninput; i++) {
        const struct hps_layer *x = &net->layer[l->input[i]];
        if (x->width % *dim != 0)
            return hps_deck_wrong(l->item, "dim",
                                  "input '%s' of layer '%s' is %d wide, no multiple of %d",
                                  x->name, l->name, x->width, *dim);
        *n += x->width / *dim;
    }
    if (*n < min)
        return hps_deck_wrong(l->item, NULL, "layer '%s' has one vector of %d: no pair", l->name,
                              *dim);
    return HPS_OK;
}

void hps_layer_init_uniform(float *w, size_t n, double fan, uint64_t key, size_t first)
{
    float limit = (float)sqrt(6.0 / fan);

    for (size_t i = 0; i < n; i++)
        w[i] = limit * (2.0f * hps_rng_unit(key, (uint64_t)(first + i)) - 1.0f);
}

void hps_layer_init_gains(const struct hps_layer *l, uint64_t key, float *param)
{
    (void)key;
    for (int c = 0; c < l->width; c++) {
        param[c] = 1;
        param[l->width + c] = 0;
    }
}

bool hps_layer_writes_rounded(const struct hps_layer *l, const struct hps_dev *dev)
{
    (void)l;
    (void)dev;
    return true;
}

size_t hps_layer_packed_bytes(const struct hps_dev *dev, int in, int out)
{
    const struct hps_dense_ops *dense = dev->ops->dense;
    size_t bytes = dense->fc_packed_bytes
                       ? dense->fc_packed_bytes(dev, hps_dev_product(dev, in, out), in, out) : 0;

    return (bytes + 63) / 64 * 64;
}

void hps_layer_pack(struct hps_dev *dev, int in, int out, const float *w, char *packed)
{
    if (hps_layer_packed_bytes(dev, in, out) > 0)
        dev->ops->dense->fc_pack(dev, hps_dev_product(dev, in, out), in, out, w, packed);
}

enum hps_status hps_layer_set_width(struct hps_layer *l, long long width)
{
    if (width > MAX_WIDTH)
        return hps_deck_wrong(l->item, NULL, "layer '%s' is %lld wide, the most is %d", l->name,
                              width, MAX_WIDTH);
    l->width = (int)width;
    return HPS_OK;
}

/* Names become names of HDF5 groups and of --set paths. */
bool hps_layer_name_is_valid(const char *name)
{
    static const char good[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t n = strlen(name);

    return n > 0 && n < 64 && strspn(name, good) == n;
}

void hps_layer_print_reference(enum hps_deck_form form)
{
    hps_deck_print_section(form, "model",
                           "  - {name: ids, type: embedding, slots: all, dim: 8}\n"
                           "  - {name: nums, type: dense_input}\n"
                           "  - {name: both, type: concat, inputs: [ids, nums]}\n"
                           "  - {name: h1, type: fc, width: 64, activation: relu}\n"
                           "  - {name: deep, type: fc, width: 1}\n"
                           "  - {name: wide, type: embedding, slots: all, dim: 1, combine: sum}\n"
                           "  - {name: out, type: add, inputs: [deep, wide]}\n"
                           "  - {name: loss, type: logistic}\n");
    hps_deck_print_group(form, "Every layer has:", NULL);
    hps_deck_print_table(form, true, hps_layer_fields);
    for (int i = 0; i < NTYPE; i++) {
        char *head = hps_mem_print("type: %s", all[i]->name);
        hps_deck_print_group(form, head, all[i]->help);
        if (all[i]->fields) hps_deck_print_table(form, true, all[i]->fields);
        hps_mem_free(head);
    }
}
