#include "plan/profile.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/say.h"

static const char format[] = "heterps-profile-1";

/* A member that a file need not have: `x` stays as it is without it. */
static bool may_get_real(const struct hps_json_at *at, const char *key, double *x)
{
    return !hps_json_has(at, key) || hps_json_get_real(at, key, x);
}

static bool may_get_reals(const struct hps_json_at *at, const char *key, int n, double *x)
{
    return !hps_json_has(at, key) || hps_json_get_reals(at, key, n, x);
}

static bool read_type(struct hps_profile_type *y, const struct hps_json_at *at)
{
    char kind[8] = "cpu";
    bool good = hps_json_get_name(at, "name", y->name, sizeof y->name) &&
                hps_json_get_real(at, "price_usd_hour", &y->price_usd_hour) &&
                hps_json_get_int(at, "limit", &y->limit) &&
                (!hps_json_has(at, "kind") ||
                 hps_json_get_name(at, "kind", kind, sizeof kind)) &&
                may_get_real(at, "memory_bytes", &y->memory_bytes);

    y->gpu = strcmp(kind, "gpu") == 0;
    if (good && !y->gpu && strcmp(kind, "cpu") != 0)
        good = hps_json_wrong(at, "kind", "must be cpu or gpu");
    return good;
}

/* Which rows steps need, where the layer is the first that requests them. */
static bool read_sample(struct hps_tier_sample *x, const struct hps_json_at *at)
{
    return hps_json_get_real(at, "rows", &x->rows) && hps_json_get_real(at, "asked", &x->asked) &&
           hps_json_get_real(at, "steps", &x->steps) &&
           hps_json_get_reals(at, "distinct", HPS_TIER_POINTS, x->distinct) &&
           hps_json_get_reals(at, "hits", HPS_TIER_SHARES, x->hits) &&
           hps_json_get_reals(at, "later_hits", HPS_TIER_SHARES, x->later_hits) &&
           hps_json_get_reals(at, "first_hits", HPS_TIER_SHARES, x->first_hits);
}

static bool read_rows(struct hps_profile *p, int l, const struct hps_json_at *layer)
{
    size_t row = (size_t)l * (size_t)p->T;
    struct hps_json_at at;
    long long with = l;

    if (!hps_json_get_object(&at, layer, "tier")) return false;
    if (!at.object) return true;
    if (hps_json_has(&at, "with")) {
        if (!hps_json_get_int(&at, "with", &with)) return false;
        if (with < 0 || with >= l) return hps_json_wrong(&at, "with", "must be an earlier layer");
        p->layer[l].rows_with = (int)with;
        return true;
    }
    return read_sample(&p->layer[l].sample, &at) &&
           may_get_reals(&at, "take", p->T, p->tier.take_s + row) &&
           may_get_reals(&at, "make", p->T, p->tier.make_s + row) &&
           may_get_reals(&at, "read", p->T, p->tier.read_s + row) &&
           may_get_reals(&at, "write", p->T, p->tier.write_s + row);
}

static bool read_layer(struct hps_profile *p, int l, const struct hps_json_at *at)
{
    struct hps_profile_layer *y = &p->layer[l];
    size_t row = (size_t)l * (size_t)p->T;
    bool good = hps_json_get_name(at, "name", y->name, sizeof y->name) &&
                hps_json_get_name(at, "type", y->type, sizeof y->type) &&
                hps_json_get_real(at, "input_bytes", &y->input_bytes) &&
                hps_json_get_real(at, "weight_bytes", &y->weight_bytes) &&
                hps_json_get_reals(at, "oct", p->T, p->oct + row) &&
                hps_json_get_reals(at, "alpha", p->T, p->alpha + row) &&
                hps_json_get_reals(at, "sync", p->T, p->sync + row) &&
                hps_json_get_reals(at, "beta", p->T, p->beta + row) &&
                hps_json_get_reals(at, "recv", p->T, p->recv + row) &&
                hps_json_get_reals(at, "send", p->T, p->send + row) &&
                may_get_real(at, "state_bytes", &y->state_bytes) &&
                may_get_reals(at, "serve", p->T, p->serve + row) &&
                may_get_reals(at, "forward", p->T, p->engine.forward_s + row) &&
                may_get_reals(at, "once", p->T, p->engine.once_s + row) && read_rows(p, l, at);

    y->reads = json_is_true(json_object_get(at->object, "reads"));
    return good;
}

static bool read_limit(struct hps_profile *p, const struct hps_json_at *top)
{
    const char *word = json_string_value(json_object_get(top->object, "throughput_limit"));

    if (!word || strcmp(word, "max") != 0)
        return hps_json_get_real(top, "throughput_limit", &p->throughput_limit);
    p->throughput_limit = INFINITY;
    return true;
}

static bool read_servers(struct hps_profile *p, const struct hps_json_at *top)
{
    struct hps_json_at at;
    long long type = -1;

    if (!hps_json_get_object(&at, top, "servers")) return false;
    if (!at.object) return true;
    p->server_auto = json_is_true(json_object_get(at.object, "auto"));
    p->server_dense = json_is_true(json_object_get(at.object, "dense"));
    if (p->server_auto && hps_json_has(&at, "units"))
        return hps_json_wrong(&at, "units", "cannot be given where they are auto");
    if ((!p->server_auto || hps_json_has(&at, "type")) && !hps_json_get_int(&at, "type", &type))
        return false;
    if (!p->server_auto && !hps_json_get_int(&at, "units", &p->server_units)) return false;
    if ((type < 0 && hps_json_has(&at, "type")) || type >= p->T)
        return hps_json_wrong(&at, "type", "must be the index of a type");
    p->server_type = (int)type;
    return true;
}

/* Absent: 1. */
static bool read_workers(struct hps_profile *p, const struct hps_json_at *top)
{
    long long n = 1;

    if (hps_json_has(top, "workers") && !hps_json_get_int(top, "workers", &n)) return false;
    if (n < 1 || n > 1 << 20) return hps_json_wrong(top, "workers", "must be 1 to 1048576");
    p->workers = (int)n;
    return true;
}

static bool read_engine(struct hps_profile *p, const struct hps_json_at *top)
{
    struct hps_profile_engine *e = &p->engine;
    struct hps_json_at at;

    if (!hps_json_get_object(&at, top, "engine")) return false;
    if (!at.object) return true;
    return hps_json_get_real(&at, "batch", &e->batch) &&
           hps_json_get_int(&at, "microbatches", &e->microbatches) &&
           hps_json_get_reals(&at, "read_s", p->T, e->read_s) &&
           hps_json_get_reals(&at, "micro_s", p->T, e->micro_s) &&
           hps_json_get_reals(&at, "step_s", p->T, e->step_s) &&
           may_get_reals(&at, "unsure", p->T, e->unsure) &&
           may_get_real(&at, "move", &e->move) && may_get_real(&at, "run_s", &e->run_s) &&
           may_get_real(&at, "trial", &e->trial);
}

static bool read_tier(struct hps_profile *p, const struct hps_json_at *top)
{
    struct hps_json_at at;

    if (!hps_json_get_object(&at, top, "tier")) return false;
    return !at.object || (hps_json_get_real(&at, "memory_bytes", &p->max_rows_bytes) &&
                          may_get_reals(&at, "reads_s", p->T, p->tier.reads_s));
}

static bool read_all(struct hps_profile *p, const struct hps_json_at *top)
{
    struct hps_json_at at;
    char place[32];
    bool good = hps_json_get_real(top, "batch", &p->batch) &&
                hps_json_get_real(top, "examples", &p->examples) &&
                hps_json_get_real(top, "epochs", &p->epochs) && read_limit(p, top);

    for (int t = 0; good && t < p->T; t++)
        good = hps_json_get_entry(&at, top, "types", (size_t)t, place, sizeof place) &&
               read_type(&p->type[t], &at);
    for (int l = 0; good && l < p->L; l++)
        good = hps_json_get_entry(&at, top, "layers", (size_t)l, place, sizeof place) &&
               read_layer(p, l, &at);
    return good && read_workers(p, top) && read_servers(p, top) && read_engine(p, top) &&
           read_tier(p, top);
}

/* The profile of a tree, which is freed. */
static enum hps_status read_tree(struct hps_profile **p, const char *from, json_t *tree)
{
    struct hps_json_at top = { from, "", tree };
    const json_t *types = hps_json_get_list(&top, "types");
    const json_t *layers = types ? hps_json_get_list(&top, "layers") : NULL;
    enum hps_status s = HPS_DECK;

    if (layers && (json_array_size(types) == 0 || json_array_size(layers) == 0)) {
        HPS_SAY(HPS_ERROR, "%s: a profile has at least one type and one layer", from);
    } else if (layers) {
        *p = hps_profile_new((int)json_array_size(layers), (int)json_array_size(types));
        if (read_all(*p, &top)) s = hps_profile_check(*p, from);
    }
    if (s) {
        hps_profile_free(*p);
        *p = NULL;
    }
    json_decref(tree);
    return s;
}

enum hps_status hps_profile_parse(struct hps_profile **p, const char *from, const char *text,
                                  size_t length)
{
    json_t *tree;
    enum hps_status s = hps_json_parse(&tree, from, format, text, length);

    *p = NULL;
    return s ? s : read_tree(p, from, tree);
}

enum hps_status hps_profile_load(struct hps_profile **p, const char *path)
{
    json_t *tree;
    enum hps_status s = hps_json_load(&tree, path, format);

    *p = NULL;
    return s ? s : read_tree(p, path, tree);
}

static json_t *write_type(const struct hps_profile_type *y)
{
    json_t *o = json_object();

    json_object_set_new(o, "name", hps_json_word(y->name));
    json_object_set_new(o, "kind", json_string(y->gpu ? "gpu" : "cpu"));
    json_object_set_new(o, "price_usd_hour", hps_json_real(y->price_usd_hour));
    json_object_set_new(o, "limit", json_integer(y->limit));
    if (y->memory_bytes > 0) json_object_set_new(o, "memory_bytes", hps_json_real(y->memory_bytes));
    return o;
}

static void write_reals(json_t *o, const char *key, int n, const double *x)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, hps_json_real(x[i]));
    json_object_set_new(o, key, list);
}

static bool serves(const struct hps_profile *p, int l)
{
    bool some = false;

    for (int t = 0; t < p->T; t++)
        some = some || p->serve[l * p->T + t] > 0;
    return some;
}

static json_t *write_rows(const struct hps_profile *p, int l)
{
    const struct hps_profile_layer *y = &p->layer[l];
    const struct hps_tier_sample *x = &y->sample;
    size_t row = (size_t)l * (size_t)p->T;
    json_t *o = json_object();

    if (y->rows_with != l) {
        json_object_set_new(o, "with", json_integer(y->rows_with));
        return o;
    }
    json_object_set_new(o, "rows", hps_json_real(x->rows));
    json_object_set_new(o, "asked", hps_json_real(x->asked));
    json_object_set_new(o, "steps", hps_json_real(x->steps));
    write_reals(o, "distinct", HPS_TIER_POINTS, x->distinct);
    write_reals(o, "hits", HPS_TIER_SHARES, x->hits);
    write_reals(o, "later_hits", HPS_TIER_SHARES, x->later_hits);
    write_reals(o, "first_hits", HPS_TIER_SHARES, x->first_hits);
    write_reals(o, "take", p->T, p->tier.take_s + row);
    write_reals(o, "make", p->T, p->tier.make_s + row);
    write_reals(o, "read", p->T, p->tier.read_s + row);
    write_reals(o, "write", p->T, p->tier.write_s + row);
    return o;
}

static json_t *write_layer(const struct hps_profile *p, int l)
{
    const struct hps_profile_layer *y = &p->layer[l];
    size_t row = (size_t)l * (size_t)p->T;
    json_t *o = json_object();

    json_object_set_new(o, "name", hps_json_word(y->name));
    json_object_set_new(o, "type", json_string(y->type));
    json_object_set_new(o, "input_bytes", hps_json_real(y->input_bytes));
    json_object_set_new(o, "weight_bytes", hps_json_real(y->weight_bytes));
    if (y->state_bytes > 0) json_object_set_new(o, "state_bytes", hps_json_real(y->state_bytes));
    write_reals(o, "oct", p->T, p->oct + row);
    write_reals(o, "alpha", p->T, p->alpha + row);
    write_reals(o, "sync", p->T, p->sync + row);
    write_reals(o, "beta", p->T, p->beta + row);
    write_reals(o, "recv", p->T, p->recv + row);
    write_reals(o, "send", p->T, p->send + row);
    if (serves(p, l)) write_reals(o, "serve", p->T, p->serve + row);
    if (p->engine.batch > 0) {
        write_reals(o, "forward", p->T, p->engine.forward_s + row);
        write_reals(o, "once", p->T, p->engine.once_s + row);
    }
    if (y->reads) json_object_set_new(o, "reads", json_true());
    bool sampled = p->layer[y->rows_with].sample.rows > 0;
    if (sampled) json_object_set_new(o, "tier", write_rows(p, l));
    return o;
}

static json_t *write_engine(const struct hps_profile *p)
{
    const struct hps_profile_engine *e = &p->engine;
    json_t *o = json_object();

    json_object_set_new(o, "batch", hps_json_real(e->batch));
    json_object_set_new(o, "microbatches", json_integer(e->microbatches));
    write_reals(o, "read_s", p->T, e->read_s);
    write_reals(o, "micro_s", p->T, e->micro_s);
    write_reals(o, "step_s", p->T, e->step_s);
    write_reals(o, "unsure", p->T, e->unsure);
    if (e->move > 0) json_object_set_new(o, "move", hps_json_real(e->move));
    if (e->run_s > 0) json_object_set_new(o, "run_s", hps_json_real(e->run_s));
    if (e->trial > 0) json_object_set_new(o, "trial", hps_json_real(e->trial));
    return o;
}

static json_t *write_tier(const struct hps_profile *p)
{
    json_t *o = json_object();

    json_object_set_new(o, "memory_bytes", hps_json_real(p->max_rows_bytes));
    write_reals(o, "reads_s", p->T, p->tier.reads_s);
    return o;
}

static json_t *write_servers(const struct hps_profile *p)
{
    json_t *o = json_object();

    if (p->server_auto) json_object_set_new(o, "auto", json_true());
    if (p->server_dense) json_object_set_new(o, "dense", json_true());
    if (p->server_type >= 0) json_object_set_new(o, "type", json_integer(p->server_type));
    if (!p->server_auto) json_object_set_new(o, "units", json_integer(p->server_units));
    return o;
}

static json_t *write_all(const struct hps_profile *p)
{
    json_t *o = json_object(), *types = json_array(), *layers = json_array();

    json_object_set_new(o, "format", json_string(format));
    json_object_set_new(o, "batch", hps_json_real(p->batch));
    json_object_set_new(o, "examples", hps_json_real(p->examples));
    json_object_set_new(o, "epochs", hps_json_real(p->epochs));
    json_object_set_new(o, "throughput_limit", isinf(p->throughput_limit)
                                                   ? json_string("max")
                                                   : hps_json_real(p->throughput_limit));
    for (int t = 0; t < p->T; t++)
        json_array_append_new(types, write_type(&p->type[t]));
    for (int l = 0; l < p->L; l++)
        json_array_append_new(layers, write_layer(p, l));
    json_object_set_new(o, "types", types);
    json_object_set_new(o, "layers", layers);
    json_object_set_new(o, "workers", json_integer(p->workers));
    if (hps_profile_served(p)) json_object_set_new(o, "servers", write_servers(p));
    if (p->engine.batch > 0) json_object_set_new(o, "engine", write_engine(p));
    if (p->max_rows_bytes > 0) json_object_set_new(o, "tier", write_tier(p));
    return o;
}

char *hps_profile_text(const struct hps_profile *p)
{
    return hps_json_text(write_all(p));
}

enum hps_status hps_profile_save(const struct hps_profile *p, const char *path)
{
    return hps_json_save(write_all(p), path);
}
