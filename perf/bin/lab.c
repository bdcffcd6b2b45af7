#include "lab.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/sort.h"

double lab_cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double lab_io(const char *key)
{
    char text[4096] = "\n", *at = text;
    int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text + 1, sizeof text - 2);
    size_t length = strlen(key);

    if (fd >= 0) close(fd);
    while (n > 0 && (at = strchr(at, '\n')) && strncmp(++at, key, length) != 0)
        ;
    return n > 0 && at && at[length] == ':' ? atof(at + length + 1) : NAN;
}

double lab_median(double *x, int n)
{
    return n < 1 ? NAN : hps_sort_median(x, (size_t)n);
}

struct hps_sched_opt lab_options(const char *method, long long evaluations)
{
    return (struct hps_sched_opt){ .method = method, .objective = "model", .profile = "",
                                   .plan = "", .policy = "", .warm = "", .polish = true,
                                   .replan_margin = 0.1, .seed = 1, .evaluations = evaluations };
}

struct hps_problem lab_problem(const struct hps_profile *p, const struct hps_sched_opt *opt)
{
    return (struct hps_problem){ .profile = p, .opt = opt, .argument = "",
                                 .throughput_limit = p->throughput_limit };
}

void lab_budget(struct hps_sched_opt *opt, const char *budget)
{
    char *end;
    double most = strtod(budget, &end);

    opt->evaluations = *end ? 0 : (long long)most;
    opt->seconds = *end ? most : 0;
}

struct hps_plan *lab_search(const struct hps_profile *p, const struct hps_sched_opt *opt)
{
    struct hps_problem q = lab_problem(p, opt);
    struct hps_plan *plan = NULL;

    if (hps_sched_check(opt) || hps_sched_search(&plan, &q))
        return NULL;
    return plan;
}
