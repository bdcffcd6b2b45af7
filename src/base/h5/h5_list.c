/* h5_list.c - what is in an HDF5 file: its datasets, the attributes of an object. */
#include <stdio.h>
#include <string.h>

#include "base/h5/h5_impl.h"
#include "base/mem.h"

struct walk {
    struct hps_h5 *h5;
    const char *object;
    void *self;
    void (*dataset)(void *self, const char *name, long long nrow, int width);
    void (*attribute)(void *self, const char *name, const char *text, bool number);
    enum hps_status status;     /* of the objects so far */
};

static herr_t visit_object(hid_t root, const char *name, const H5O_info_t *info, void *walk)
{
    struct walk *w = walk;
    long long nrow;
    int width;

    (void)root;
    if (info->type != H5O_TYPE_DATASET) return 0;
    if (hps_h5_shape(w->h5, name, &nrow, &width))
        w->status = HPS_DECK;
    else
        w->dataset(w->self, name, nrow, width);
    return 0;
}

enum hps_status hps_h5_datasets(struct hps_h5 *h, void *self,
                                void (*each)(void *self, const char *name, long long nrow,
                                             int width))
{
    struct walk w = { .h5 = h, .self = self, .dataset = each };
    bool good = H5Ovisit(h->file, H5_INDEX_NAME, H5_ITER_INC, visit_object, &w) >= 0;

    if (good) return w.status;
    return hps_h5_verdict(h, HPS_DECK, "its objects cannot be listed: %s", hps_h5_why());
}

/* Numbers of an attribute as a text; false: it holds something else. */
static bool read_numbers(struct walk *w, const char *name, char *text, size_t size)
{
    enum { FEW = 8 };
    double *x = NULL;
    long long value;
    hid_t attribute = H5Aopen_by_name(w->h5->file, w->object, name, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    hssize_t n = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    size_t at = 0;

    if (space >= 0) HPS_H5(H5Sclose(space));
    if (attribute >= 0) HPS_H5(H5Aclose(attribute));
    if (n == 1 && !hps_h5_get_long(w->h5, w->object, name, &value, true)) {
        snprintf(text, size, "%lld", value);
        return true;
    }
    if (n < 1 || n > 1 << 24) return false;
    x = hps_mem_new((size_t)n, sizeof *x);
    bool good = !hps_h5_get_real(w->h5, w->object, name, (int)n, x, true);
    for (int i = 0; good && i < n && i < FEW; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%.17g", i ? ", " : "", x[i]);
    if (good && n > FEW) snprintf(text + at, size - at, ", ...");
    hps_mem_free(x);
    return good;
}

static herr_t visit_attribute(hid_t object, const char *name, const H5A_info_t *info, void *walk)
{
    struct walk *w = walk;
    char numbers[512], *text;

    (void)object;
    (void)info;
    if (!hps_h5_get_text(w->h5, w->object, name, &text, true)) {
        w->attribute(w->self, name, text, false);
        hps_mem_free(text);
    } else if (read_numbers(w, name, numbers, sizeof numbers)) {
        w->attribute(w->self, name, numbers, true);
    }
    return 0;
}

bool hps_h5_each_attribute(struct hps_h5 *h, const char *object, void *self,
                           void (*each)(void *self, const char *name, const char *text,
                                        bool number))
{
    struct walk w = { .h5 = h, .object = object, .self = self, .attribute = each };

    return H5Aiterate_by_name(h->file, object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_attribute,
                              &w, H5P_DEFAULT) >= 0;
}

enum hps_status hps_h5_attributes(struct hps_h5 *h, const char *object, void *self,
                                  void (*each)(void *self, const char *name, const char *text,
                                               bool number))
{
    bool good = hps_h5_each_attribute(h, object, self, each);

    return hps_h5_verdict(h, good ? HPS_OK : HPS_DECK, "the attributes of %s cannot be listed: %s",
                          object, good ? "" : hps_h5_why());
}
