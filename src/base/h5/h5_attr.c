/* h5_attr.c - attributes on the objects of an HDF5 file. */
#include "base/h5/h5_impl.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"

/* The root, or with "." the object itself that h->file is in a survey: they are there. */
static bool is_base(const char *object)
{
    return strcmp(object, "/") == 0 || strcmp(object, ".") == 0;
}

/* The object as it is, or a new group of that name. */
static hid_t object_to_write(struct hps_h5 *h, const char *object)
{
    hid_t links, group;

    if (is_base(object) || hps_h5_has(h, object)) return H5Oopen(h->file, object, H5P_DEFAULT);
    links = HPS_H5(H5Pcreate(H5P_LINK_CREATE));
    HPS_H5(H5Pset_create_intermediate_group(links, 1));
    group = H5Gcreate2(h->file, object, links, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0) HPS_SAY_ALL(HPS_ERROR, "%s: %s: %s", h->path, object, hps_h5_why());
    HPS_H5(H5Pclose(links));
    return group;
}

/* Closes type and space, which are ours. */
static enum hps_status put(struct hps_h5 *h, const char *object, const char *name, hid_t type,
                           hid_t memory, hid_t space, const void *value)
{
    hid_t at = object_to_write(h, object), attribute = -1;
    bool good = at >= 0;

    if (good && H5Aexists(at, name) > 0) good = H5Adelete(at, name) >= 0;
    if (good) attribute = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    good = attribute >= 0 && H5Awrite(attribute, memory, value) >= 0;
    enum hps_status s = hps_h5_verdict(h, good ? HPS_OK : HPS_OUTPUT,
                                       "attribute %s of %s cannot be written: %s", name, object,
                                       good ? "" : hps_h5_why());
    if (attribute >= 0) HPS_H5(H5Aclose(attribute));
    if (at >= 0) HPS_H5(H5Oclose(at));
    HPS_H5(H5Sclose(space));
    HPS_H5(H5Tclose(type));
    return s;
}

static hid_t text_type(size_t length)
{
    hid_t type = HPS_H5(H5Tcopy(H5T_C_S1));

    HPS_H5(H5Tset_size(type, length + 1));
    HPS_H5(H5Tset_cset(type, H5T_CSET_UTF8));
    return type;
}

enum hps_status hps_h5_put_text(struct hps_h5 *h, const char *object, const char *name,
                                const char *text)
{
    hid_t type = text_type(strlen(text));

    return put(h, object, name, type, type, HPS_H5(H5Screate(H5S_SCALAR)), text);
}

enum hps_status hps_h5_put_long(struct hps_h5 *h, const char *object, const char *name,
                                long long value)
{
    return put(h, object, name, HPS_H5(H5Tcopy(H5T_STD_I64LE)), H5T_NATIVE_LLONG,
               HPS_H5(H5Screate(H5S_SCALAR)), &value);
}

enum hps_status hps_h5_put_real(struct hps_h5 *h, const char *object, const char *name, int n,
                                const double *value)
{
    hsize_t dims = (hsize_t)n;

    assert(n > 0);
    return put(h, object, name, HPS_H5(H5Tcopy(H5T_IEEE_F64LE)), H5T_NATIVE_DOUBLE,
               HPS_H5(H5Screate_simple(1, &dims, NULL)), value);
}

/* An attribute of `n` values of `class`; -1 and a message (unless quiet) when there is none. */
static hid_t find(struct hps_h5 *h, const char *object, const char *name, H5T_class_t class, int n,
                  bool quiet)
{
    hid_t attribute = -1, type, space;
    bool there = is_base(object) || hps_h5_has(h, object), good;

    if (there && hps_h5_there(h, H5Aexists_by_name(h->file, object, name, H5P_DEFAULT)))
        attribute = H5Aopen_by_name(h->file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0) {
        if (!quiet) HPS_SAY_ALL(HPS_ERROR, "%s: %s has no attribute %s", h->path, object, name);
        return -1;
    }
    type = H5Aget_type(attribute);                      /* fails only in a damaged file */
    space = H5Aget_space(attribute);
    good = type >= 0 && space >= 0 && H5Tget_class(type) == class &&
           H5Sget_simple_extent_npoints(space) == n;
    if (space >= 0) HPS_H5(H5Sclose(space));
    if (type >= 0) HPS_H5(H5Tclose(type));
    if (good) return attribute;
    HPS_H5(H5Aclose(attribute));
    if (!quiet)
        HPS_SAY_ALL(HPS_ERROR, "%s: attribute %s of %s is not %d value%s of the right kind",
                    h->path, name, object, n, n == 1 ? "" : "s");
    return -1;
}

/* n numbers of a class, which are integers where it is H5T_INTEGER, else reals. */
static enum hps_status get(struct hps_h5 *h, const char *object, const char *name,
                           H5T_class_t class, int n, void *value, bool quiet)
{
    hid_t memory = class == H5T_INTEGER ? H5T_NATIVE_LLONG : H5T_NATIVE_DOUBLE;
    hid_t attribute = find(h, object, name, class, n, quiet);
    bool good;

    if (attribute < 0) return HPS_DECK;
    good = H5Aread(attribute, memory, value) >= 0;
    if (!good && !quiet)
        HPS_SAY_ALL(HPS_ERROR, "%s: attribute %s of %s cannot be read: %s", h->path, name, object,
                    hps_h5_why());
    HPS_H5(H5Aclose(attribute));
    return good ? HPS_OK : HPS_DECK;
}

/* Has the stored type numbers that a long long has not? */
static bool is_wider(struct hps_h5 *h, const char *object, const char *name)
{
    hid_t attribute = find(h, object, name, H5T_INTEGER, 1, true);
    hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    size_t bytes = type < 0 ? 0 : H5Tget_size(type);
    bool wider = bytes > 8 || (bytes == 8 && H5Tget_sign(type) == H5T_SGN_NONE);

    if (type >= 0) HPS_H5(H5Tclose(type));
    if (attribute >= 0) HPS_H5(H5Aclose(attribute));
    return wider;
}

/* In place of a number that is too large the library gives the nearest. */
enum hps_status hps_h5_get_long(struct hps_h5 *h, const char *object, const char *name,
                                long long *value, bool quiet)
{
    enum hps_status s = get(h, object, name, H5T_INTEGER, 1, value, quiet);

    if (s || (*value != LLONG_MAX && *value != LLONG_MIN) || !is_wider(h, object, name)) return s;
    if (!quiet)
        HPS_SAY_ALL(HPS_ERROR, "%s: attribute %s of %s is beyond %lld", h->path, name, object,
                    *value);
    return HPS_DECK;
}

enum hps_status hps_h5_get_real(struct hps_h5 *h, const char *object, const char *name, int n,
                                double *value, bool quiet)
{
    return get(h, object, name, H5T_FLOAT, n, value, quiet);
}

/* NULL when it cannot be read. */
static char *read_varying(hid_t attribute, hid_t type)
{
    char *shared = NULL, *text;

    if (H5Aread(attribute, type, &shared) < 0) return NULL;
    text = hps_mem_text(shared ? shared : "");
    if (shared) HPS_H5(H5free_memory(shared));
    return text;
}

static char *read_fixed(hid_t attribute, hid_t type)
{
    size_t size = (size_t)H5Tget_size(type);
    char *text = hps_mem_new(size + 1, 1);

    if (H5Aread(attribute, type, text) >= 0) return text;
    hps_mem_free(text);
    return NULL;
}

enum hps_status hps_h5_get_text(struct hps_h5 *h, const char *object, const char *name,
                                char **text, bool quiet)
{
    hid_t attribute = find(h, object, name, H5T_STRING, 1, quiet), type;

    *text = NULL;
    if (attribute < 0) return HPS_DECK;
    type = HPS_H5(H5Aget_type(attribute));
    *text = H5Tis_variable_str(type) > 0 ? read_varying(attribute, type)
                                         : read_fixed(attribute, type);
    if (!*text && !quiet)
        HPS_SAY_ALL(HPS_ERROR, "%s: attribute %s of %s cannot be read: %s", h->path, name, object,
                    hps_h5_why());
    HPS_H5(H5Tclose(type));
    HPS_H5(H5Aclose(attribute));
    return *text ? HPS_OK : HPS_DECK;
}
