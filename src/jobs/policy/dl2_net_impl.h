/* dl2_net_impl.h - the network of dl2: two dense layers with rectifiers, the same for each job, so
 * that it is of the jobs and not of their order, and reads any number of them. What a job's layers
 * see of the others is the mean of their features. */
#ifndef HPS_JOBS_DL2_NET_IMPL_H
#define HPS_JOBS_DL2_NET_IMPL_H

#include <stdint.h>

enum { HPS_DL2_WINDOW = 40, HPS_DL2_FEATURES = 12 };    /* jobs at a time; numbers of each */

struct hps_dl2_net;
struct hps_dl2_net *hps_dl2_net_new(uint64_t key);
/* The weights of another. */
void hps_dl2_net_copy(struct hps_dl2_net *to, const struct hps_dl2_net *from);
void hps_dl2_net_free(struct hps_dl2_net *net);
/* x (n, FEATURES), 1 <= n <= WINDOW. logit (n + 1) [out]: one more step for each job, and an end of
 * it. Returns the value of the state. */
double hps_dl2_net_forward(struct hps_dl2_net *net, int n, const float *x, double *logit);
/* The same, and adds to the gradient what makes sum(dlogit logit) + dvalue value larger, where
 * dlogit (n + 1). */
void hps_dl2_net_backward(struct hps_dl2_net *net, int n, const float *x, const double *dlogit,
                          double dvalue);
/* A step of Adam along the gradient, which is clipped to a norm of 1 before and 0 after. */
void hps_dl2_net_step(struct hps_dl2_net *net, double rate);

#endif
