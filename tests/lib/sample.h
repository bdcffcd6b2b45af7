/* sample.h - a small dataset whose every value follows from its place, so that any reader can be
 * checked against the rule instead of against another reader. */
#ifndef HPS_TESTS_SAMPLE_H
#define HPS_TESTS_SAMPLE_H

/* Slots "s0".. with one id an example, then "m0".. with 0 to 4; dense "d0".. */
struct sample {
    long long N, chunk;         /* chunk 0: contiguous */
    int D, nsingle, nmulti;
    long long buckets;
    long long first;            /* number of its first example, where it is one of several files */
};

void sample_write(const char *path, const struct sample *s);    /* dies on failure */
float sample_label(long long example);
float sample_dense(long long example, int d);
int sample_nid(const struct sample *s, int slot, long long example);
long long sample_id(const struct sample *s, int slot, long long example, int k);

/* Change one value on disk. `at`: number of the element. */
void sample_put_id(const char *path, const char *dataset, long long at, long long id);
void sample_put_real(const char *path, const char *dataset, long long at, int width, float value);

#endif
