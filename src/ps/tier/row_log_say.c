/* row_log_say.c - what a row log says when the disk fails, or is slow. */
#include "base/clock.h"
#include "base/file.h"
#include "base/say.h"
#include "ps/tier/row_log_impl.h"

/* A wait that is this long is said, once. */
static const double patience_s = 10, once_s = 1e9;

struct hps_log_patience hps_log_patience(void)
{
    double now_s = hps_steady_s();

    return (struct hps_log_patience){ now_s + patience_s, now_s };
}

void hps_log_patience_out(struct hps_log_patience *p, const struct hps_log_file *f,
                          const char *doing)
{
    HPS_SAY_ALL(HPS_WARN, "%s: waiting for the disk for %.0f s: %s the row log in %s", f->what,
                hps_steady_s() - p->began_s, doing, f->directory);
    p->until_s += once_s;
}

enum hps_status hps_log_file_failed(const struct hps_log_file *f, const char *doing, size_t bytes,
                                    uint64_t at, int error)
{
    if (bytes == 0)
        HPS_SAY_ALL(HPS_ERROR, "%s: cannot %s the row log in %s: %s", f->what, doing, f->directory,
                    hps_file_why(error));
    else
        HPS_SAY_ALL(HPS_ERROR, "%s: cannot %s %zu bytes at %llu of the row log in %s: %s", f->what,
                    doing, bytes, (unsigned long long)at, f->directory, hps_file_why(error));
    return HPS_OUTPUT;
}

enum hps_status hps_log_file_bad_page(const struct hps_log_file *f, uint64_t at, int row)
{
    HPS_SAY_ALL(HPS_ERROR, "%s: the page of row %d, %zu bytes at %llu of the row log in %s, is not "
                "what was written", f->what, row, f->page.bytes, (unsigned long long)at,
                f->directory);
    return HPS_DECK;
}
