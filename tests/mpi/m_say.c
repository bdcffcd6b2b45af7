/* m_say: a failure on any one rank is heard by all, the quiet waits wait and sleep, who waits sees
 * to what must leave, and a deck that rank 0 reads is the same on every rank. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deck.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/progress.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void agreement(MPI_Comm world)
{
    static const enum hps_status bad[] = { HPS_USAGE, HPS_DECK, HPS_INPUT, HPS_FAIL, HPS_OUTPUT,
                                           HPS_AGAIN };
    int rank = hps_rank(), nrank = hps_nrank();

    if (hps_agree(world, HPS_OK) != HPS_OK)
        HPS_DIE("all is well, and somebody heard otherwise");
    for (int one = 0; one < nrank; one++)
        for (int i = 0; i < 6; i++)
            if (hps_agree(world, rank == one ? bad[i] : HPS_OK) != bad[i])
                HPS_DIE("status %d of rank %d was not heard", (int)bad[i], one);
    if (hps_agree(world, rank == 0 ? HPS_DECK : HPS_INPUT) != (nrank > 1 ? HPS_INPUT : HPS_DECK))
        HPS_DIE("of two statuses not the worst was heard");
}

/* Nobody leaves before the last has come, and who waits does not burn its core. */
static void quiet_barrier(MPI_Comm world)
{
    const double late_s = 0.3;
    int rank = hps_rank(), nrank = hps_nrank();
    struct timespec nap = { 0, (long)(late_s * 1e9) };
    double cpu, wall;

    hps_barrier_sleeping(world);
    cpu = cpu_s();
    wall = hps_now_s();
    if (rank == nrank - 1)
        nanosleep(&nap, NULL);
    hps_barrier_sleeping(world);
    wall = hps_now_s() - wall;
    cpu = cpu_s() - cpu;
    if (wall < late_s * 0.9)
        HPS_DIE("left the barrier after %.3f s, the last came after %.3f s", wall, late_s);
    if (cpu > wall / 2)
        HPS_DIE("waiting %.3f s took %.3f s of the core", wall, cpu);
}

static void quiet_message(MPI_Comm world)
{
    int rank = hps_rank(), nrank = hps_nrank(), got = -1;
    struct timespec nap = { 0, 20000000 };
    MPI_Request from = MPI_REQUEST_NULL;

    hps_wait_sleeping(&from);                          /* nothing to wait for */
    HPS_MPI(MPI_Irecv(&got, 1, MPI_INT, (rank + nrank - 1) % nrank, 1, world, &from));
    nanosleep(&nap, NULL);
    HPS_MPI(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % nrank, 1, world));
    hps_wait_sleeping(&from);
    if (got != (rank + nrank - 1) % nrank || from != MPI_REQUEST_NULL)
        HPS_DIE("received %d", got);
}

static void count(void *looks)
{
    ++*(int *)looks;
}

/* Who waits for a device sees to what must leave this rank, if there is such, crowded or not. */
static void meanwhile(void)
{
    bool crowded = hps_wait_oversubscribed();
    int looks = 0;

    if (hps_wait_progress()) HPS_DIE("there was something to see to");
    hps_progress_add(count, &looks);
    for (int i = 0; i < 2; i++) {
        hps_wait_set_oversubscribed(i > 0);
        if (!hps_wait_progress()) HPS_DIE("there was nothing to see to");
    }
    hps_progress_drop(count, &looks);
    hps_wait_set_oversubscribed(crowded);
    if (looks != 2) HPS_DIE("%d looks of 2", looks);
}

static void same_deck(MPI_Comm world)
{
    static const char text[] = "run: {name: same, seed: 3}\n";
    char path[32] = "m_say.yaml", *set[] = { "run.seed=4" }, *bad[] = { "run.seed=[" };
    const struct hps_item *run;
    struct hps_deck *deck;
    FILE *f = NULL;

    if (hps_rank() == 0) {
        snprintf(path, sizeof path, "m_say.%d.yaml", (int)getpid());
        f = fopen(path, "w");
        if (!f || fputs(text, f) == EOF || fclose(f) != 0)
            HPS_DIE("%s cannot be written", path);
    }
    if (hps_deck_load(&deck, path, 1, set, world) || hps_deck_map(deck, "run", &run))
        HPS_DIE("the deck was refused");
    if (strcmp(hps_item_text(run, "name"), "same") != 0 ||
        strcmp(hps_item_text(run, "seed"), "4") != 0)
        HPS_DIE("the deck is another one here");
    hps_deck_free(deck);
    hps_say_min(HPS_SILENT);
    if (hps_deck_load(&deck, path, 1, bad, world) != HPS_DECK || deck)
        HPS_DIE("a bad set was taken");
    if (hps_rank() == 0 && unlink(path) != 0)
        HPS_DIE("%s cannot be removed", path);
    if (hps_deck_load(&deck, path, 0, NULL, world) != HPS_INPUT || deck)
        HPS_DIE("a deck that is not there was read");
    hps_say_min(HPS_INFO);
}

/* For e_say.sh: the last rank ends the run while the others wait for it. */
static void end_badly(const char *how, MPI_Comm world)
{
    int any = 0;
    struct timespec late = { 0, 500000000 };

    if (strcmp(how, "killed") == 0) {           /* the others hear of it before the launcher acts */
        if (hps_rank() < hps_nrank() - 1)
            HPS_MPI(MPI_ERR_OTHER);
        nanosleep(&late, NULL);
        raise(SIGKILL);
    }
    if (hps_rank() == hps_nrank() - 1) {
        if (strcmp(how, "die") == 0)
            HPS_DIE("found a bug");
        if (strcmp(how, "quit") == 0)
            hps_quit(HPS_INPUT, "lost its input");
        HPS_MPI(MPI_Send(&any, 1, MPI_INT, hps_nrank(), 0, world));
    }
    HPS_MPI(MPI_Barrier(world));
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    if (argc > 1)
        end_badly(argv[1], world);
    agreement(world);
    quiet_barrier(world);
    quiet_message(world);
    meanwhile();
    same_deck(world);
    if (hps_mem_held_bytes() > 0)
        HPS_DIE("%zu bytes are held at the end", hps_mem_held_bytes());
    return hps_end(hps_agree(world, HPS_OK));
}
