/* row_log.c - rows in a file on a node-local disk: reads of random rows through the row log, beside
 * what the disk gives alone; and what is written for rows that are updated.
 *   row_log DIRECTORY ROWS ROW_BYTES BATCH ROUNDS READS UPDATES
 *       fills a log with ROWS rows and a file as large with pages; then ROUNDS times reads READS
 *       random places of each, in turn: the file at a depth of 128, the log by batches of BATCH
 *       rows, one at a time and two under way; then appends UPDATES rows, drawn by Zipf 1.05 and
 *       then uniformly, in batches of BATCH draws
 *   prints "NAME VALUE", medians of the rounds. Built by `make perf/bin/row_log`. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/say.h"
#include "base/sort.h"
#include "base/world.h"
#include "config.h"
#include "lab.h"
#include "ps/row_log.h"

#if HAVE_URING
#include <liburing.h>
#endif

enum { PAGE = 4096, DEPTH = 128, MAX_ROUNDS = 99, PIECE = 1 << 20 };
static const double zipf = 1.05;

/* Rates of the rounds of one way to read. */
struct rates {
    double per_s[MAX_ROUNDS], cpu_us[MAX_ROUNDS], bytes[MAX_ROUNDS];
    int n;
};
struct beginning { double s, cpu_s, bytes; };

static struct beginning begin(void)
{
    return (struct beginning){ hps_steady_s(), lab_cpu_s(), lab_io("read_bytes") };
}

static void end(struct rates *r, struct beginning b, double reads)
{
    r->per_s[r->n] = reads / (hps_steady_s() - b.s);
    r->cpu_us[r->n] = 1e6 * (lab_cpu_s() - b.cpu_s) / reads;
    r->bytes[r->n++] = (lab_io("read_bytes") - b.bytes) / reads;
}

static void print(const char *name, struct rates *r)
{
    size_t n = (size_t)r->n;

    hps_out("%s_reads_s %.0f\n%s_cpu_us %.2f\n%s_bytes %.1f\n", name, hps_sort_median(r->per_s, n),
            name, hps_sort_median(r->cpu_us, n), name, hps_sort_median(r->bytes, n));
}

/* -- the disk alone ----------------------------------------------------------------------------- */

static int make_file(const char *directory, uint64_t bytes)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
    unsigned char *piece = hps_mem_pages(PIECE);

    if (fd < 0) HPS_DIE("%s has no direct I/O: %s", directory, strerror(errno));
    memset(piece, 1, PIECE);
    for (uint64_t at = 0; at < bytes; at += PIECE)
        if (pwrite(fd, piece, PIECE, (off_t)at) != PIECE)
            HPS_DIE("%s: %s", directory, strerror(errno));
    hps_mem_free(piece);
    return fd;
}

#if HAVE_URING
/* Each read begins where one ends. */
static void read_alone(int fd, uint64_t bytes, long reads, uint64_t key)
{
    unsigned char *page = hps_mem_pages((size_t)DEPTH * PAGE);
    struct io_uring ring;
    long begun = 0, ended = 0;

    if (io_uring_queue_init(DEPTH, &ring, 0) != 0) HPS_DIE("there is no io_uring here");
    while (ended < reads) {
        struct io_uring_cqe *come[DEPTH];
        for (; begun < reads && begun - ended < DEPTH; begun++) {
            struct io_uring_sqe *e = io_uring_get_sqe(&ring);
            io_uring_prep_read(e, fd, page + begun % DEPTH * PAGE, PAGE,
                               hps_rng_below(key, (uint64_t)begun, bytes / PAGE) * PAGE);
        }
        if (io_uring_submit_and_wait(&ring, 1) < 0) HPS_DIE("io_uring takes no reads");
        unsigned n = io_uring_peek_batch_cqe(&ring, come, DEPTH);
        for (unsigned k = 0; k < n; k++)
            if (come[k]->res != PAGE) HPS_DIE("a read of the file: %d", come[k]->res);
        io_uring_cq_advance(&ring, n);
        ended += n;
    }
    io_uring_queue_exit(&ring);
    hps_mem_free(page);
}
#else
static void read_alone(int fd, uint64_t bytes, long reads, uint64_t key)
{
    (void)fd;
    (void)bytes;
    (void)reads;
    (void)key;
    HPS_DIE("this was built without io_uring");
}
#endif

/* -- the log ------------------------------------------------------------------------------------ */

struct table {
    struct hps_row_log *log;
    long long rows;
    size_t row_bytes, batch;
    uint32_t *place;            /* (rows)                                      */
    int *row;                   /* (batch)                                     */
    uint32_t *some, *old;       /* (batch)                                     */
    unsigned char *data[2];     /* (batch, row_bytes)                          */
    long long *seen;            /* (rows) the last batch that has this row     */
    long long nbatch;
};

static void moved(void *context, int row, uint32_t from, uint32_t to)
{
    struct table *t = context;

    if (t->place[row] != from) HPS_DIE("row %d was moved from where it is not", row);
    t->place[row] = to;
}

static void good(enum hps_status st)
{
    if (st) HPS_DIE("the row log ended with %d", (int)st);
}

static struct table *table_new(const char *directory, long long rows, size_t row_bytes,
                               size_t batch)
{
    struct table *t = hps_mem_new(1, sizeof *t);
    const struct hps_row_log_opt opt = { .directory = directory, .what = "the table",
                                         .row_bytes = row_bytes, .max_rows = rows, .run = 1,
                                         .moved = moved, .context = t };

    t->rows = rows;
    t->row_bytes = row_bytes;
    t->batch = batch;
    t->place = hps_mem_new((size_t)rows, sizeof *t->place);
    t->seen = hps_mem_new((size_t)rows, sizeof *t->seen);
    t->row = hps_mem_new(batch, sizeof *t->row);
    t->some = hps_mem_new(batch, sizeof *t->some);
    t->old = hps_mem_new(batch, sizeof *t->old);
    for (int k = 0; k < 2; k++)
        t->data[k] = hps_mem_new(batch, row_bytes);
    good(hps_row_log_open(&t->log, &opt));
    return t;
}

static void table_free(struct table *t)
{
    hps_row_log_close(t->log);
    hps_mem_free(t->place);
    hps_mem_free(t->seen);
    hps_mem_free(t->row);
    hps_mem_free(t->some);
    hps_mem_free(t->old);
    hps_mem_free(t->data[0]);
    hps_mem_free(t->data[1]);
    hps_mem_free(t);
}

static void fill(struct table *t)
{
    for (long long first = 0; first < t->rows; first += (long long)t->batch) {
        size_t n = 0;
        for (; n < t->batch && first + (long long)n < t->rows; n++) {
            t->row[n] = (int)(first + (long long)n);
            memcpy(t->data[0] + n * t->row_bytes, &t->row[n], sizeof t->row[n]);
        }
        good(hps_row_log_append(t->log, n, t->row, t->data[0], t->place + first));
    }
}

static void begin_batch(struct table *t, long number, uint64_t key)
{
    for (size_t k = 0; k < t->batch; k++)
        t->some[k] = t->place[hps_rng_below(key, (uint64_t)number * t->batch + k,
                                            (uint64_t)t->rows)];
    good(hps_row_log_read_begin(t->log, t->batch, t->some, t->data[number % 2]));
}

/* Returns the pages that were read. */
static double read_log(struct table *t, long reads, int ahead, uint64_t key)
{
    const long batches = reads / (long)t->batch;
    double before = hps_row_log_counted(t->log).pages_read;

    for (long b = 0; b < batches + ahead; b++) {
        if (b < batches) begin_batch(t, b, key);
        if (b >= ahead) good(hps_row_log_read_end(t->log));
    }
    return hps_row_log_counted(t->log).pages_read - before;
}

/* -- updates ------------------------------------------------------------------------------------ */

static int draw(const struct table *t, double exponent, uint64_t key, uint64_t k)
{
    const double u = hps_rng_real(key, k), a = 1 - exponent, n = (double)t->rows;

    if (exponent == 0) return (int)(u * n);
    uint64_t rank = (uint64_t)pow(u * (pow(n + 1, a) - 1) + 1, 1 / a) - 1;
    return (int)hps_rng_permute(9, rank < (uint64_t)t->rows ? rank : 0, (uint64_t)t->rows);
}

/* The distinct rows of a batch of draws. */
static size_t update(struct table *t, double exponent, uint64_t key)
{
    size_t n = 0;

    t->nbatch++;
    for (size_t k = 0; k < t->batch; k++) {
        int row = draw(t, exponent, key, (uint64_t)t->nbatch * t->batch + k);
        if (t->seen[row] == t->nbatch) continue;
        t->seen[row] = t->nbatch;
        t->row[n++] = row;
    }
    good(hps_row_log_append(t->log, n, t->row, t->data[0], t->some));
    for (size_t k = 0; k < n; k++) {
        t->old[k] = t->place[t->row[k]];
        t->place[t->row[k]] = t->some[k];
    }
    hps_row_log_drop(t->log, n, t->old);
    return n;
}

/* What was written over what was appended, of the second half of the updates. */
static void updates(struct table *t, const char *name, double exponent, double rows)
{
    struct hps_row_log_count half = { 0 }, all;
    double n = 0, began_s = hps_steady_s(), half_s = began_s;

    while (n < rows) {
        bool first = n < rows / 2;
        n += (double)update(t, exponent, hps_rng_key(3, name));
        if (!first || n < rows / 2) continue;
        half = hps_row_log_counted(t->log);
        half_s = hps_steady_s();
    }
    all = hps_row_log_counted(t->log);
    double appended = all.rows_appended - half.rows_appended;
    double took_s = hps_steady_s() - half_s;
    hps_out("%s_written %.3f\n%s_cleaned %.3f\n%s_rows_s %.0f\n%s_waited %.3f\n", name,
            (all.bytes_written - half.bytes_written) / (appended * (double)t->row_bytes), name,
            (all.rows_cleaned - half.rows_cleaned) / appended, name,
            appended / took_s, name, (all.waited_s - half.waited_s) / took_s);
}

/* -- all of it ---------------------------------------------------------------------------------- */

static void reads(struct table *t, int fd, uint64_t bytes, int rounds, long n)
{
    static struct rates alone, one, two;
    double ratio_one[MAX_ROUNDS], ratio_two[MAX_ROUNDS];

    for (int r = 0; r < rounds; r++) {
        const uint64_t key = hps_rng_sub(5, (uint64_t)r);
        struct beginning b = begin();
        read_alone(fd, bytes, n, key);
        end(&alone, b, (double)n);
        b = begin();
        end(&one, b, read_log(t, n, 0, hps_rng_sub(key, 1)));
        b = begin();
        end(&two, b, read_log(t, n, 1, hps_rng_sub(key, 2)));
        ratio_one[r] = one.per_s[r] / alone.per_s[r];
        ratio_two[r] = two.per_s[r] / alone.per_s[r];
    }
    print("alone", &alone);
    print("one", &one);
    print("two", &two);
    hps_out("one_ratio %.3f\n", hps_sort_median(ratio_one, (size_t)rounds));
    hps_out("two_ratio %.3f\n", hps_sort_median(ratio_two, (size_t)rounds));
}

int main(int argc, char **argv)
{
    hps_begin(&argc, &argv, false);
    if (argc != 8) HPS_DIE("row_log DIRECTORY ROWS ROW_BYTES BATCH ROUNDS READS UPDATES");
    struct table *t = table_new(argv[1], atoll(argv[2]), (size_t)atol(argv[3]),
                                (size_t)atol(argv[4]));
    const int rounds = atoi(argv[5]) < MAX_ROUNDS ? atoi(argv[5]) : MAX_ROUNDS;

    fill(t);
    uint64_t bytes = (uint64_t)hps_row_log_counted(t->log).file_bytes / PIECE * PIECE;
    int fd = make_file(argv[1], bytes);
    if (rounds > 0) reads(t, fd, bytes, rounds, atol(argv[6]));
    close(fd);
    if (atof(argv[7]) > 0) {
        updates(t, "zipf", zipf, atof(argv[7]));
        updates(t, "uniform", 0, atof(argv[7]));
    }
    hps_out("file %.3f\n", hps_row_log_counted(t->log).file_bytes /
                           ((double)t->rows * (double)t->row_bytes));
    table_free(t);
    return hps_end(HPS_OK);
}
