/* metric.c - predictions as they come: their sums over all ranks, their file, their table. */
#include "step/metric.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/h5.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/part_file.h"
#include "base/say.h"
#include "step/distribute.h"

struct hps_metric {
    enum hps_score score;
    double loss;                        /* sum over examples */
    size_t n, cap;
    struct hps_metric_row *row;
};

/* What all ranks add up: reals (order matters in the last bit) and counts. */
struct sums {
    double logloss, score, loss, square, bin_score[HPS_METRIC_BINS];
    long long examples, positives, right, other; /* labels neither 0 nor 1 */
    long long bin_n[HPS_METRIC_BINS], bin_positives[HPS_METRIC_BINS];
};
enum { REALS = 4 + HPS_METRIC_BINS, COUNTS = 4 + 2 * HPS_METRIC_BINS };

struct hps_metric *hps_metric_new(void)
{
    return hps_mem_new(1, sizeof(struct hps_metric));
}

void hps_metric_free(struct hps_metric *metric)
{
    if (!metric) return;
    hps_mem_free(metric->row);
    hps_mem_free(metric);
}

void hps_metric_clear(struct hps_metric *metric)
{
    metric->n = 0;
    metric->loss = 0;
}

void hps_metric_of(struct hps_metric *metric, enum hps_score score)
{
    metric->score = score;
}

void hps_metric_add_loss(struct hps_metric *metric, double sum)
{
    metric->loss += sum;
}

void hps_metric_add(struct hps_metric *metric, int n, const float *score, const float *label,
                    const long long *example)
{
    hps_mem_grow(&metric->row, &metric->cap, metric->n + (size_t)n, sizeof *metric->row);
    for (int i = 0; i < n; i++)
        metric->row[metric->n++] =
            (struct hps_metric_row){ score[i], label[i], example ? example[i] : -1 };
}

static double loss_of(double score, bool positive)
{
    if (score < 1e-7) score = 1e-7;
    if (score > 1 - 1e-7) score = 1 - 1e-7;
    return positive ? -log(score) : -log1p(-score);
}

static struct sums sum_up(const struct hps_metric *metric)
{
    struct sums s = { .loss = metric->loss };

    for (size_t i = 0; i < metric->n; i++) {
        double score = metric->row[i].score, label = metric->row[i].label;
        bool positive = label > 0.5;
        s.examples++;
        s.positives += positive;
        s.other += label != 0 && label != 1;
        s.right += metric->score == HPS_SCORE_CLASS ? score == label : (score > 0.5) == positive;
        s.square += (score - label) * (score - label);
        if (metric->score != HPS_SCORE_CHANCE) continue;
        s.score += score;
        s.logloss += loss_of(score, positive);
        if (isnan(score)) continue;
        double place = floor(score * HPS_METRIC_BINS);
        int b = (int)fmin(fmax(place, 0), HPS_METRIC_BINS - 1);
        s.bin_n[b]++;
        s.bin_score[b] += score;
        s.bin_positives[b] += positive;
    }
    return s;
}

static void add_ranks(struct sums *s, MPI_Comm comm)
{
    struct sums mine = *s;

    if (comm == MPI_COMM_NULL) return;
    HPS_MPI(MPI_Reduce(&mine.logloss, &s->logloss, REALS, MPI_DOUBLE, MPI_SUM, 0, comm));
    HPS_MPI(MPI_Reduce(&mine.examples, &s->examples, COUNTS, MPI_LONG_LONG, MPI_SUM, 0, comm));
    HPS_MPI(MPI_Bcast(s, (int)sizeof *s, MPI_BYTE, 0, comm));   /* so all have the same bits */
}

struct hps_metric_result hps_metric_read(const struct hps_metric *metric, MPI_Comm comm)
{
    struct sums s = sum_up(metric);
    struct hps_metric_result r = { 0 };

    add_ranks(&s, comm);
    bool chance = metric->score == HPS_SCORE_CHANCE, value = metric->score == HPS_SCORE_VALUE;
    bool class = metric->score == HPS_SCORE_CLASS, rank = metric->score == HPS_SCORE_RANK;
    double n = s.examples ? (double)s.examples : NAN;
    r.examples = s.examples;
    r.positives = s.positives;
    r.score = metric->score;
    r.loss = s.loss / n;
    r.auc = chance || ((rank || value) && s.other == 0)
                ? hps_metric_auc(metric->n, metric->row, comm) : NAN;
    r.logloss = chance ? s.logloss / n : NAN;
    r.calibration = chance && s.positives ? s.score / (double)s.positives : NAN;
    r.accuracy = (chance && s.other == 0) || class ? (double)s.right / n : NAN;
    r.rmse = value ? sqrt(s.square / n) : NAN;
    for (int b = 0; b < HPS_METRIC_BINS; b++) {
        n = (double)s.bin_n[b];
        r.bin[b].n = s.bin_n[b];
        r.bin[b].score = n > 0 ? s.bin_score[b] / n : NAN;
        r.bin[b].positives = n > 0 ? (double)s.bin_positives[b] / n : NAN;
    }
    return r;
}

/* My rows grouped by the rank that writes them: rank r writes from example r * block. To free. */
static struct hps_metric_row *grouped(const struct hps_metric *metric, long long block, int R,
                                      long long *count)
{
    struct hps_metric_row *group = hps_mem_new(metric->n, sizeof *group);
    long long *next = hps_mem_new((size_t)R + 1, sizeof *next);

    for (size_t i = 0; i < metric->n; i++) {
        long long owner = metric->row[i].example / block;
        assert(metric->row[i].example >= 0 && owner < R);
        count[owner]++;
    }
    for (int r = 0; r < R; r++)
        next[r + 1] = next[r] + count[r];
    for (size_t i = 0; i < metric->n; i++)
        group[next[metric->row[i].example / block]++] = metric->row[i];
    hps_mem_free(next);
    return group;
}

/* The rows of my range in order: columns example, score, label. */
static enum hps_status put_range(struct hps_h5 *h, long long N, long long first, long long n,
                                 const struct hps_metric_row *row)
{
    long long *example = hps_mem_new((size_t)n, sizeof *example);
    float *score = hps_mem_new((size_t)n, sizeof *score);
    float *label = hps_mem_new((size_t)n, sizeof *label);
    bool *seen = hps_mem_new((size_t)n, sizeof *seen);
    enum hps_status s = HPS_OK;

    for (long long i = 0; i < n; i++) {
        long long at = row[i].example - first;
        assert(at >= 0 && at < n && !seen[at]);
        seen[at] = true;
        example[at] = row[i].example;
        score[at] = row[i].score;
        label[at] = row[i].label;
    }
    s = hps_h5_put_text(h, "/", "format", "heterps-predictions-1");
    if (!s) s = hps_h5_make(h, "example", H5T_NATIVE_LLONG, N, 0, 0);
    if (!s) s = hps_h5_make(h, "score", H5T_NATIVE_FLOAT, N, 0, 0);
    if (!s) s = hps_h5_make(h, "label", H5T_NATIVE_FLOAT, N, 0, 0);
    if (!s) s = hps_h5_put(h, "example", H5T_NATIVE_LLONG, first, n, 0, example);
    if (!s) s = hps_h5_put(h, "score", H5T_NATIVE_FLOAT, first, n, 0, score);
    if (!s) s = hps_h5_put(h, "label", H5T_NATIVE_FLOAT, first, n, 0, label);
    hps_mem_free(seen);
    hps_mem_free(label);
    hps_mem_free(score);
    hps_mem_free(example);
    return s;
}

static enum hps_status write_part(const char *part, long long N, long long first, long long n,
                                  const struct hps_metric_row *row, MPI_Comm comm)
{
    struct hps_h5 h;
    enum hps_status s = hps_agree(comm, hps_h5_create(&h, part, comm));

    if (s) return s;
    s = hps_agree(comm, put_range(&h, N, first, n, row));
    if (!s) return hps_h5_close(&h);
    hps_h5_drop(&h);
    return s;
}

enum hps_status hps_metric_write(const struct hps_metric *metric, long long N, const char *path,
                                 MPI_Comm comm)
{
    int R = 1, me = 0;
    long long n;

    if (comm != MPI_COMM_NULL) {
        HPS_MPI(MPI_Comm_size(comm, &R));
        HPS_MPI(MPI_Comm_rank(comm, &me));
    }
    long long block = N / R + 1;
    long long *count = hps_mem_new((size_t)R, sizeof *count);
    struct hps_metric_row *group = grouped(metric, block, R, count);
    struct hps_metric_row *row = hps_distribute(group, sizeof *row, count, &n, comm);
    hps_mem_free(group);
    hps_mem_free(count);

    long long first = me * block < N ? me * block : N;
    assert(n == (first + block < N ? block : N - first));
    struct hps_part_file file = hps_part_file(path);
    enum hps_status s = write_part(file.part, N, first, n, row, comm);
    if (me == 0)
        s = hps_part_file_end(&file, s);
    else
        hps_part_file_done(&file, false);
    s = hps_agree(comm, s);
    hps_mem_free(row);
    return s;
}

char *hps_metric_line(const struct hps_metric_result *r)
{
    const struct {
        const char *name;
        double value;
        int digits;
    } part[] = { { "auc", r->auc, 5 },
                 { "log loss", r->logloss, 5 },
                 { "calibration", r->calibration, 4 },
                 { "accuracy", r->accuracy, 5 },
                 { "rmse", r->rmse, 5 },
                 { "loss", isnan(r->logloss) ? r->loss : NAN, 5 } };
    char *line = hps_mem_print("%s", "");

    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (isnan(part[i].value)) continue;
        char *more = hps_mem_print("%s%s%s %.*f", line, *line ? "  " : "", part[i].name,
                                   part[i].digits, part[i].value);
        hps_mem_free(line);
        line = more;
    }
    return line;
}

void hps_metric_print(const struct hps_metric_result *r, const char *what)
{
    char *line = hps_metric_line(r);

    hps_out("%s: %lld examples, %lld positive\n%s\n", what, r->examples, r->positives, line);
    hps_mem_free(line);
    if (r->score != HPS_SCORE_CHANCE) return;
    hps_out("score       examples   mean score   positive\n");
    for (int i = 0; i < HPS_METRIC_BINS; i++) {
        if (r->bin[i].n == 0) continue;
        hps_out("%.1f - %.1f %10lld %12.4f %10.4f\n", (double)i / HPS_METRIC_BINS,
                (double)(i + 1) / HPS_METRIC_BINS, r->bin[i].n, r->bin[i].score,
                r->bin[i].positives);
    }
}

char *hps_metric_text(const struct hps_metric_result *r)
{
    json_t *bins = json_array();

    for (int b = 0; b < HPS_METRIC_BINS && r->score == HPS_SCORE_CHANCE; b++)
        json_array_append_new(
            bins, json_pack("{s:f, s:f, s:I, s:o, s:o}", "from", (double)b / HPS_METRIC_BINS, "to",
                            (double)(b + 1) / HPS_METRIC_BINS, "examples", (json_int_t)r->bin[b].n,
                            "score", hps_json_real(r->bin[b].score), "positives",
                            hps_json_real(r->bin[b].positives)));
    json_t *all = json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "format",
                            "heterps-eval-1", "examples", (json_int_t)r->examples, "positives",
                            (json_int_t)r->positives, "auc", hps_json_real(r->auc), "logloss",
                            hps_json_real(r->logloss), "calibration", hps_json_real(r->calibration),
                            "accuracy", hps_json_real(r->accuracy), "rmse", hps_json_real(r->rmse),
                            "loss", hps_json_real(r->loss), "calibration_bins", bins);
    return hps_json_text(all);
}
