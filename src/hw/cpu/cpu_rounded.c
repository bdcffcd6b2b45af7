/* cpu_rounded.c - products in bf16 of fully connected layers. Rows are rounded block by block,
 * while they are in the cache; weights are packed once after each change. */
#include "hw/cpu/cpu_rounded_impl.h"

enum { LINE = 64 };

static size_t to_multiple(size_t n, size_t of)
{
    return (n + of - 1) / of * of;
}

const struct hps_bf16_lib *hps_cpu_bf16_lib(const struct hps_dev *dev,
                                            enum hps_precision precision)
{
    if (precision != HPS_BF16) return NULL;
    return dev->emulate_bf16 ? &hps_bf16_emulated : hps_bf16_native();
}

/* ---- weights: packed, then packed transposed ---- */

static size_t packed_half(const struct hps_bf16_lib *lib, size_t in, size_t out)
{
    return to_multiple(lib->packed_bytes(in, out), LINE);
}

size_t hps_cpu_fc_packed_bytes(const struct hps_dev *dev, enum hps_precision precision, int in,
                               int out)
{
    const struct hps_bf16_lib *lib = hps_cpu_bf16_lib(dev, precision);
    size_t k = (size_t)in, n = (size_t)out;

    return lib ? packed_half(lib, k, n) + packed_half(lib, n, k) : 0;
}

struct pack {
    const struct hps_bf16_lib *lib;
    size_t in, out;
    const float *w;
    char *packed;
};

static void pack_task(const void *job, int t, int n)
{
    const struct pack *p = job;

    if (t == 0) p->lib->pack(p->in, p->out, false, p->w, p->packed);
    if (t == n - 1)
        p->lib->pack(p->out, p->in, true, p->w, p->packed + packed_half(p->lib, p->in, p->out));
}

void hps_cpu_fc_pack(struct hps_dev *dev, enum hps_precision precision, int in, int out,
                     const float *w, void *packed)
{
    struct pack p = { hps_cpu_bf16_lib(dev, precision), (size_t)in, (size_t)out, w, packed };

    hps_cpu_parallel_for(dev, (double)in * out, pack_task, &p);
}

/* ---- rows ---- */

bool hps_cpu_keeps_rounded(const struct hps_dev *dev)
{
    return hps_cpu_bf16_lib(dev, dev->precision);
}

void hps_cpu_rounded_begin(struct hps_dev *dev, struct hps_cpu_rounded *r, const void *packed,
                           size_t rows, size_t in, size_t out, size_t copied)
{
    r->w = packed;
    r->w_transposed = r->w + packed_half(r->lib, in, out);
    r->dy_at = to_multiple(rows * in * sizeof(uint16_t), LINE);
    r->product_at = r->dy_at + to_multiple(rows * out * sizeof(uint16_t), LINE);
    r->scratch = hps_cpu_block_scratch(dev, r->product_at + rows * copied * sizeof(float),
                                       &r->stride);
}

void *hps_cpu_rounded_scratch(const struct hps_cpu_rounded *r, size_t at)
{
    return r->scratch + (size_t)hps_cpu_thread() * r->stride + at;
}

struct hps_cpu_rounded_rows hps_cpu_rounded_rows(const struct hps_cpu_rounded *r, size_t at,
                                                 struct hps_tensor x, size_t first, size_t rows)
{
    size_t width = (size_t)x.width;

    if (x.rounded) return (struct hps_cpu_rounded_rows){ x.rounded + first * x.ld, x.ld };
    uint16_t *to = hps_cpu_rounded_scratch(r, at);
    r->lib->round(rows, width, x.data + first * x.ld, x.ld, to, width);
    return (struct hps_cpu_rounded_rows){ to, width };
}

/* A packed b wants c without gaps between its rows. */
void hps_cpu_rounded_product(const struct hps_cpu_rounded *r, size_t first, size_t rows,
                             struct hps_cpu_rounded_rows a, size_t k, const void *b,
                             struct hps_tensor c)
{
    size_t n = (size_t)c.width;
    bool gaps = c.ld != n;
    float *to = c.data + first * c.ld, *dense = hps_cpu_rounded_scratch(r, r->product_at);

    r->lib->run(&(struct hps_bf16_product){ .m = rows, .n = n, .k = k, .a = a.data, .lda = a.ld,
                                            .b = b, .beta = !gaps && c.add ? 1 : 0,
                                            .c = gaps ? dense : to, .ldc = n });
    for (size_t i = 0; gaps && i < rows; i++, to += c.ld, dense += n)
        if (c.add)
            hps_cpu_row_add(to, dense, 1, n);
        else
            hps_cpu_row_set(to, dense, n);
}

HPS_MULTIVERSION static void relu_back_bits(size_t rows, size_t n, const uint16_t *restrict y,
                                            size_t ldy, float *restrict dy, size_t lddy,
                                            float *restrict db)
{
    for (size_t r = 0; r < rows; r++, y += ldy, dy += lddy)
        for (size_t c = 0; c < n; c++) {
            float d = (int16_t)y[c] > 0 ? dy[c] : 0.0f;
            dy[c] = d;
            db[c] += d;
        }
}

void hps_cpu_relu_back_rounded(size_t rows, struct hps_tensor y, struct hps_tensor dy, float *db)
{
    relu_back_bits(rows, (size_t)dy.width, y.rounded, y.ld, dy.data, dy.ld, db);
}
