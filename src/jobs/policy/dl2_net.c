/* dl2_net.c - the program's own policy network (plan/policy.h), over jobs in the order of arrival
 * where it has layers, and a single type. Its outputs of each job: what one more step is worth; its
 * part in what an end is worth, and in the value of the state, which are means over jobs. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "jobs/policy/dl2_net_impl.h"
#include "plan/policy.h"

enum { STEP, END, VALUE, OUTPUTS };

struct hps_dl2_net {
    struct hps_policy *policy;
};

struct hps_dl2_net *hps_dl2_net_new(uint64_t key)
{
    struct hps_dl2_net *net = hps_mem_new(1, sizeof *net);

    net->policy = hps_policy_new(HPS_CELL_RNN, HPS_DL2_FEATURES, OUTPUTS, key);
    return net;
}

void hps_dl2_net_free(struct hps_dl2_net *net)
{
    if (!net) return;
    hps_policy_free(net->policy);
    hps_mem_free(net);
}

void hps_dl2_net_copy(struct hps_dl2_net *to, const struct hps_dl2_net *from)
{
    memcpy(to->policy->param, from->policy->param,
           (size_t)to->policy->nparam * sizeof *to->policy->param);
}

double hps_dl2_net_forward(const struct hps_dl2_net *net, int n, const double *x, double *logit)
{
    struct hps_policy_pass *pass = hps_policy_pass_new(net->policy, n, 1);
    double out[HPS_DL2_WINDOW * OUTPUTS], value = 0;

    assert(n <= HPS_DL2_WINDOW);
    hps_policy_forward(pass, x, out);
    hps_policy_pass_free(pass);
    logit[n] = 0;
    for (int i = 0; i < n; i++) {
        logit[i] = out[i * OUTPUTS + STEP];
        logit[n] += out[i * OUTPUTS + END] / n;
        value += out[i * OUTPUTS + VALUE] / n;
    }
    return value;
}

void hps_dl2_net_backward(struct hps_dl2_net *net, int n, const double *x, const double *dlogit,
                          double dvalue)
{
    struct hps_policy_pass *pass = hps_policy_pass_new(net->policy, n, 1);
    double out[HPS_DL2_WINDOW * OUTPUTS];

    assert(n <= HPS_DL2_WINDOW);
    hps_policy_forward(pass, x, out);
    for (int i = 0; i < n; i++) {
        out[i * OUTPUTS + STEP] = dlogit[i];
        out[i * OUTPUTS + END] = dlogit[n] / n;
        out[i * OUTPUTS + VALUE] = dvalue / n;
    }
    hps_policy_backward(pass, out);
    hps_policy_pass_free(pass);
}

void hps_dl2_net_step(struct hps_dl2_net *net, double rate)
{
    hps_policy_step(net->policy, rate);
}
