/* forms.h - the forms (data/writer.h) of an import's train and test file, for formats that scale
 * all dense features alike; owns what the forms point to. */
#ifndef HPS_DATA_FORMS_H
#define HPS_DATA_FORMS_H

#include "data/intake.h"

struct hps_forms {
    int D, nslot;
    char **name;                        /* (D + nslot) dense features, then slots              */
    char *rule;                         /* of the label; NULL: hps_forms_label was not called  */
    bool classes;
    struct hps_scale *scale[2];         /* (D) of the train and the test file                  */
    struct hps_writer_slot *slot[2];    /* (nslot)                                             */
};

/* Allocate for D dense features and nslot slots, without names. */
void hps_forms_new(struct hps_forms *f, int D, int nslot);
void hps_forms_free(struct hps_forms *f);           /* all zeros is fine */

/* The name of dense feature d, of slot j and what the ids of slot j are (`rule` in words that live
 * as long); the number or classes of a label of this name, as opt->labels says. */
void hps_forms_dense(struct hps_forms *f, int d, const char *name);
void hps_forms_slot(struct hps_forms *f, int j, const char *name, long long buckets, bool multi,
                    const char *rule);
void hps_forms_label(struct hps_forms *f, const char *name, const char *labels);
/* The rule text of ids that are hashes of slot and text, and that by opt->ids. */
extern const char hps_forms_hash[];
const char *hps_forms_ids(const char *ids);

/* Into in->form: the scaling that the options ask for (`preset` where they say auto), its constants
 * from the dataset opt->scaling where there is one (HPS_DECK where that one is another). */
enum hps_status hps_forms_put(struct hps_forms *f, struct hps_intake *in, const char *preset);

#endif
