/* forms.c - the forms of the train and the test file of an import. */
#include "data/forms.h"

#include <string.h>

#include "base/mem.h"

void hps_forms_new(struct hps_forms *f, int D, int nslot)
{
    *f = (struct hps_forms){ .D = D, .nslot = nslot };
    f->name = hps_mem_new((size_t)(D + nslot), sizeof *f->name);
    for (int k = 0; k < 2; k++) {
        f->scale[k] = hps_mem_new((size_t)D, sizeof *f->scale[k]);
        f->slot[k] = hps_mem_new((size_t)nslot, sizeof *f->slot[k]);
    }
}

void hps_forms_free(struct hps_forms *f)
{
    for (int i = 0; i < f->D + f->nslot; i++)
        hps_mem_free(f->name[i]);
    for (int k = 0; k < 2; k++) {
        hps_mem_free(f->scale[k]);
        hps_mem_free(f->slot[k]);
    }
    hps_mem_free(f->name);
    hps_mem_free(f->rule);
}

void hps_forms_dense(struct hps_forms *f, int d, const char *name)
{
    f->name[d] = hps_mem_text(name);
}

void hps_forms_slot(struct hps_forms *f, int j, const char *name, long long buckets, bool multi,
                    const char *rule)
{
    f->name[f->D + j] = hps_mem_text(name);
    for (int k = 0; k < 2; k++)
        f->slot[k][j] = (struct hps_writer_slot){ .name = f->name[f->D + j], .buckets = buckets,
                                                  .multi = multi, .rule = rule };
}

void hps_forms_label(struct hps_forms *f, const char *name, const char *labels)
{
    f->classes = strcmp(labels, "binary") == 0;
    f->rule = hps_mem_print("%s %s", name, f->classes ? "above 0" : "as it is");
}

const char hps_forms_hash[] = "hash of the slot and the text";

const char *hps_forms_ids(const char *ids)
{
    return strcmp(ids, "keep") == 0 ? "number" : hps_forms_hash;
}

enum hps_status hps_forms_put(struct hps_forms *f, struct hps_intake *in, const char *preset)
{
    const char *words = in->opt->dense, *from = in->opt->scaling;
    bool any = strcmp(words, "auto") == 0;
    const char *const *dense_name = (const char *const *)f->name;
    struct hps_scale scale;
    enum hps_status s = HPS_OK;

    hps_scale_parse(any ? preset : words, &scale);
    for (int k = 0; k < 2 && !s; k++) {
        for (int d = 0; d < f->D; d++)
            f->scale[k][d] = scale;
        in->form[k] = (struct hps_writer_form){ .D = f->D, .nslot = f->nslot,
                                                .dense_name = dense_name, .scale = f->scale[k],
                                                .slot = f->slot[k], .source = in->opt->source,
                                                .rule = f->rule, .classes = f->classes,
                                                .any_scaling = any, .settled = *from };
        if (*from) s = hps_writer_constants(from, &in->form[k]);
    }
    return s;
}
