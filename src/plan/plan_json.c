#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/json.h"
#include "base/say.h"

static const char format[] = "heterps-plan-1";

static bool get_index(const struct hps_json_at *at, const char *key, int *x)
{
    long long value;

    if (!hps_json_get_int(at, key, &value)) return false;
    if (value < 0 || value > 1 << 20) return hps_json_wrong(at, key, "is out of range");
    *x = (int)value;
    return true;
}

static bool read_stage(struct hps_plan_stage *g, const struct hps_json_at *at)
{
    return get_index(at, "first", &g->first) && get_index(at, "last", &g->last) &&
           get_index(at, "type", &g->type) && hps_json_get_int(at, "units", &g->units);
}

/* The assignment must agree with the stages, which decide. */
static bool agree(const struct hps_plan *plan, const struct hps_json_at *top)
{
    const json_t *list = json_object_get(top->object, "assignment");

    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        for (int l = g->first; l <= g->last && l < plan->L; l++) {
            const json_t *v = json_array_get(list, (size_t)l);
            if (!json_is_integer(v))
                return hps_json_wrong(top, "assignment", "must be a list of whole numbers");
            if (json_integer_value(v) != g->type) {
                HPS_SAY(HPS_ERROR, "%s: assignment[%d] is %lld, stages[%d] is on type %d",
                        top->from, l, (long long)json_integer_value(v), s, g->type);
                return false;
            }
        }
    }
    return true;
}

/* Names of the network and the pool, where the file has them. */
static bool read_names(struct hps_plan *plan, const struct hps_json_at *top)
{
    if (!hps_json_has(top, "layer_names") || !hps_json_has(top, "type_names")) return true;
    const json_t *layers = hps_json_get_list(top, "layer_names");
    const json_t *types = layers ? hps_json_get_list(top, "type_names") : NULL;
    if (!types) return false;
    if (json_array_size(layers) != (size_t)plan->L)
        return hps_json_wrong(top, "layer_names", "must name every layer of the assignment");
    plan->T = (int)json_array_size(types);
    if (plan->T < 1) return hps_json_wrong(top, "type_names", "must not be empty");
    plan->layer = hps_mem_new((size_t)plan->L, sizeof *plan->layer);
    plan->type = hps_mem_new((size_t)plan->T, sizeof *plan->type);
    for (int a = 0; a < plan->L + plan->T; a++) {
        bool layer = a < plan->L;
        const json_t *v = json_array_get(layer ? layers : types,
                                         (size_t)(layer ? a : a - plan->L));
        if (!json_is_string(v) || json_string_length(v) >= HPS_NAME)
            return hps_json_wrong(top, layer ? "layer_names" : "type_names", "must be names");
        memcpy(layer ? plan->layer[a] : plan->type[a - plan->L], json_string_value(v),
               json_string_length(v) + 1);
    }
    return true;
}

static bool read_share(struct hps_plan *plan, const struct hps_json_at *top)
{
    const json_t *list = json_object_get(top->object, "share");

    if (!list || json_is_null(list)) return true;
    if (!json_is_array(list))
        return hps_json_wrong(top, "share", "must be a list of pairs of stages");
    hps_plan_share(plan, (int)json_array_size(list));
    for (int n = 0; n < plan->nshare; n++) {
        const json_t *pair = json_array_get(list, (size_t)n);
        for (size_t a = 0; a < 2; a++) {
            const json_t *v = json_array_get(pair, a);
            json_int_t s = json_is_integer(v) ? json_integer_value(v) : -1;
            if (json_array_size(pair) != 2 || s < 0 || s >= plan->S)
                return hps_json_wrong(top, "share", "must be a list of pairs of stages");
            plan->share[n][a] = (int)s;
        }
    }
    return true;
}

/* Absent: 1. */
static bool read_workers(struct hps_plan *plan, const struct hps_json_at *top)
{
    if (!hps_json_has(top, "workers")) return true;
    if (!get_index(top, "workers", &plan->workers)) return false;
    return plan->workers > 0 || hps_json_wrong(top, "workers", "must be at least 1");
}

static bool read_servers(struct hps_plan *plan, const struct hps_json_at *top)
{
    struct hps_json_at at;

    if (!hps_json_get_object(&at, top, "servers")) return false;
    if (!at.object) return true;
    return get_index(&at, "type", &plan->server_type) &&
           hps_json_get_int(&at, "units", &plan->server_units);
}

static void read_word(char *word, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    snprintf(word, HPS_NAME, "%s", text ? text : "");
}

/* The results of the search, where the file has them: a run that continues with the plan prints
 * them again. */
static void read_search(struct hps_plan *plan, const struct hps_json_at *top)
{
    const json_t *o = top->object;

    plan->lower_bound_usd = json_number_value(json_object_get(o, "lower_bound_usd"));
    plan->gap = json_number_value(json_object_get(o, "gap"));
    plan->search_seconds = json_number_value(json_object_get(o, "search_seconds"));
    plan->evaluations = (long long)json_number_value(json_object_get(o, "evaluations"));
    read_word(plan->warm, o, "warm");
    read_word(plan->instead, o, "instead_of");
    read_word(plan->by, o, "by");
    read_word(plan->competitor, o, "rival");
    plan->competitor_ratio = json_number_value(json_object_get(o, "rival_ratio"));
}

static bool read_all(struct hps_plan *plan, const struct hps_json_at *top)
{
    struct hps_json_at at;
    char place[32];
    bool good = !hps_json_has(top, "method") ||
                hps_json_get_name(top, "method", plan->method, sizeof plan->method);

    for (int s = 0; good && s < plan->S; s++)
        good = hps_json_get_entry(&at, top, "stages", (size_t)s, place, sizeof place) &&
               read_stage(&plan->stage[s], &at);
    read_search(plan, top);
    return good && read_workers(plan, top) && read_servers(plan, top) && read_share(plan, top) &&
           agree(plan, top) && read_names(plan, top);
}

/* The plan of a tree, which is freed. */
static enum hps_status read_tree(struct hps_plan **plan, const char *from, json_t *tree)
{
    struct hps_json_at top = { from, "", tree };
    const json_t *layers = hps_json_get_list(&top, "assignment");
    const json_t *stages = layers ? hps_json_get_list(&top, "stages") : NULL;
    enum hps_status s = HPS_DECK;

    if (stages && (json_array_size(stages) == 0 ||
                   json_array_size(stages) > json_array_size(layers))) {
        HPS_SAY(HPS_ERROR, "%s: %zu stages for %zu layers: no stage may be empty", from,
                json_array_size(stages), json_array_size(layers));
    } else if (stages) {
        *plan = hps_plan_new((int)json_array_size(layers), (int)json_array_size(stages));
        if (read_all(*plan, &top)) s = HPS_OK;
    }
    if (s) {
        hps_plan_free(*plan);
        *plan = NULL;
    }
    json_decref(tree);
    return s;
}

enum hps_status hps_plan_parse(struct hps_plan **plan, const char *from, const char *text,
                               size_t length)
{
    json_t *tree;
    enum hps_status s = hps_json_parse(&tree, from, format, text, length);

    *plan = NULL;
    return s ? s : read_tree(plan, from, tree);
}

enum hps_status hps_plan_load(struct hps_plan **plan, const char *path)
{
    json_t *tree;
    enum hps_status s = hps_json_load(&tree, path, format);

    *plan = NULL;
    return s ? s : read_tree(plan, path, tree);
}

static json_t *write_stage(const struct hps_plan_stage *g)
{
    json_t *o = json_object();

    json_object_set_new(o, "first", json_integer(g->first));
    json_object_set_new(o, "last", json_integer(g->last));
    json_object_set_new(o, "type", json_integer(g->type));
    json_object_set_new(o, "units", json_integer(g->units));
    json_object_set_new(o, "ct", hps_json_real(g->ct));
    json_object_set_new(o, "dt", hps_json_real(g->dt));
    json_object_set_new(o, "et", hps_json_real(g->et));
    return o;
}

static json_t *names(int n, char (*name)[HPS_NAME])
{
    json_t *list = json_array();

    for (int a = 0; a < n; a++)
        json_array_append_new(list, hps_json_word(name[a]));
    return list;
}

static void write_results(json_t *o, const struct hps_plan *plan)
{
    json_object_set_new(o, "throughput", hps_json_real(plan->throughput));
    json_object_set_new(o, "seconds", hps_json_real(plan->seconds));
    json_object_set_new(o, "cost_usd", hps_json_real(plan->cost_usd));
    json_object_set_new(o, "lower_bound_usd", hps_json_real(plan->lower_bound_usd));
    json_object_set_new(o, "gap", hps_json_real(plan->gap));
    json_object_set_new(o, "search_seconds", hps_json_real(plan->search_seconds));
    json_object_set_new(o, "evaluations", json_integer(plan->evaluations));
    if (*plan->warm) json_object_set_new(o, "warm", json_string(plan->warm));
    if (*plan->instead) json_object_set_new(o, "instead_of", json_string(plan->instead));
    if (*plan->by) json_object_set_new(o, "by", json_string(plan->by));
    if (*plan->competitor) {
        json_object_set_new(o, "rival", json_string(plan->competitor));
        json_object_set_new(o, "rival_ratio",
                            plan->competitor_ratio > 0 ? hps_json_real(plan->competitor_ratio)
                                                       : json_null());
    }
}

static json_t *pairs(const struct hps_plan *plan)
{
    json_t *list = json_array();

    for (int n = 0; n < plan->nshare; n++)
        json_array_append_new(list, json_pack("[i,i]", plan->share[n][0], plan->share[n][1]));
    return list;
}

json_t *hps_plan_tree(const struct hps_plan *plan)
{
    json_t *o = json_object(), *assignment = json_array(), *stages = json_array();

    for (int s = 0; s < plan->S; s++) {
        for (int l = plan->stage[s].first; l <= plan->stage[s].last; l++)
            json_array_append_new(assignment, json_integer(plan->stage[s].type));
        json_array_append_new(stages, write_stage(&plan->stage[s]));
    }
    json_object_set_new(o, "format", json_string(format));
    json_object_set_new(o, "method", json_string(plan->method));
    json_object_set_new(o, "assignment", assignment);
    json_object_set_new(o, "stages", stages);
    json_object_set_new(o, "workers", json_integer(plan->workers));
    write_results(o, plan);
    if (plan->server_units > 0)
        json_object_set_new(o, "servers", json_pack("{s:i,s:I}", "type", plan->server_type, "units",
                                                    (json_int_t)plan->server_units));
    if (plan->nshare > 0) json_object_set_new(o, "share", pairs(plan));
    if (plan->T > 0) {
        json_object_set_new(o, "layer_names", names(plan->L, plan->layer));
        json_object_set_new(o, "type_names", names(plan->T, plan->type));
    }
    return o;
}

char *hps_plan_text(const struct hps_plan *plan)
{
    return hps_json_text(hps_plan_tree(plan));
}

char *hps_plan_trees_text(struct json_t *trees)
{
    json_t *o = json_object();

    json_object_set_new(o, "format", json_string("heterps-plans-1"));
    json_object_set_new(o, "plans", trees);
    return hps_json_text(o);
}

char *hps_plan_list_text(int n, struct hps_plan *const *plan)
{
    json_t *list = json_array();

    for (int a = 0; a < n; a++)
        if (plan[a]) json_array_append_new(list, hps_plan_tree(plan[a]));
    return hps_plan_trees_text(list);
}

enum hps_status hps_plan_save(const struct hps_plan *plan, const char *path)
{
    return hps_json_save(hps_plan_tree(plan), path);
}
