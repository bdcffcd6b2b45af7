/* writer_take.c - reads constants and categories of a dataset for a new one, and compares rules. */
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "data/writer.h"

static enum hps_status check_names(const struct hps_data *data, int D, const char *const *name)
{
    bool same = data->D == D;

    for (int d = 0; d < D && same; d++)
        same = strcmp(data->dense_name[d], name[d]) == 0;
    if (same) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: its dense features are not those of this import", data->path);
    return HPS_DECK;
}

/* A dataset whose rules are compared with those of a form. */
struct compared {
    struct hps_h5 h5;
    const struct hps_writer_form *form;
    int unstated;                   /* rules of the form that the dataset does not state */
};

static enum hps_status differs(const struct compared *c, const char *what, const char *name,
                               const char *why)
{
    HPS_SAY(HPS_ERROR, "%s: its %s%s%s is made in another way than here: %s", c->h5.path, what,
            *name ? " " : "", name, why);
    return HPS_DECK;
}

/* The rule of an object in the dataset and in the form (NULL: not stated). */
static enum hps_status compare_rule(struct compared *c, const char *object, const char *what,
                                    const char *name, const char *rule)
{
    char *told = NULL, *why;
    enum hps_status s = HPS_OK;

    if (!rule) return HPS_OK;
    if (hps_h5_get_text(&c->h5, object, "rule", &told, true)) {
        c->unstated++;
    } else if (strcmp(told, rule) != 0) {
        why = hps_mem_print("%.200s, not %.200s", told, rule);
        s = differs(c, what, name, why);
        hps_mem_free(why);
    }
    hps_mem_free(told);
    return s;
}

static enum hps_status compare_slot(struct compared *c, const struct hps_writer_slot *slot)
{
    char *group = hps_mem_print("slots/%s", slot->name);
    char *index = hps_mem_print("slots/%s/index", slot->name);
    bool indexed = hps_h5_has(&c->h5, index);
    enum hps_status s = HPS_OK;

    if (hps_h5_has(&c->h5, group)) s = compare_rule(c, group, "slot", slot->name, slot->rule);
    if (!s && indexed && slot->rule && strcmp(slot->rule, "index") != 0)
        s = differs(c, "slot", slot->name, "it has an index of categories");
    hps_mem_free(index);
    hps_mem_free(group);
    return s;
}

static enum hps_status compare_scales(struct compared *c)
{
    const struct hps_writer_form *f = c->form;
    struct hps_scale *scale = hps_mem_new((size_t)f->D, sizeof *scale);
    enum hps_status s = hps_scale_load(scale, f->D, &c->h5);

    for (int d = 0; d < f->D && !s; d++) {
        const char *why = hps_scale_differs(&scale[d], &f->scale[d]);
        if (why && !f->any_scaling) s = differs(c, "dense feature", f->dense_name[d], why);
    }
    hps_mem_free(scale);
    return s;
}

enum hps_status hps_writer_agrees(const char *path, const struct hps_writer_form *form, bool label)
{
    struct compared c = { .form = form };
    enum hps_status s = hps_h5_open(&c.h5, path);

    if (s) return s;
    s = compare_scales(&c);
    for (int j = 0; j < form->nslot && !s; j++)
        s = compare_slot(&c, &form->slot[j]);
    if (!s && label) s = compare_rule(&c, "label", "label", "", form->rule);
    if (!s && c.unstated)
        HPS_SAY(HPS_WARN, "%s does not tell how its labels or ids were made: let it be as here",
                path);
    return hps_h5_read(&c.h5, s);
}

static enum hps_status take_constants(const char *path, const struct hps_writer_form *form)
{
    struct hps_scale *scale = form->scale;
    struct hps_h5 h;
    enum hps_status s = hps_h5_open(&h, path);

    if (s) return s;
    s = hps_scale_load(scale, form->D, &h);
    s = hps_h5_read(&h, s);
    for (int d = 0; d < form->D && !s; d++)
        scale[d] = (struct hps_scale){ .log1p = scale[d].log1p, .range = scale[d].range,
                                       .shift = scale[d].shift, .scale = scale[d].scale,
                                       .since = scale[d].since };
    return s;
}

enum hps_status hps_writer_constants(const char *path, const struct hps_writer_form *form)
{
    struct hps_data *data;
    enum hps_status s = hps_data_open(&data, path, MPI_COMM_NULL);

    if (s) return s;
    s = check_names(data, form->D, form->dense_name);
    hps_data_close(data);
    if (!s) s = hps_writer_agrees(path, form, false);
    return s ? s : take_constants(path, form);
}

enum hps_status hps_writer_index(const char *path, const char *slot, char **texts, size_t *bytes)
{
    struct hps_h5 h;
    long long n = 0;
    int width = 0;
    char *name = hps_mem_print("slots/%s/index", slot);
    enum hps_status s = hps_h5_open(&h, path);

    *texts = NULL;
    if (!s) {
        s = hps_h5_shape(&h, name, &n, &width);
        if (!s && (width != 0 || n > (64 << 20))) {
            HPS_SAY(HPS_ERROR, "%s: %s is not an index of categories", path, name);
            s = HPS_DECK;
        }
        if (!s) {
            *texts = hps_mem_new((size_t)n + 1, 1);     /* the last text is ended in any case */
            s = hps_h5_get(&h, name, H5T_NATIVE_UCHAR, 0, n, 0, *texts);
        }
        s = hps_h5_read(&h, s);
    }
    if (s) {
        hps_mem_free(*texts);
        *texts = NULL;
    }
    *bytes = (size_t)n;
    hps_mem_free(name);
    return s;
}
