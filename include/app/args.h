/* args.h - the options of a verb, through one table: --name VALUE, --name=VALUE, flags; then
 * operands. */
#ifndef HPS_APP_ARGS_H
#define HPS_APP_ARGS_H

#include <stdbool.h>

#include "base/status.h"

/* One option: exactly one of the three places is given. Texts are borrowed from argv. */
struct hps_arg {
    const char *name;          /* without the dashes; NULL ends the table          */
    const char **text;         /* takes a value; the last one given counts          */
    bool *flag;                /* takes none                                        */
    struct hps_arg_list *list; /* takes a value, may be given often                  */
};

struct hps_arg_list {
    int n;
    char **item; /* memory of the parser's caller: hps_args_done       */
};

/* Parse argv[1..]; operands are gathered in *operand. "--" ends the options; "-" is an operand.
 * Unknown option (the nearest is named), missing or superfluous value, fewer operands than `least`
 * or more than `most` (-1: any): HPS_USAGE with a message. Pure but for messages. */
enum hps_status hps_args_parse(int argc, char **argv, const struct hps_arg *table, int least,
                               int most, struct hps_arg_list *operand);
void hps_args_done(struct hps_arg_list *list);

/* What `--json FILE` asks for: the text to the file, or for "-" to standard output; frees the text.
 * Rank 0 acts. HPS_OUTPUT. Local. */
enum hps_status hps_args_json(const char *path, char *text);

#endif
