/* plan.h - a plan: which layers form a stage, and on which type and how many units each stage
 * runs. Checked, printed, broadcast, read and written here. */
#ifndef HPS_PLAN_PLAN_H
#define HPS_PLAN_PLAN_H

#include "plan/memory.h"

struct hps_plan_stage {
    int first, last;            /* layers, both included                   */
    int type;                   /* index into the profile's types          */
    long long units;            /* >= 1, of all workers; a multiple of their number */
    double ct, dt, et;          /* seconds per example of the run (plan/cost.h) */
};

struct hps_plan {
    char method[HPS_NAME];
    char warm[HPS_NAME];       /* the warm start whose plan the search began with, "": none */
    char instead[HPS_NAME];    /* the requested method that was stopped before it found any
                                  plan; "": `method` is the requested one */
    char by[HPS_NAME];         /* of method `best`: the method that found the plan, "" otherwise */
    char competitor[HPS_NAME]; /* the other method that was run: exact, where it has a
                                  cheaper plan, or of `best` the method that lost; "": none */
    double competitor_ratio;   /* cost of the other method's plan under the objective, over
                                  this one's; 0: it has no plan */
    int L, S;
    struct hps_plan_stage *stage;      /* (S), in the pipeline's order, covers 0..L-1 */
    double throughput, seconds, cost_usd;
    double lower_bound_usd, gap;       /* gap = (cost - bound) / cost; 0 only when proven */
    double search_seconds;
    long long evaluations;             /* plans priced */
    int server_type;                   /* of the dedicated servers, which share all rows */
    long long server_units;            /* 0: none                 */
    int workers;                       /* each has an equal share of every stage's units; >= 1 */
    int nshare;                        /* pairs of stages on the same units */
    int (*share)[2];                   /* (nshare) stages a < b of one type; each in one pair */
    int T;                             /* 0: the names below are unknown */
    char (*layer)[HPS_NAME];           /* (L) of the network that it was made for */
    char (*type)[HPS_NAME];            /* (T) of the pool that it was made for    */
};

/* Micro-batches in flight in stage s of S, of M in a step: without their backward yet, each keeps
 * its activations. 1F1B needs the S - s that make the way to the last stage and back; as many
 * again, less one, let messages travel, and a stage be late, while the others compute (eager 1F1B,
 * Zhuang et al., arXiv 2211.05322). Pure. */
static inline int hps_plan_in_flight(int S, int s, int M)
{
    int n = 2 * (S - s) - 1;

    return n < M ? n : M;
}

struct hps_plan *hps_plan_new(int L, int S);
struct hps_plan *hps_plan_copy(const struct hps_plan *plan);
void hps_plan_free(struct hps_plan *plan);

/* A plan whose stages are the maximal runs of equal types of `assignment` (L), with 0 units and
 * costs. Pure. */
struct hps_plan *hps_plan_of_assignment(int L, const int *assignment);

/* The inverse: type (L) [out] of each layer. The layers of stages that a plan cuts inside one type
 * become one run. Pure. */
void hps_plan_assignment(const struct hps_plan *plan, int *type);

/* The layer behind the last one of the maximal run of one type that layer l is in. Pure. */
static inline int hps_plan_run_end(const int *type, int L, int l)
{
    int end = l + 1;

    while (end < L && type[end] == type[l])
        end++;
    return end;
}

/* Does it cut between layers of one type? Only a plan that is read may. Pure. */
bool hps_plan_cuts(const struct hps_plan *plan);

/* Allocate n pairs of stages that share their units, all 0, in place of the pairs there were.
 * Pure. */
void hps_plan_share(struct hps_plan *plan, int n);
/* The stage that shares its units with stage s, -1: none. The units of a pair belong to its first
 * stage, which is the one that is paid and counted. Pure. */
int hps_plan_partner(const struct hps_plan *plan, int s);
/* Is s the second stage of a pair, so that its units belong to an earlier one? Pure. */
bool hps_plan_is_second(const struct hps_plan *plan, int s);

/* Do two plans of a network give the same layers to as many units of the same types, shared alike,
 * for as many workers, with the same servers? Pure. */
bool hps_plan_same_work(const struct hps_plan *a, const struct hps_plan *b);

/* The dedicated servers of type t: the profile's, unless the plan chooses them. Pure. */
long long hps_plan_servers_on(const struct hps_plan *plan, const struct hps_profile *p, int t);

/* The memory that the units of stage s need, including that of a stage that shares them: rows are
 * distributed over the units of all workers. Pure. */
struct hps_memory hps_plan_holds(const struct hps_plan *plan, const struct hps_profile *p, int s);

/* Store the names of the layers and types in the plan, so that a file of it is refused for another
 * network or pool. Pure. */
void hps_plan_name(struct hps_plan *plan, const struct hps_profile *p);

/* Is the plan valid for this profile? It is made for its layers and types where these are known;
 * it has the profile's workers; stages cover the layers in order and are not empty; types exist;
 * units >= 1, an equal number for each worker; stages that share units are two of one type with
 * equal units, and in one pair each; the units of a type (with servers) are within its limit; every
 * unit has the memory for its stages; servers that a plan chooses are there, of a CPU type that may
 * serve, and hold all rows. Else HPS_DECK with one message that begins with `from`. A
 * plan is valid or refused, never repaired. Pure. */
enum hps_status hps_plan_check(const struct hps_plan *plan, const struct hps_profile *p,
                               const char *from);

/* JSON "heterps-plan-1". Reading: `assignment` must agree with `stages` (stages decide, may cut
 * inside one type); all costs are recomputed later from the profile, and the servers are the
 * profile's unless a plan chooses them. Local. */
enum hps_status hps_plan_load(struct hps_plan **plan, const char *path);
enum hps_status hps_plan_parse(struct hps_plan **plan, const char *from, const char *text,
                               size_t length);
enum hps_status hps_plan_save(const struct hps_plan *plan, const char *path);
char *hps_plan_text(const struct hps_plan *plan);      /* to free with hps_mem_free */
struct json_t *hps_plan_tree(const struct hps_plan *plan);  /* to free with json_decref */

/* JSON "heterps-plans-1": {"format", "plans": [...]}, each plan as in its own file; NULLs are left
 * out. hps_plan_trees_text makes the same text of an array of trees, which it frees. The caller
 * frees the text with hps_mem_free. */
char *hps_plan_list_text(int n, struct hps_plan *const *plan);
char *hps_plan_trees_text(struct json_t *trees);

/* Broadcast the plan of rank 0; *plan is NULL on the other ranks before. Collective over world. */
void hps_plan_bcast(struct hps_plan **plan, MPI_Comm world);

/* Print a priced plan as a table: stage, layers, type, units, seconds per example, throughput,
 * share of the cost, memory that a unit needs and has (where known), what limits it; then
 * throughput and cost under both models, bound, gap. On standard output, rank 0. */
void hps_plan_print(const struct hps_plan *plan, const struct hps_profile *p);
/* Print how many bytes of old rows the units of each stage may hold while a checkpoint is written
 * (hps_memory_snapshot). */
void hps_plan_print_snapshot(const struct hps_plan *plan, const struct hps_profile *p);

/* In place of a stage: what a rank is that trains none. */
enum { HPS_PLAN_IDLE = -1, HPS_PLAN_SERVER = -2 };

/* Assign ranks to stages: stage s gets the first free ranks of its type in rank order; a stage
 * that shares units gets the ranks of its pair's first stage, and stage_of has the number of that
 * one. Dedicated servers are the last ranks of their type. type (R) is the type of each rank;
 * stage_of (R) [out]: the stage, HPS_PLAN_SERVER or HPS_PLAN_IDLE, which are negative. Of W workers
 * each has a contiguous part of the ranks of every stage: of k of them the r-th belongs to worker
 * r / (k/W). HPS_DECK (with a message on rank 0) when a type has fewer ranks than the plan needs.
 * Pure but for the message. */
enum hps_status hps_plan_place(const struct hps_plan *plan, int R, const int *type, int *stage_of);

#endif
