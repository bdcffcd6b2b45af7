/* plan.h - layer to stage, stage to type and units: check, tell, print, keep. */
#ifndef HPS_PLAN_PLAN_H
#define HPS_PLAN_PLAN_H

#include "plan/memory.h"

struct hps_plan_stage {
    int first, last;            /* layers, both included                   */
    int type;                   /* index into the profile's types          */
    long long units;            /* >= 1                                    */
    double ct, dt, et;          /* seconds per example (plan/cost.h)       */
};

struct hps_plan {
    char method[HPS_NAME];
    char warm[HPS_NAME];        /* the method whose plan the search began with, "": none  */
    char instead[HPS_NAME];     /* the method that was asked and was stopped before it found any
                                   plan, "": `method` is the one that was asked           */
    char by[HPS_NAME];          /* of `best`: whose plan it is, "" otherwise              */
    char rival[HPS_NAME];       /* what else was asked: exact beside others where it has a cheaper
                                   plan, in `best` the one that lost; "": none            */
    double rival_ratio;         /* its plan's cost under the objective, over this one's; 0: it has
                                   none                                                   */
    int L, S;
    struct hps_plan_stage *stage;      /* (S), in the pipeline's order, covers 0..L-1 */
    double throughput, seconds, cost_usd;
    double lower_bound_usd, gap;       /* gap = (cost - bound) / cost; 0 only when proven */
    double search_seconds;
    long long evaluations;             /* plans priced */
    int server_type;
    long long server_units;
    int nshare;                        /* pairs of stages on the same units */
    int (*share)[2];                   /* (nshare) stages a < b of one type; each in one pair */
    int T;                             /* 0: the names below are unknown */
    char (*layer)[HPS_NAME];           /* (L) of the network that it was made for */
    char (*type)[HPS_NAME];            /* (T) of the pool that it was made for    */
};

struct hps_plan *hps_plan_new(int L, int S);
struct hps_plan *hps_plan_copy(const struct hps_plan *plan);
void hps_plan_free(struct hps_plan *plan);

/* A plan of maximal runs from a type per layer (units 0, costs 0). `assignment` (L). Pure. */
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

/* Does it cut between layers of one type, as only a plan that is read may? Pure. */
bool hps_plan_cuts(const struct hps_plan *plan);

/* Room for n pairs of stages that share their units, all 0, in place of those there were. Pure. */
void hps_plan_share(struct hps_plan *plan, int n);
/* The stage that works on the same units as s, -1: none. Of a shared pair's units, the first stage
 * of the two is the one that pays and is counted. Pure. */
int hps_plan_partner(const struct hps_plan *plan, int s);
/* Is s the second stage of a pair: its units are those of an earlier one? Pure. */
bool hps_plan_is_second(const struct hps_plan *plan, int s);

/* What the units of stage s must hold, its partner's part included. Pure. */
struct hps_memory hps_plan_holds(const struct hps_plan *plan, const struct hps_profile *p, int s);

/* Remember for which network and pool the plan is, so that a file of it is refused elsewhere.
 * Pure. */
void hps_plan_name(struct hps_plan *plan, const struct hps_profile *p);

/* Valid for this profile: made for its layers and types where that is known, stages cover the
 * layers in order, none is empty, types exist, units >= 1, stages that share are two of one type
 * with equal units and in one pair each, sums of units (and servers) within limits, every unit has
 * the memory that its stages need. HPS_DECK with one message that begins with `from`. A plan is
 * valid or refused, never repaired. Pure. */
enum hps_status hps_plan_check(const struct hps_plan *plan, const struct hps_profile *p,
                               const char *from);

/* JSON "heterps-plan-1". Reading: `assignment` must agree with `stages` (stages decide, may cut
 * inside one type); all costs are recomputed later from the profile. Local. */
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

/* Rank 0's plan to all; *plan is NULL on the others before. Collective over world. */
void hps_plan_bcast(struct hps_plan **plan, MPI_Comm world);

/* The table for people, of a priced plan: stage, layers, type, units, seconds per example,
 * throughput, share of cost, what a unit must hold and has (where its type says), what bounds it;
 * then throughput and cost under both models, bound, gap. On standard output, rank 0. */
void hps_plan_print(const struct hps_plan *plan, const struct hps_profile *p);
/* What its stages keep of old rows while a checkpoint is written (hps_memory_snapshot). */
void hps_plan_print_snapshot(const struct hps_plan *plan, const struct hps_profile *p);

/* Which rank works in which stage, from each rank's type: stage s takes the first free ranks of
 * its type in rank order; a stage that shares works on those of the first of the two, whose number
 * they have. type (R); stage_of (R) [out], -1 for a rank left out. HPS_DECK (with a
 * message on rank 0) when a type has fewer ranks than the plan wants. Pure but for the message. */
enum hps_status hps_plan_place(const struct hps_plan *plan, int R, const int *type, int *stage_of);

#endif
