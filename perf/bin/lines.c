/* lines.c - what bounds an import: the processor's seconds to read a text, to unpack it, to find
 * its lines, and nothing else.  lines read|zlib|lines FILE */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "data/text.h"
#include "data/unpack.h"
#include "lab.h"

enum { PIECE = 1 << 20 };

static double read_bytes(const char *path, char *buffer)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    double bytes = 0;
    ssize_t n;

    if (fd < 0)
        HPS_DIE("%s cannot be read", path);
    while ((n = read(fd, buffer, PIECE)) > 0)
        bytes += (double)n;
    close(fd);
    return bytes;
}

static double unpack_bytes(const char *path, char *buffer)
{
    gzFile gz = gzopen(path, "rb");
    double bytes = 0;
    int n;

    if (!gz)
        HPS_DIE("%s cannot be read", path);
    gzbuffer(gz, PIECE);
    while ((n = gzread(gz, buffer, PIECE)) > 0)
        bytes += n;
    gzclose(gz);
    return bytes;
}

static double find_lines(const char *path)
{
    struct hps_text t;
    double bytes = 0;
    char *line;
    size_t n;

    if (hps_text_open(&t, path))
        HPS_DIE("%s cannot be read", path);
    while (!hps_text_next(&t, &line, &n) && line)
        bytes += (double)n + 1;
    hps_text_close(&t);
    return bytes;
}

int main(int argc, char **argv)
{
    char *buffer;
    double begin_s, bytes, s;

    hps_begin(NULL, NULL, false);
    if (argc != 3)
        HPS_DIE("lines read|zlib|lines FILE");
    buffer = hps_mem_new(PIECE, 1);
    begin_s = lab_cpu_s();
    if (strcmp(argv[1], "read") == 0)
        bytes = read_bytes(argv[2], buffer);
    else
        bytes = strcmp(argv[1], "zlib") == 0 ? unpack_bytes(argv[2], buffer) : find_lines(argv[2]);
    s = lab_cpu_s() - begin_s;
    hps_out("%.3f s, %.0f MB/s\n", s, bytes / s / 1e6);
    hps_mem_free(buffer);
    return hps_end(hps_out_flush());
}
