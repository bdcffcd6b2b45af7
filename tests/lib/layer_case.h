/* layer_case.h - for tests of layers: a layer of a small net computed by its twin in double, and
 * the same layer computed by a slice. */
#ifndef HPS_TESTS_LAYER_CASE_H
#define HPS_TESTS_LAYER_CASE_H

#include "twin.h"
#include "toy.h"

/* The layer's inputs are concatenated, as they cross a boundary between stages: the pack. */
struct work {
    struct toy toy;
    struct toy_feed feed;
    const struct hps_layer *l;
    int B, in, out;                     /* widths of the pack before, of the output    */
    int list[8], n;                     /* layers in the pack                          */
    double *x, *param, *rows, *y, *dy;  /* y: by the twin                              */
    double *dx, *dparam, *drows;        /* gradients of y . dy by the twin             */
    size_t nx, nparam, nrows, ny;
    double slope_error, near_error;     /* largest: twin to differences, layer to twin */
};

/* The layer called `layer` of a deck's net and B examples: everything filled with numbers that a
 * float has. */
void work_new(struct work *w, const char *deck, const char *layer, int B);
void work_free(struct work *w);

bool work_key_is(const struct work *w, const char *key, const char *word);
double work_number(const struct work *w, const char *key, double preset);
bool work_kind_is(const struct work *w, const char *kind);
enum hps_act work_act(const struct work *w);

/* Of the k-th input: its width, its first column in the pack, its columns as a matrix of their own
 * (to free), and a gradient back, added. */
int work_width(const struct work *w, int k);
int work_column(const struct work *w, int k);
double *work_take(const struct work *w, int k);
void work_give(struct work *w, int k, const double *dx);

/* The layer alone in a slice gives y, dx, dparam and drows, to 1e-5; its output is the last of the
 * pack behind it. */
void work_check_slice(struct work *w);
/* Note an error that must not pass the limit. */
void work_no_more(double error, double limit, double *worst);

#endif
