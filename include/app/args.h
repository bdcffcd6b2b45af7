/* args.h - parses the command line of a verb by a table: --name VALUE, --name=VALUE, flags; then
 * operands. */
#ifndef HPS_APP_ARGS_H
#define HPS_APP_ARGS_H

#include <stdbool.h>

#include "base/status.h"

/* One option: exactly one of text, flag and list is set. Texts are borrowed from argv. */
struct hps_arg {
    const char *name;          /* without the dashes; NULL ends the table          */
    const char **text;         /* takes a value; the last one given counts          */
    bool *flag;                /* takes none                                        */
    struct hps_arg_list *list; /* takes a value, may be given often                  */
};

struct hps_arg_list {
    int n;
    char **item; /* (n) freed by hps_args_done                         */
};

/* Parse argv[1..]; operands are gathered in *operand. "--" ends the options; "-" is an operand.
 * Unknown option (the nearest is named), missing or superfluous value, fewer operands than `min`
 * or more than `max` (-1: any): HPS_USAGE with a message. Pure but for messages. */
enum hps_status hps_args_parse(int argc, char **argv, const struct hps_arg *table, int min,
                               int max, struct hps_arg_list *operand);
void hps_args_done(struct hps_arg_list *list);

/* The option `--json FILE`: write the text to the file, or to standard output for "-", and free
 * it. Rank 0 acts. HPS_OUTPUT. Local. */
enum hps_status hps_args_json(const char *path, char *text);

#endif
