#include "app/layout.h"

#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/page.h"

static const char *word(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static long long whole(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* The pool's entry of a type; NULL: there is none. */
static const json_t *type_of(const json_t *pool, const char *name)
{
    const json_t *types = json_object_get(pool, "types");

    for (size_t t = 0; t < json_array_size(types); t++)
        if (strcmp(word(json_array_get(types, t), "name"), name) == 0)
            return json_array_get(types, t);
    return NULL;
}

/* "layers 0-3 on 2 cpu (Xeon 8462Y+, threads 4)" */
static void add_stage(struct hps_page *t, const json_t *stage, const json_t *plan,
                      const json_t *pool)
{
    size_t at = (size_t)whole(stage, "type");
    const char *name = json_string_value(json_array_get(json_object_get(plan, "type_names"), at));
    const json_t *type = type_of(pool, name ? name : "");
    long long first = whole(stage, "first"), last = whole(stage, "last");

    hps_page_add(t, "%s %lld", first < last ? "layers" : "layer", first);
    if (first < last) hps_page_add(t, "-%lld", last);
    hps_page_add(t, " on %lld ", whole(stage, "units"));
    if (name) hps_page_add(t, "%s", name);
    if (!name) hps_page_add(t, "units of type %zu", at);
    if (!type) return;
    const char *gpu = word(type, "gpu");
    hps_page_add(t, " (%s, threads %lld)", *gpu ? gpu : word(type, "cpu"), whole(type, "threads"));
}

char *hps_layout_text(const char *plan, const char *pool)
{
    json_t *p = json_loads(plan, 0, NULL), *q = json_loads(pool, 0, NULL);
    const json_t *stages = json_object_get(p, "stages"), *share = json_object_get(p, "share");
    struct hps_page t = { 0 };

    hps_page_add(&t, "%s", "");
    for (size_t s = 0; s < json_array_size(stages); s++) {
        if (s > 0) hps_page_add(&t, "; ");
        add_stage(&t, json_array_get(stages, s), p, q);
    }
    const json_t *servers = json_object_get(p, "servers");
    long long n = (long long)json_integer_value(json_object_get(servers, "units"));
    if (n > 0) hps_page_add(&t, "; %lld server%s", n, n > 1 ? "s" : "");
    if (whole(p, "workers") > 1) hps_page_add(&t, "; %lld workers", whole(p, "workers"));
    for (size_t i = 0; i < json_array_size(share); i++) {
        const json_t *pair = json_array_get(share, i);
        hps_page_add(&t, "; stages %lld and %lld share",
                     (long long)json_integer_value(json_array_get(pair, 0)),
                     (long long)json_integer_value(json_array_get(pair, 1)));
    }
    json_decref(p);
    json_decref(q);
    return t.at;
}

char *hps_layout_origin(const char *plan)
{
    json_t *p = json_loads(plan, 0, NULL);
    const char *instead = word(p, "instead_of");
    char *text = hps_mem_print("%s%s%s", word(p, "method"), *instead ? " in place of " : "",
                               instead);

    json_decref(p);
    return text;
}
