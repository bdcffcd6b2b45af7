#include "hw/disk.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deep_read.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"

#define ENOUGH_S 0.05
#define LONGEST_S 10.0

enum { PAGE = 4096, PIECE = 1 << 20, PIECES = 64, BATCH = 1024 };

/* Whole pieces leave no page in the page cache, or are read through it. */
static void go_direct(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    unsigned char *page = hps_mem_pages(PAGE);

    if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0 &&
        pwrite(fd, page, PAGE, 0) != PAGE)
        (void)!fcntl(fd, F_SETFL, flags);
    hps_mem_free(page);
}

static bool fill(int fd)
{
    unsigned char *piece = hps_mem_pages(PIECE);
    bool good = true;

    memset(piece, 1, PIECE);
    for (uint64_t i = 0; good && i < PIECES; i++)
        good = hps_file_put(fd, piece, PIECE, i * PIECE);
    hps_mem_free(piece);
    return good;
}

static void arrived(void *context, size_t i, const unsigned char *page, int error)
{
    (void)i;
    (void)page;
    if (error) atomic_store((atomic_bool *)context, true);
}

/* Two batches are under way, so that the disk never has fewer reads than it takes. */
static double read_all(int fd, struct hps_deep_reader *reader)
{
    static uint64_t at[2][BATCH];
    struct hps_deep_batch batch[2];
    atomic_bool failed = false;
    uint64_t drawn = 0;
    long begun = 0, ended = 0;
    double t0 = hps_steady_s(), now = t0;

    while (ended < begun || now - t0 < ENOUGH_S) {
        while (begun - ended < 2 && now - t0 < ENOUGH_S) {
            uint64_t *to = at[begun % 2];
            for (int i = 0; i < BATCH; i++)
                to[i] = hps_rng_below(1, drawn++, (uint64_t)PIECES * PIECE / PAGE) * PAGE;
            batch[begun % 2] = (struct hps_deep_batch){ .fd = fd, .bytes = PAGE, .n = BATCH,
                                                        .at = to, .arrived = arrived,
                                                        .context = &failed };
            hps_deep_begin(reader, &batch[begun++ % 2]);
        }
        while (!hps_deep_wait(reader, &batch[ended % 2], hps_steady_s() + LONGEST_S))
            continue;
        ended++;
        now = hps_steady_s();
    }
    return atomic_load(&failed) ? 0 : (double)ended * BATCH / (now - t0);
}

double hps_disk_reads_s(const char *directory)
{
    int fd = hps_file_scratch(directory);
    struct hps_deep_reader *reader = fd >= 0 ? hps_deep_reader_get() : NULL;
    double reads_s = 0;

    if (fd >= 0) go_direct(fd);
    if (reader && fill(fd)) reads_s = read_all(fd, reader);
    hps_deep_reader_put(reader);
    if (fd >= 0) close(fd);
    return reads_s;
}
