/* say.h - the only voice and the only exit: messages, shared verdicts, the end of the run. */
#ifndef HPS_BASE_SAY_H
#define HPS_BASE_SAY_H

#include <mpi.h>
#include <stdbool.h>

/* What a verb answers, and what the program exits with: one value per exit code of the manual. */
enum hps_status {
    HPS_OK = 0,
    HPS_USAGE = 64,  /* the command line is wrong                                     */
    HPS_DECK = 65,   /* the deck or the data is wrong; no feasible plan; loss is not finite */
    HPS_INPUT = 66,  /* an input is missing or cannot be read                         */
    HPS_FAIL = 70,   /* a bug, a failed library call, a stall                         */
    HPS_OUTPUT = 73, /* an output cannot be written, or the run directory is in use   */
    HPS_AGAIN = 75   /* stopped early with a whole checkpoint: submit again           */
};

enum hps_level {
    HPS_DEBUG,
    HPS_INFO,
    HPS_WARN,
    HPS_ERROR,
    HPS_SILENT /* only for hps_say_min */
};

/* Start the program. `parallel`: initialise MPI (threads: SERIALIZED) and set its error handlers to
 * return, so that HPS_MPI sees failures; otherwise MPI is never touched and the world is one rank.
 * Returns the communicator of all ranks (MPI_COMM_SELF's stand-in MPI_COMM_NULL when not parallel).
 * Collective over all ranks. */
MPI_Comm hps_begin(int *argc, char ***argv, bool parallel);

/* End the program in order and give the exit code for main. Collective over all ranks. */
int hps_end(enum hps_status status);

/* End a child that this process has forked, which is no rank: nothing is flushed, none is told. */
_Noreturn void hps_leave(int code);

int hps_rank(void);      /* mine in the world; 0 when not parallel. Local. */
int hps_nrank(void);     /* ranks in the world; 1 when not parallel. Local. */
const char *hps_host(void); /* of this process, as the batch system calls it. Local. */
double hps_now_s(void);  /* seconds of a monotonic clock since hps_begin. Local. */
double hps_core_s(void); /* seconds that this thread was given on a core. Local. */

/* Everything said from now on is also appended to this file (NULL: stop), a regular one
 * (base/file.h); on another rank than 0, what it would have said if it were 0, too. Local. Returns
 * HPS_OUTPUT when the file cannot be opened. */
enum hps_status hps_say_log(const char *path);

/* Levels under this are not said (default HPS_INFO); what ends the run is always said. Local. */
void hps_say_min(enum hps_level level);

/* One line "[rank seconds] text" on standard error. HPS_SAY speaks on rank 0 only,
 * HPS_SAY_ALL on any rank: only for a trouble that is that rank's own. Errors begin "error: ",
 * warnings "warning: ". Thread safe.
 *
 * Messages and results show what they have from files and users, and never do what it says:
 * control characters and bytes that are not UTF-8 become \xNN (base/escape.h), an end of a line
 * inside a message \n. */
#define HPS_SAY(level, ...) hps_say(level, false, __VA_ARGS__)
#define HPS_SAY_ALL(level, ...) hps_say(level, true, __VA_ARGS__)
void hps_say(enum hps_level level, bool all, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Results for people, on standard output, rank 0 only; copied to the log. hps_out_flush answers
 * HPS_OUTPUT when standard output could not take what was written (full disk, closed pipe). */
void hps_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
enum hps_status hps_out_flush(void);

/* Print where and why, and end all ranks with HPS_FAIL. Does not return. */
#define HPS_DIE(...) hps_die(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void hps_die(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a trouble of the user's that only one rank can see when the others cannot be told
 * in order any more (a peer is waiting in a message): print and end all ranks with `status`. */
_Noreturn void hps_quit(enum hps_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A rank was killed, and the launcher is slow to end the others: print, and end as that one did, so
 * that the launcher's code is that of its death. hps_on_quit's does not hear of it. */
_Noreturn void hps_follow(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* To be called on the rank that ends all of them in disorder, before it does; NULL: nothing. */
void hps_on_quit(void (*tell)(enum hps_status status));

/* HPS_DIE for a call that fails where a peer is gone: on several ranks it ends them two seconds
 * later, so that where that peer was killed the launcher's code of its death is the run's. */
_Noreturn void hps_die_late(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Every MPI call stands inside this: a failure says rank, call, MPI's text and place, ends all as
 * hps_die_late does. */
#define HPS_MPI(call) hps_mpi_check((call), #call, __FILE__, __LINE__)
void hps_mpi_check(int rc, const char *call, const char *file, int line);

/* The worst status of all ranks of `comm` (the largest code): the same on every rank after.
 * Collective over comm; MPI_COMM_NULL: answers `mine`. */
enum hps_status hps_agree(MPI_Comm comm, enum hps_status mine);

/* Wait for a request without burning the core (tests with growing sleeps, 20 us to 2 ms). For waits
 * that may last: idle ranks, ranks that wait while another measures. Local. */
void hps_wait_quiet(MPI_Request *request);

/* Wait for all of n requests (n = 0 and null requests are fine). Where the host is crowded, with
 * more ranks than cores, the waiter naps for microseconds, so that whoever computes has the core;
 * else it spins, which hears sooner. Local. */
void hps_wait_all(int n, MPI_Request *request);
/* Are all of them done? `patient`: they are, behind hps_wait_all; else a look, which never blocks.
 * Local. */
bool hps_wait_arrived(int n, MPI_Request *request, bool patient);
void hps_wait_crowded(bool crowded);
/* Is it? Then a test of a request that is not done costs a computing rank its turn on the core,
 * since the MPI library yields in it: better not to look in between. Local. */
bool hps_wait_is_crowded(void);

/* Let what is under way in MPI go on, for who waits for something else. Never blocks. Local. */
void hps_progress_mpi(void);

/* A barrier whose waiters sleep. Collective over comm; MPI_COMM_NULL: nothing to wait for. */
void hps_barrier_quiet(MPI_Comm comm);

#endif
