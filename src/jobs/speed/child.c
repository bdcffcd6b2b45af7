#include "jobs/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mem.h"
#include "base/page.h"

extern char **environ;

/* ---- what the child says ---- */

/* All that comes through the pipe. To free. */
static char *read_all(int fd)
{
    struct hps_page text = { 0 };
    char piece[4096];

    hps_page_add(&text, "%s", "");
    for (ssize_t n; (n = read(fd, piece, sizeof piece - 1)) > 0 || (n < 0 && errno == EINTR);) {
        if (n < 0) continue;
        piece[n] = 0;
        hps_page_add(&text, "%s", piece);
    }
    return text.at;
}

/* Its first error without the clock in front of it, or its last line. Cuts the text. */
static char *error_of(char *text)
{
    char *error = strstr(text, "error: "), *line = error ? error + strlen("error: ") : NULL;

    if (!line) {
        size_t n = strlen(text);
        while (n > 0 && text[n - 1] == '\n')
            text[--n] = 0;
        line = strrchr(text, '\n');
        line = line ? line + 1 : text;
    }
    line[strcspn(line, "\n")] = 0;
    return hps_mem_text(line);
}

/* ---- the child ---- */

/* The launcher of this process started this one alone: a child that is told of it would look for
 * ranks that there are not. To free. */
static char **environment(void)
{
    static const char *const launcher[] = { "OMPI_", "PMIX_", "PMI_", "SLURM_PROCID=",
                                            "SLURM_STEP_", "SLURM_STEPID=", "SLURM_LOCALID=" };
    size_t n = 0, kept = 0;

    while (environ[n])
        n++;
    char **own = hps_mem_new(n + 1, sizeof *own);
    for (size_t i = 0; i < n; i++) {
        bool drop = false;
        for (size_t k = 0; k < sizeof launcher / sizeof *launcher; k++)
            drop = drop || (strncmp(environ[i], launcher[k], strlen(launcher[k])) == 0 &&
                            strncmp(environ[i], "OMPI_MCA_", 9) != 0 &&
                            strncmp(environ[i], "OMPI_ALLOW_", 11) != 0);
        if (!drop) own[kept++] = environ[i];
    }
    return own;
}

static int start(pid_t *pid, const char *program, char *const *argv, int to)
{
    posix_spawn_file_actions_t files;
    char **own = environment();
    int error = posix_spawn_file_actions_init(&files);

    if (error == 0) {
        error = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (!error)
            error = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY,
                                                     0);
        if (!error) error = posix_spawn_file_actions_adddup2(&files, to, STDERR_FILENO);
        if (!error) error = posix_spawn(pid, program, &files, NULL, argv, own);
        posix_spawn_file_actions_destroy(&files);
    }
    hps_mem_free(own);
    return error;
}

static int code_of(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return HPS_FAIL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int hps_child_run(int n, const char *const *argument, char **error)
{
    char **argv = hps_mem_new((size_t)n + 2, sizeof *argv), *program = hps_program();
    int pipes[2], code = HPS_FAIL, why;
    pid_t pid;

    argv[0] = program;
    for (int i = 0; i < n; i++)
        argv[i + 1] = (char *)argument[i];
    *error = NULL;
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        *error = hps_mem_print("cannot be started: %s", strerror(errno));
    } else {
        why = start(&pid, program, argv, pipes[1]);
        close(pipes[1]);
        if (why) *error = hps_mem_print("cannot be started: %s", strerror(why));
        char *said = read_all(pipes[0]);
        close(pipes[0]);
        if (!why) code = code_of(pid);
        if (!why && code) *error = error_of(said);
        hps_mem_free(said);
    }
    hps_mem_free(program);
    hps_mem_free(argv);
    return code;
}
