/* outputs.c - the files that a command writes, apart from what it reads. */
#include "base/outputs.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/say.h"

enum { OUTPUTS = 8, LINKS = 40 };

/* A file that is there, or a name in a folder. */
struct file {
    bool there;
    dev_t device;
    ino_t number;
};

struct output {
    const char *option, *name;      /* as the command line has them                    */
    char path[PATH_MAX];            /* the end of its links                            */
    bool grows;
    struct file is, part, folder;   /* the file, PATH.part, the folder that they are in */
};

static struct output output[OUTPUTS];
static int noutput;

static struct file file_of(const struct stat *facts)
{
    return (struct file){ true, facts->st_dev, facts->st_ino };
}

static bool same(const struct file *a, const struct file *b)
{
    return a->there && b->there && a->device == b->device && a->number == b->number;
}

static enum hps_status wrong(const char *path, const char *why)
{
    HPS_SAY(HPS_ERROR, "%s: %s", path, why);
    return HPS_OUTPUT;
}

/* The name behind the last slash. */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* One link from path[] on, which is changed; false, with errno: it cannot be followed. */
static bool follow_one(char *path)
{
    char to[PATH_MAX], whole[2 * PATH_MAX];
    ssize_t n = readlink(path, to, sizeof to - 1);

    if (n < 0) return false;
    to[n] = 0;
    path[*to == '/' ? 0 : base_of(path) - path] = 0;
    n = snprintf(whole, sizeof whole, "%s%s", path, to);
    if (n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path, whole, (size_t)n + 1);
    return true;
}

/* The end of the links of path[], which need not be there. */
static enum hps_status follow(char *path, const char *name)
{
    struct stat facts;

    for (int i = 0; lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode); i++) {
        if (i == LINKS) return wrong(name, strerror(ELOOP));
        if (!follow_one(path)) return wrong(name, strerror(errno));
    }
    return HPS_OK;
}

/* The folder that a path lies in, as it is. */
static struct file folder_of(const char *path)
{
    char folder[PATH_MAX + 1];
    struct stat facts;
    int n = (int)(base_of(path) - path);

    snprintf(folder, sizeof folder, "%.*s.", n, path);
    return stat(folder, &facts) == 0 ? file_of(&facts) : (struct file){ 0 };
}

/* What is at the output's two names now. */
static enum hps_status look(struct output *o)
{
    char part[PATH_MAX + 8];
    struct stat facts;

    if (stat(o->path, &facts) == 0) o->is = file_of(&facts);
    o->folder = folder_of(o->path);
    snprintf(part, sizeof part, "%s.part", o->path);
    if (lstat(part, &facts) != 0) return HPS_OK;
    o->part = file_of(&facts);
    return S_ISREG(facts.st_mode) ? HPS_OK
                                  : wrong(part, "not a regular file: it is in the way of the one "
                                                "that is written first");
}

/* Does one path begin as the other and end in .part? */
static bool is_part_of(const char *part, const char *whole)
{
    size_t n = strlen(whole);

    return strncmp(part, whole, n) == 0 && strcmp(part + n, ".part") == 0;
}

static bool collide(const struct output *a, const struct output *b)
{
    const char *x = base_of(a->path), *y = base_of(b->path);
    bool together = same(&a->folder, &b->folder) ||     /* or one that will be made */
                    (x - a->path == y - b->path &&
                     strncmp(a->path, b->path, (size_t)(x - a->path)) == 0);

    if (same(&a->is, &b->is) || same(&a->is, &b->part) || same(&a->part, &b->is)) return true;
    return together && (strcmp(x, y) == 0 || is_part_of(x, y) || is_part_of(y, x));
}

static enum hps_status compare(const struct output *o)
{
    for (const struct output *other = output; other < o; other++)
        if (collide(o, other)) {
            HPS_SAY(HPS_ERROR, "--%s %s and --%s %s are one file, or the other's .part",
                    other->option, other->name, o->option, o->name);
            return HPS_USAGE;
        }
    return HPS_OK;
}

enum hps_status hps_outputs_add(const char *option, const char **path, enum hps_output_how how)
{
    struct output *o = &output[noutput];
    struct stat facts;
    enum hps_status s;

    if (!*path || !**path || strcmp(*path, "-") == 0) return HPS_OK;
    assert(noutput < OUTPUTS);
    *o = (struct output){ .option = option, .name = *path, .grows = how == HPS_OUTPUT_GROWS };
    if (strlen(*path) >= sizeof o->path) return wrong(*path, strerror(ENAMETOOLONG));
    if (stat(*path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        if (how == HPS_OUTPUT_ANY && !S_ISDIR(facts.st_mode)) return HPS_OK;
        return wrong(*path, "not a regular file: it is not replaced");
    }
    strcpy(o->path, *path);
    s = follow(o->path, *path);
    if (!s) s = look(o);
    if (!s) s = compare(o);
    if (s) return s;
    *path = o->path;
    noutput++;
    return HPS_OK;
}

static enum hps_status read_as(const struct stat *facts, const char *name, bool dataset)
{
    struct file f = file_of(facts);

    for (const struct output *o = output; o < output + noutput && S_ISREG(facts->st_mode); o++) {
        bool own = dataset && o->grows;
        if ((own || !same(&f, &o->is)) && !same(&f, &o->part)) continue;
        HPS_SAY(HPS_ERROR, "%s is read, it cannot be written too: --%s %s%s", name, o->option,
                o->name, same(&f, &o->part) ? ", whose .part it is" : "");
        return HPS_USAGE;
    }
    return HPS_OK;
}

enum hps_status hps_outputs_read(int fd, const char *name, bool dataset)
{
    struct stat facts;

    return noutput == 0 || fstat(fd, &facts) != 0 ? HPS_OK : read_as(&facts, name, dataset);
}

enum hps_status hps_outputs_will_read(const char *path)
{
    struct stat facts;

    return stat(path, &facts) != 0 ? HPS_OK : read_as(&facts, path, false);
}

void hps_outputs_forget(void)
{
    noutput = 0;
}
