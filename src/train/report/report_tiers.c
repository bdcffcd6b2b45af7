/* report_tiers.c - tables of which memory has some rows: what was there, what moved. */
#include "train/report/report_impl.h"

void hps_report_put_tiers(json_t *j, const struct hps_report_input *f)
{
    json_t *list = json_array();

    for (int t = 0; f->traffic.tier && t < f->setup.net->ntable; t++) {
        const struct hps_tier_count *c = &f->traffic.tier[t];
        if (c->slots == 0) continue;
        json_t *one = json_object();
        hps_report_put_word(one, "table", f->setup.net->table[t].name);
        hps_report_put_real(one, "rows", c->rows);
        hps_report_put_real(one, "slots", c->slots);
        hps_report_put_real(one, "asked", c->asked);
        hps_report_put_real(one, "hits", c->hits);
        hps_report_put_real(one, "made", c->made);
        hps_report_put_real(one, "read", c->read);
        hps_report_put_real(one, "pages_read", c->pages_read);
        hps_report_put_real(one, "written", c->written);
        hps_report_put_real(one, "bytes", c->bytes);
        hps_report_put_real(one, "waited_s", c->waited_s);
        hps_report_put_real(one, "index_bytes", c->index_bytes);
        hps_report_append(list, one);
    }
    hps_report_put(j, "tiers", list);
}

/* The tables whose rows moved most; NULL: memory has all rows. */
static const json_t *busiest(const json_t *r)
{
    const json_t *list = json_object_get(r, "tiers"), *most = json_array_get(list, 0);

    for (size_t i = 1; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (hps_report_real(one, "bytes") > hps_report_real(most, "bytes")) most = one;
    }
    return most;
}

bool hps_report_has_tiers(const json_t *r)
{
    return busiest(r) != NULL;
}

void hps_report_table_tiers(struct hps_page *t, const json_t *r)
{
    const json_t *one = busiest(r);

    if (!one) return;
    double slots = hps_report_real(one, "slots") / hps_report_real(one, "rows");
    hps_page_add(t, "rows of ");
    hps_page_cut(t, hps_report_word(one, "table"), 20);
    hps_page_add(t, ": %.3g %% in memory; %.3g read, %.3g written, waited %.2g s\n",
                 100 * slots, hps_report_real(one, "read"), hps_report_real(one, "written"),
                 hps_report_real(one, "waited_s"));
}
