/* row_log_page.c - the form of a page, and its checksum. */
#include <string.h>

#include "base/crc.h"
#include "base/mem.h"
#include "ps/tier/row_log_impl.h"

/* The checksum is of all behind it. */
struct head {
    uint32_t crc, rows;
    uint64_t run, sequence;
};

struct hps_log_page hps_log_page_of(size_t row_bytes, uint64_t run)
{
    const size_t each = row_bytes + sizeof(int32_t);
    size_t least = sizeof(struct head) + each;
    size_t bytes = (least + HPS_MEM_PAGE - 1) / HPS_MEM_PAGE * HPS_MEM_PAGE;

    return (struct hps_log_page){ .bytes = bytes, .row_bytes = row_bytes, .run = run,
                                  .rows = (int)((bytes - sizeof(struct head)) / each) };
}

void hps_log_page_put(const struct hps_log_page *form, unsigned char *page, int slot, int row,
                      const unsigned char *data)
{
    const int32_t number = row;

    memcpy(page + sizeof(struct head) + (size_t)slot * sizeof number, &number, sizeof number);
    memcpy(page + (hps_log_page_data(form, page, slot) - page), data, form->row_bytes);
}

int hps_log_page_row(const unsigned char *page, int slot)
{
    int32_t number;

    memcpy(&number, page + sizeof(struct head) + (size_t)slot * sizeof number, sizeof number);
    return number;
}

const unsigned char *hps_log_page_data(const struct hps_log_page *form, const unsigned char *page,
                                       int slot)
{
    return page + sizeof(struct head) + (size_t)form->rows * sizeof(int32_t) +
           (size_t)slot * form->row_bytes;
}

static uint32_t checksum(const struct hps_log_page *form, const unsigned char *page)
{
    return hps_crc(page + sizeof(uint32_t), form->bytes - sizeof(uint32_t));
}

void hps_log_page_seal(const struct hps_log_page *form, unsigned char *page, uint64_t sequence)
{
    struct head head = { 0, (uint32_t)form->rows, form->run, sequence };

    memcpy(page, &head, sizeof head);
    head.crc = checksum(form, page);
    memcpy(page, &head, sizeof head);
}

bool hps_log_page_good(const struct hps_log_page *form, const unsigned char *page,
                       uint64_t sequence)
{
    struct head head;

    memcpy(&head, page, sizeof head);
    return head.rows == (uint32_t)form->rows && head.run == form->run &&
           head.sequence == sequence && head.crc == checksum(form, page);
}
