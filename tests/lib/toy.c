/* toy.c - a dataset's shape without a file, a net over it, and seeded micro-batches; see toy.h. */
#include "toy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/rng.h"
#include "device.h"

static void must(bool good, const char *what)
{
    if (!good) HPS_DIE("toy: %s", what);
}

enum hps_status toy_try(struct toy *toy, const char *text)
{
    static const struct hps_slot slots[4] = {
        { .name = "a", .buckets = 10 },
        { .name = "b", .buckets = 7 },
        { .name = "c", .buckets = 12, .multi = true, .ids = { .nrow = 150 } },
        { .name = "d", .buckets = 5, .multi = true, .ids = { .nrow = 50 } },
    };

    memset(toy, 0, sizeof *toy);
    memcpy(toy->slot, slots, sizeof slots);
    toy->data = (struct hps_data){ .N = 100, .D = 3, .nslot = 4, .slot = toy->slot };
    enum hps_status s = hps_deck_parse(&toy->deck, "toy.yaml", text, strlen(text), 0, NULL);
    must(!s, "the deck does not parse");
    return hps_net_new(&toy->net, toy->deck, &toy->data);
}

void toy_open(struct toy *toy, const char *text)
{
    const struct hps_item *train;

    must(!toy_try(toy, text), "the net is refused");
    must(!hps_deck_map(toy->deck, "train", &train), "`train` is no section");
    must(!hps_deck_bind(toy->deck, train, hps_train_fields, NULL, NULL, &toy->train), "`train`");
    must(!HPS_TEST_DEV.open(&toy->dev, 0, 2), "no device");
}

void toy_close(struct toy *toy)
{
    hps_net_free(toy->net);
    hps_deck_free(toy->deck);
    if (toy->dev.ops) toy->dev.ops->close(&toy->dev);
    toy->net = NULL;
    toy->deck = NULL;
    toy->dev.ops = NULL;
}

/* 0 to 3 ids where a slot of the layer may have any number, else one. */
static int count_ids(const struct hps_net *net, const struct hps_layer *l, int s, uint64_t key)
{
    bool multi = net->slot_multi[l->slot[s]];

    if (l->negatives.n > 0) return l->negatives.n + 1;
    return multi ? (int)(hps_rng_bits(key, 0) % 4) : 1;
}

static void make_bag(struct toy_feed *f, const struct hps_net *net, const struct hps_layer *l)
{
    int B = f->feed.B, most = (l->negatives.n + 3) * l->nslot * B;
    int *index = hps_mem_new((size_t)most, sizeof *index);
    int *offset = hps_mem_new((size_t)(l->nslot * B + 1), sizeof *offset);
    uint64_t layer = hps_rng_key(7, l->name);
    bool single = true;
    int n = 0;

    for (int s = 0; s < l->nslot; s++)
        for (int b = 0; b < B; b++) {
            uint64_t key = hps_rng_sub(hps_rng_sub(layer, (uint64_t)s), (uint64_t)f->example[b]);
            int ids = count_ids(net, l, s, key);
            single = single && ids == 1;
            for (int i = 0; i < ids; i++)
                index[n++] = (int)(hps_rng_bits(key, 1 + (uint64_t)i / 2) % TOY_ROWS);
            offset[s * B + b + 1] = n;
        }
    f->lookup[l->index] = (struct hps_lookup){ .nslot = l->nslot,
                                               .B = B,
                                               .nid = (size_t)n,
                                               .offset = offset,
                                               .single = single,
                                               .of.index = index };
}

static void make_rows(struct toy_feed *f, const struct hps_layer *l)
{
    size_t n = (size_t)TOY_ROWS * (size_t)l->dim;
    uint64_t key = hps_rng_key(8, l->name);

    f->rows[l->index] = hps_mem_new(n, sizeof(float));
    f->rows_grad[l->index] = (struct hps_row_grad){ .row = hps_mem_new(n, sizeof(float)),
                                                    .nrow = TOY_ROWS, .written = true };
    f->lookup[l->index].rows.gathered = f->rows[l->index];
    f->lookup[l->index].grad = &f->rows_grad[l->index];
    f->lookups[l->index] = &f->lookup[l->index];
    for (size_t i = 0; i < n; i++)
        f->rows[l->index][i] = 2 * hps_rng_unit(key, i) - 1;
}

void toy_feed_new(struct toy_feed *f, const struct toy *toy, long long first, int B, float weight)
{
    const struct hps_net *net = toy->net;
    size_t L = (size_t)net->L, D = (size_t)net->D;
    uint64_t key = hps_rng_key(9, "dense"), label = hps_rng_key(9, "label");

    *f = (struct toy_feed){
        .L = net->L,
        .lookup = hps_mem_new(L, sizeof *f->lookup),
        .lookups = hps_mem_new(L, sizeof *f->lookups),
        .rows = hps_mem_new(L, sizeof *f->rows),
        .rows_grad = hps_mem_new(L, sizeof *f->rows_grad),
        .example = hps_mem_new((size_t)B, sizeof *f->example),
        .label = hps_mem_new((size_t)B, sizeof *f->label),
        .dense = hps_mem_new((size_t)B * D, sizeof *f->dense),
    };
    f->feed = (struct hps_feed){ .B = B, .key = hps_rng_key(3, "step"), .weight = weight,
                                 .example = f->example, .label = f->label, .dense = f->dense };
    for (size_t b = 0; b < (size_t)B; b++) {
        uint64_t n = (uint64_t)first + b;
        f->example[b] = (long long)n;
        f->label[b] = (float)(hps_rng_bits(label, n) & 1);
        for (size_t d = 0; d < D; d++)
            f->dense[b * D + d] = 2 * hps_rng_unit(key, n * D + d) - 1;
    }
    for (int l = 0; l < net->L; l++)
        if (net->layer[l].table >= 0) {
            make_bag(f, net, &net->layer[l]);
            make_rows(f, &net->layer[l]);
        }
    f->feed = toy_feed_from(f, 0);
}

struct hps_feed toy_feed_from(const struct toy_feed *f, int first)
{
    struct hps_feed feed = f->feed;

    feed.lookup = f->lookups + first;
    return feed;
}

void toy_feed_free(struct toy_feed *f)
{
    for (int l = 0; l < f->L; l++) {
        hps_mem_free((void *)f->lookup[l].of.index);
        hps_mem_free((void *)f->lookup[l].offset);
        hps_mem_free(f->rows[l]);
        hps_mem_free(f->rows_grad[l].row);
    }
    hps_mem_free(f->lookup);
    hps_mem_free(f->lookups);
    hps_mem_free(f->rows);
    hps_mem_free(f->rows_grad);
    hps_mem_free(f->example);
    hps_mem_free(f->label);
    hps_mem_free(f->dense);
}

static int ears = -1, mouth = -1;

void toy_listen(void)
{
    char path[] = "/tmp/toy.XXXXXX";

    ears = mkstemp(path);
    must(ears >= 0 && unlink(path) == 0, "no file to listen with");
    mouth = dup(STDERR_FILENO);
    must(mouth >= 0 && dup2(ears, STDERR_FILENO) >= 0, "standard error cannot be turned");
}

const char *toy_heard(void)
{
    static char heard[8192];
    ssize_t n = pread(ears, heard, sizeof heard - 1, 0);

    must(dup2(mouth, STDERR_FILENO) >= 0 && n >= 0, "standard error cannot be turned back");
    close(ears);
    close(mouth);
    heard[n] = '\0';
    return heard;
}
