#include "plan/policy.h"

#include <math.h>
#include <string.h>

#include "base/h5.h"
#include "base/mem.h"
#include "base/part_file.h"
#include "base/say.h"

#define FORMAT "heterps-policy-1"
#define MAX_SIZE 4096          /* of a cell or head that is still believed */

static const char *const words[] = { [HPS_CELL_LSTM] = "lstm", [HPS_CELL_RNN] = "rnn" };

static enum hps_status write_all(struct hps_h5 *h, const struct hps_policy *p)
{
    enum hps_status s = hps_h5_put_text(h, "/", "format", FORMAT);

    if (!s) s = hps_h5_put_text(h, "/", "cell", words[p->cell]);
    if (!s) s = hps_h5_put_long(h, "/", "features", p->F);
    if (!s) s = hps_h5_put_long(h, "/", "hidden", p->H);
    if (!s) s = hps_h5_put_long(h, "/", "head", p->K);
    if (!s) s = hps_h5_put_long(h, "/", "outputs", p->D);
    if (!s) s = hps_h5_make(h, "param", H5T_NATIVE_FLOAT, p->nparam, 0, 0);
    if (!s) s = hps_h5_put(h, "param", H5T_NATIVE_DOUBLE, 0, p->nparam, 0, p->param);
    return s;
}

static enum hps_status write_part(const struct hps_policy *p, const char *part)
{
    struct hps_h5 h;
    enum hps_status s = hps_h5_create(&h, part, MPI_COMM_NULL);

    if (s) return s;
    s = write_all(&h, p);
    if (!s) return hps_h5_close(&h);
    hps_h5_drop(&h);
    return s;
}

enum hps_status hps_policy_save(const struct hps_policy *p, const char *path)
{
    struct hps_part_file file = hps_part_file(path);

    return hps_part_file_end(&file, write_part(p, file.part));
}

static enum hps_status refuse(const struct hps_h5 *h, const char *what)
{
    HPS_SAY(HPS_ERROR, "%s: %s", h->path, what);
    return HPS_DECK;
}

/* The sizes of the file; *cell is -1 where the word is none of ours. */
static enum hps_status read_sizes(struct hps_h5 *h, int *cell, long long *F, long long *H,
                                  long long *K, long long *D)
{
    char *format = NULL, *word = NULL;
    enum hps_status s = hps_h5_get_text(h, "/", "format", &format, true);

    *cell = -1;
    if (s || strcmp(format, FORMAT) != 0) s = refuse(h, "not a policy (" FORMAT ")");
    if (!s) s = hps_h5_get_text(h, "/", "cell", &word, false);
    if (!s) s = hps_h5_get_long(h, "/", "features", F, false);
    if (!s) s = hps_h5_get_long(h, "/", "hidden", H, false);
    if (!s) s = hps_h5_get_long(h, "/", "head", K, false);
    if (!s) s = hps_h5_get_long(h, "/", "outputs", D, false);
    for (int c = HPS_CELL_LSTM; !s && c <= HPS_CELL_RNN; c++)
        if (strcmp(word, words[c]) == 0) *cell = c;
    hps_mem_free(format);
    hps_mem_free(word);
    return s;
}

static enum hps_status read_weights(struct hps_h5 *h, struct hps_policy *p)
{
    long long n;
    int width;
    enum hps_status s = hps_h5_shape(h, "param", &n, &width);

    if (!s && (n != p->nparam || width != 0))
        s = refuse(h, "its weights are not as many as its sizes say");
    if (!s) s = hps_h5_get(h, "param", H5T_NATIVE_DOUBLE, 0, n, 0, p->param);
    for (int a = 0; !s && a < p->nparam; a++)
        if (!isfinite(p->param[a])) s = refuse(h, "a weight is not finite");
    return s;
}

enum hps_status hps_policy_look(const char *path, enum hps_cell *cell)
{
    struct hps_h5 h;
    long long size;
    int is;
    enum hps_status s = hps_h5_open(&h, path);

    if (s) return s;
    s = read_sizes(&h, &is, &size, &size, &size, &size);
    if (!s && is < 0) s = refuse(&h, "the policy's cells are of no kind known here");
    *cell = s ? HPS_CELL_LSTM : (enum hps_cell)is;
    return hps_h5_read(&h, s);
}

enum hps_status hps_policy_load(struct hps_policy **policy, const char *path, enum hps_cell cell,
                                int features, int outputs)
{
    struct hps_h5 h;
    long long F = 0, H = 0, K = 0, D = 0;
    int is;
    enum hps_status s = hps_h5_open(&h, path);

    *policy = NULL;
    if (s) return s;
    s = read_sizes(&h, &is, &F, &H, &K, &D);
    if (!s && is != (int)cell)
        s = refuse(&h, "the policy has another kind of cell than this method (lstm: rl, rnn: "
                       "rl-rnn)");
    if (!s && (F != features || D != outputs))
        s = refuse(&h, "the policy was trained for other features or for another method");
    if (!s && (H < 1 || K < 1 || H > MAX_SIZE || K > MAX_SIZE))
        s = refuse(&h, "its sizes are out of bounds");
    if (!s) {
        *policy = hps_policy_shape(cell, features, (int)H, (int)K, outputs);
        s = read_weights(&h, *policy);
    }
    s = hps_h5_read(&h, s);
    if (s) {
        hps_policy_free(*policy);
        *policy = NULL;
    }
    return s;
}
