/* select.c - the n-th largest of any number of keys in a file: 16 bits a pass. */
#include "data/select.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mem.h"
#include "base/say.h"

enum { PIECE = 65536, DIGITS = 65536 };

int hps_select_scratch(const char *beside)
{
    if (hps_folder_for(beside) != HPS_OK) return -1;
    char *path = hps_mem_print("%s.scratch.XXXXXX", beside);
    int fd = mkstemp(path);

    if (fd < 0)
        HPS_SAY(HPS_ERROR, "%s: no scratch space beside it: %s", beside, strerror(errno));
    else
        unlink(path);
    hps_mem_free(path);
    return fd;
}

enum hps_status hps_select_write(int fd, const char *beside, const void *data, size_t n)
{
    const char *at = data;

    while (n > 0) {
        ssize_t put = write(fd, at, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            HPS_SAY(HPS_ERROR, "%s: no scratch space beside it: %s", beside, strerror(errno));
            return HPS_OUTPUT;
        }
        at += put;
        n -= (size_t)put;
    }
    return HPS_OK;
}

/* Bits that rise as the numbers do; both zeros are one. */
static uint64_t rank_of(double x)
{
    uint64_t bits;

    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double key_of(uint64_t rank)
{
    uint64_t bits = rank >> 63 ? rank & ~((uint64_t)1 << 63) : ~rank;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* How often each next digit follows a prefix of `known` bits. */
static enum hps_status count(int fd, uint64_t prefix, int known, long long *times)
{
    double *key = hps_mem_new(PIECE, sizeof *key);
    off_t at = 0;
    ssize_t got;

    memset(times, 0, DIGITS * sizeof *times);
    while ((got = pread(fd, key, PIECE * sizeof *key, at)) > 0) {
        for (size_t i = 0; i < (size_t)got / sizeof *key; i++) {
            uint64_t rank = rank_of(key[i]);
            if (known == 0 || rank >> (64 - known) == prefix)
                times[rank >> (48 - known) & (DIGITS - 1)]++;
        }
        at += got - got % (ssize_t)sizeof *key;
    }
    hps_mem_free(key);
    if (got == 0) return HPS_OK;
    HPS_SAY(HPS_ERROR, "scratch space cannot be read: %s", strerror(errno));
    return HPS_OUTPUT;
}

enum hps_status hps_select_largest(int fd, long long total, long long n, double *threshold,
                                   long long *ties)
{
    long long *times = hps_mem_new(DIGITS, sizeof *times), left = n;
    uint64_t prefix = 0;
    enum hps_status s = HPS_OK;

    assert(n >= 1 && n < total);
    (void)total;
    for (int known = 0; known < 64 && !s; known += 16) {
        int digit = DIGITS - 1;
        s = count(fd, prefix, known, times);
        for (; !s && times[digit] < left; digit--)
            left -= times[digit];
        *ties = times[digit] - left;
        prefix = prefix << 16 | (uint64_t)digit;
    }
    *threshold = key_of(prefix);
    hps_mem_free(times);
    return s;
}
