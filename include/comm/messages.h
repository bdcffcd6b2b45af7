/* messages.h - what travels between ranks, by kind: numbers of each have an encoding (hw/codec.h),
 * those of rows one of their own (ps/delta.h), and what is encoded is counted. */
#ifndef HPS_COMM_MESSAGES_H
#define HPS_COMM_MESSAGES_H

#include "hw/codec.h"

/* Rows of tables and their gradients, between owners and readers; activations and their gradients,
 * between stages; gradients of dense weights; numbers of rows, in requests. */
enum hps_message {
    HPS_MESSAGE_ROWS,
    HPS_MESSAGE_GRADIENTS,
    HPS_MESSAGE_ACTIVATIONS,
    HPS_MESSAGE_DENSE,
    HPS_MESSAGE_IDS,
    HPS_MESSAGES
};
extern const char *const hps_message_name[HPS_MESSAGES];

/* What a rank has sent encoded so far. The error is that of one encoding in 16. */
struct hps_message_count {
    double bytes, plain_bytes;   /* as sent; as it would have been unencoded                  */
    double error2, square;      /* sums over numbers x: of (what was made of x - x)^2, of x^2 */
    long long n;                /* encodings                                                 */
};
/* to (rows, codec->bytes(n)) = x (rows, n), encoded by a codec that converts; and count the error.
 * Local. */
void hps_message_encode(const struct hps_codec_ops *codec, size_t rows, size_t n, const float *x,
                        void *to, struct hps_message_count *count);
/* Count an encoding. Is its error to be measured? Local. */
bool hps_message_measures(struct hps_message_count *count);
/* Count the error of y, what was made of x (n); numbers that are not finite have none. Local. */
void hps_message_compare(size_t n, const float *x, const float *y,
                         struct hps_message_count *count);
/* Rows of n numbers each were sent; a count of what is sent as fp32 stays 0. Local. */
void hps_message_sent(const struct hps_codec_ops *codec, double rows, size_t n,
                      struct hps_message_count *count);
/* to += sign * more. Local. */
void hps_message_count_add(struct hps_message_count *to, const struct hps_message_count *more,
                           int sign);
/* The root mean square of the error, as a share of that of the numbers; NaN: none was measured.
 * Pure. */
double hps_message_error(const struct hps_message_count *count);

#endif
