/* profile.h - the only input of the planner: how long each layer takes on each type of hardware,
 * and what the types cost.
 *
 * Letters: L layers, T types. Arrays per layer and type are row-major (L, T): entry [l * T + t].
 * Times are seconds for Bo examples on one unit (design: "From hardware to plan"). */
#ifndef HPS_PLAN_PROFILE_H
#define HPS_PLAN_PROFILE_H

#include <stdbool.h>

#include "base/status.h"
#include "plan/tier.h"

#define HPS_NAME 64             /* bytes of a name in a profile, the 0 included */

struct hps_profile_type {
    char name[HPS_NAME];
    bool gpu;                   /* "kind": cpu (default) or gpu            */
    double price_usd_hour;      /* of one unit                             */
    long long limit;            /* most units, >= 1                        */
    double memory_bytes;        /* of one unit; 0: unchecked               */
};

struct hps_profile_layer {
    char name[HPS_NAME], type[HPS_NAME];
    double input_bytes, weight_bytes;
    double state_bytes;         /* in addition to the weights: gradients of dense layers, state
                                   of the optimiser; of a unit that holds all of the layer */
    bool reads;                 /* it reads columns of the dataset */
    int rows_with;              /* of a layer with a table: the first layer that requests the same
                                   rows, of which the next is known */
    struct hps_tier_sample sample;      /* which rows steps need (plan/tier.h) */
};

/* What the engine-faithful model (plan/engine.h) needs in addition to the paper's. All 0, and 4
 * micro-batches of Bo, where nothing is known. */
struct hps_profile_engine {
    double batch;               /* examples of a step of one worker                       */
    long long microbatches;
    double *forward_s, *once_s; /* (L, T) contained in oct: the forward; what is done once a step */
    double *read_s;             /* (T) per example, for a stage that reads but is not the first
                                   to */
    double *micro_s, *step_s;   /* (T) of any stage: per micro-batch; per step             */
    double *unsure;             /* (T) of the median step that a unit was measured in, as a share
                                   of it, < 1; 0: not known                                */
    double move;                /* seconds that a CPU unit is busy for a second of recv or send */
    double run_s;               /* of a run beside its steps: the last checkpoint          */
    double trial;               /* measured over promised step of the plan that was tried; 0: none
                                   was */
};

/* What rows take that memory has no room for (plan/tier.h), of a unit of a type: seconds for a row
 * of the requests that layer l is the first of. All 0 where nothing is known. */
struct hps_profile_tier {
    double *take_s;             /* (L, T) that a step needs, wherever it lies                   */
    double *make_s, *read_s, *write_s;      /* (L, T) beside that: made; read, once the disk has
                                   it; written                                               */
    double *reads_s;            /* (T) rows a second from the disk, while all units of its host
                                   read */
};

struct hps_profile {
    int L, T;
    double batch;               /* Bo */
    double examples, epochs;    /* what the run will train on */
    double throughput_limit;    /* examples/s promised; 0 none; INFINITY: the most of the pool */
    int workers;                /* pipelines of the plan's stages side by side, >= 1; times are
                                   of one, limits of all */
    struct hps_profile_type *type;      /* (T) */
    struct hps_profile_layer *layer;    /* (L) */
    double *oct, *alpha;        /* (L, T) computation and its parallel fraction   */
    double *sync, *beta;        /* (L, T) parameter communication and its fraction */
    double *recv, *send;        /* (L, T) what crosses the boundary before / after the layer */
    struct hps_profile_engine engine;
    double *serve;              /* (L, T) seconds of a dedicated server for Bo examples */
    struct hps_profile_tier tier;
    double max_rows_bytes;      /* of the rows of a unit, in memory: others are in its file; 0: all
                                   are in memory. The deck's, where there is one             */
    int server_type;            /* dedicated servers: paid, counted against the limit */
    long long server_units;     /* 0: none                                        */
    bool server_dense;          /* they have the dense weights too, each of them all        */
    bool server_auto;           /* a plan chooses how many, and of which CPU type where server_type
                                   is -1; server_units is the fewest               */
};

/* Does a layer of this type read rows of a table? False for a type that is not the program's. */
bool hps_profile_has_table(const struct hps_profile_layer *layer);

/* Examples that all workers together train on in the measured seconds of Bo: of one each. Pure. */
static inline double hps_profile_examples(const struct hps_profile *p)
{
    return p->batch * p->workers;
}

/* Are there dedicated servers? They have all rows. Pure. */
static inline bool hps_profile_served(const struct hps_profile *p)
{
    return p->server_auto || p->server_units > 0;
}

/* An empty profile of this size, all 0, of one worker. Caller frees. Local. */
struct hps_profile *hps_profile_new(int L, int T);
void hps_profile_free(struct hps_profile *p);

/* Refuse what the design does not allow, with a message that names layer, type and value:
 * negative, NaN, infinite numbers, oct all 0, alpha or beta outside [0,1], limit < 1, workers < 1,
 * two types of one name, servers on GPUs or without memory for their rows (plan/memory.h).
 * HPS_DECK. `from` names the source. Pure. */
enum hps_status hps_profile_check(const struct hps_profile *p, const char *from);

/* JSON "heterps-profile-1" from and to a file or memory. Missing file HPS_INPUT; damaged or refused
 * HPS_DECK with file, line, column; cannot be written HPS_OUTPUT. Local. */
enum hps_status hps_profile_load(struct hps_profile **p, const char *path);
enum hps_status hps_profile_parse(struct hps_profile **p, const char *from, const char *text,
                                  size_t length);
enum hps_status hps_profile_save(const struct hps_profile *p, const char *path);
char *hps_profile_text(const struct hps_profile *p);   /* to free with hps_mem_free */

/* Broadcast the profile of rank 0. *p is NULL on the other ranks before. Collective over world. */
void hps_profile_bcast(struct hps_profile **p, MPI_Comm world);

#endif
