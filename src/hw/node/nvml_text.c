/* nvml_text.c - unknown facts are omitted in the text, and null in JSON. */
#include "hw/nvml_text.h"

#include "base/mem.h"
#include "base/page.h"
#include "base/quit.h"

/* The separator before a part of the text. */
static const char *comma(const struct hps_page *p)
{
    return p->at ? ", " : "";
}

char *hps_nvml_text(const struct hps_nvml_facts *f)
{
    struct hps_page p = { 0 };

    if (f->driver[0]) hps_page_add(&p, "driver %s", f->driver);
    if (f->sm_mhz > 0) hps_page_add(&p, "%sSMs to %d MHz", comma(&p), f->sm_mhz);
    if (f->memory_mhz > 0) hps_page_add(&p, "%smemory to %d MHz", comma(&p), f->memory_mhz);
    if (f->pcie_generation > 0 && f->pcie_width > 0)
        hps_page_add(&p, "%sPCIe %d x%d", comma(&p), f->pcie_generation, f->pcie_width);
    if (f->power_limit_w > 0) hps_page_add(&p, "%sat most %.4g W", comma(&p), f->power_limit_w);
    if (f->ecc) hps_page_add(&p, "%sECC %s", comma(&p), f->ecc == HPS_NVML_ECC_ON ? "on" : "off");
    return p.at;
}

static json_t *whole(int n)
{
    return n > 0 ? json_integer(n) : NULL;
}

/* NULL: unknown. */
static void put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value ? value : json_null()) != 0)
        HPS_DIE("no memory for a GPU's %s", key);
}

void hps_nvml_put(json_t *object, const struct hps_nvml_facts *f)
{
    put(object, "gpu_driver", f->driver[0] ? json_string(f->driver) : NULL);
    put(object, "gpu_sm_mhz", whole(f->sm_mhz));
    put(object, "gpu_memory_mhz", whole(f->memory_mhz));
    put(object, "gpu_pcie_generation", whole(f->pcie_generation));
    put(object, "gpu_pcie_width", whole(f->pcie_width));
    put(object, "gpu_power_limit_w", f->power_limit_w > 0 ? json_real(f->power_limit_w) : NULL);
    put(object, "gpu_ecc", f->ecc ? json_boolean(f->ecc == HPS_NVML_ECC_ON) : NULL);
}
