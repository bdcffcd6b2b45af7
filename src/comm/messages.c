/* messages.c - encodes messages, and counts bytes and errors. */
#include "comm/messages.h"

#include <math.h>

const char *const hps_message_name[HPS_MESSAGES] = { "rows", "gradients", "activations", "dense",
                                                   "ids" };

/* Encodings from one whose error is measured to the next; numbers that are compared at a time. */
enum { EVERY = 16, BLOCK = 1024 };

void hps_message_compare(size_t n, const float *x, const float *y,
                         struct hps_message_count *count)
{
    for (size_t i = 0; i < n; i++) {
        double error = (double)y[i] - (double)x[i];
        if (!isfinite(error)) continue;
        count->error2 += error * error;
        count->square += (double)x[i] * (double)x[i];
    }
}

/* Numbers of messages are encoded each for itself: parts of a row can be decoded. */
static void measure(const struct hps_codec_ops *codec, size_t n, const float *x, const void *to,
                    struct hps_message_count *count)
{
    float y[BLOCK];

    for (size_t at = 0; at < n; at += BLOCK) {
        size_t k = n - at < BLOCK ? n - at : BLOCK;
        codec->decode(1, k, (const char *)to + codec->bytes(at), y);
        hps_message_compare(k, x + at, y, count);
    }
}

bool hps_message_measures(struct hps_message_count *count)
{
    return count->n++ % EVERY == 0;
}

void hps_message_encode(const struct hps_codec_ops *codec, size_t rows, size_t n, const float *x,
                        void *to, struct hps_message_count *count)
{
    if (rows * n == 0) return;
    codec->encode(rows, n, x, to);
    if (hps_message_measures(count)) measure(codec, rows * n, x, to, count);
}

void hps_message_sent(const struct hps_codec_ops *codec, double rows, size_t n,
                      struct hps_message_count *count)
{
    if (!hps_codec_converts(codec)) return;
    count->bytes += rows * (double)codec->bytes(n);
    count->plain_bytes += rows * (double)hps_codec_fp32.bytes(n);
}

void hps_message_count_add(struct hps_message_count *to, const struct hps_message_count *more,
                           int sign)
{
    to->bytes += sign * more->bytes;
    to->plain_bytes += sign * more->plain_bytes;
    to->error2 += sign * more->error2;
    to->square += sign * more->square;
    to->n += sign * more->n;
}

double hps_message_error(const struct hps_message_count *count)
{
    return count->square > 0 ? sqrt(count->error2 / count->square) : NAN;
}
