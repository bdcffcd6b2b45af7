/* h5_survey.c - an HDF5 file is looked through: nothing may lead out of it. */
#include <stdio.h>
#include <string.h>

#include "base/h5/h5_impl.h"
#include "base/say.h"

/* What the library hands through its visits. */
struct survey {
    char *why;                  /* HPS_H5_WHY bytes; empty: nothing is wrong so far */
};

static herr_t visit_link(hid_t root, const char *name, const H5L_info_t *info, void *survey)
{
    struct survey *s = survey;

    (void)root;
    if (info->type == H5L_TYPE_HARD || info->type == H5L_TYPE_SOFT) return 0;
    snprintf(s->why, HPS_H5_WHY,
             info->type == H5L_TYPE_EXTERNAL
                 ? "/%s links to another file: only what is in the file itself is read"
                 : "/%s is a link of a kind of its own: only what is in the file itself is read",
             name);
    return 1;
}

/* Why a dataset is not plainly in this file; NULL: it is. */
static const char *storage_trouble(hid_t set)
{
    hid_t make = H5Dget_create_plist(set);
    const char *why = NULL;

    if (make < 0) return NULL; /* who wants to read it says what is wrong */
    if (H5Pget_nfilters(make) > 0)
        why = "it is stored with filters (h5repack -f NONE removes them)";
    else if (H5Pget_external_count(make) > 0)
        why = "it is stored in other files";
    else if (H5Pget_layout(make) == H5D_VIRTUAL)
        why = "it is put together from other datasets: only what is in the file itself is read";
    HPS_H5(H5Pclose(make));
    return why;
}

/* A type that the library knows by heart. */
static bool is_plain(hid_t type)
{
    const hid_t plain[] = { H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_I64LE, H5T_STD_I32LE,
                            H5T_STD_U8LE };
    bool known = false;

    for (size_t i = 0; i < sizeof plain / sizeof *plain && !known; i++)
        known = H5Tequal(type, plain[i]) > 0;
    return known;
}

/* One number of a table, so that the library has converted from its type once. */
static void read_first(hid_t set, hid_t space, H5T_class_t class)
{
    hsize_t dims[2] = { 0, 1 }, start[2] = { 0, 0 }, one[2] = { 1, 1 };
    int rank = H5Sget_simple_extent_ndims(space);
    long long number[2] = { 0, 0 };
    hid_t to = class == H5T_FLOAT ? H5T_NATIVE_DOUBLE : H5T_NATIVE_LLONG, memory;

    if (rank < 1 || rank > 2 || H5Sget_simple_extent_dims(space, dims, NULL) != rank ||
        dims[0] == 0 || dims[1] == 0)
        return;
    memory = HPS_H5(H5Screate_simple(1, one, NULL));
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL) < 0 ||
        H5Dread(set, to, memory, space, H5P_DEFAULT, number) < 0)
        HPS_SAY(HPS_DEBUG, "a dataset's first row: %s", hps_h5_why());
    HPS_H5(H5Sclose(memory));
}

static void read_shape(hid_t set)
{
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    hsize_t chunks;

    if (space >= 0 && H5Dget_num_chunks(set, H5S_ALL, &chunks) < 0)
        chunks = 0;             /* it has none: another layout */
    if (space >= 0 && (class == H5T_FLOAT || class == H5T_INTEGER) && !is_plain(type))
        read_first(set, space, class);
    if (space >= 0) HPS_H5(H5Sclose(space));
    if (type >= 0) HPS_H5(H5Tclose(type));
}

/* As h5_rows.c does, without a chunk cache. */
static hid_t open_set(hid_t root, const char *name)
{
    hid_t access = HPS_H5(H5Pcreate(H5P_DATASET_ACCESS)), set;

    HPS_H5(H5Pset_chunk_cache(access, 1, 0, 0));
    set = H5Dopen2(root, name, access);
    HPS_H5(H5Pclose(access));
    return set;
}

/* False: it must not be read. */
static bool look_at_set(struct survey *s, hid_t set, const char *name)
{
    const char *why = storage_trouble(set);

    if (why)
        snprintf(s->why, HPS_H5_WHY, "dataset %s: %s", name, why);
    else
        read_shape(set);
    return !why;
}

static void no_more(void *self, const char *name, const char *text, bool number)
{
    (void)self;
    (void)name;
    (void)text;
    (void)number;
}

static herr_t visit_object(hid_t root, const char *name, const H5O_info_t *info, void *survey)
{
    struct hps_h5 object = { .file = -1, .path = "", .comm = MPI_COMM_NULL };
    bool set = info->type == H5O_TYPE_DATASET, good;

    object.file = set ? open_set(root, name) : H5Oopen(root, name, H5P_DEFAULT);
    if (object.file < 0) return 0; /* whoever wants it says what is wrong */
    good = !set || look_at_set(survey, object.file, name);
    if (good) hps_h5_each_attribute(&object, ".", NULL, no_more);
    HPS_H5(H5Oclose(object.file));
    return !good;
}

bool hps_h5_survey(hid_t file, char why[HPS_H5_WHY])
{
    struct survey s = { why };
    bool good;

    *why = 0;
    good = H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, visit_link, &s) >= 0;
    if (good && !*why)
        good = H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, visit_object, &s,
                         H5O_INFO_BASIC) >= 0;
    if (!good) snprintf(why, HPS_H5_WHY, "damaged: its objects cannot be listed: %s", hps_h5_why());
    return !*why;
}
