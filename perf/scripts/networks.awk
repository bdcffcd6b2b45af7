# networks.awk - a profile of one of the HeterPS paper's networks on a pool like its testbed: CPU
# cores (0.04 USD/h, 480) and GPUs of the V100 class (2.42 USD/h, 32), behind 100 Gbit/s a server.
#   awk -v net=ctrdnn|matchnet|2emb|nce -v flops=F -v bytes=M -v id=S [-v limit=X] -f networks.awk
# flops, bytes, id: what one CPU core does: flop/s in dense layers, byte/s of activations, seconds of
# an id of 10 floats (found, read, its gradient merged and applied).
#
# The GPU's column, a stated roofline: 7.8e12 flop/s (half of fp32 peak), 6.3e11 byte/s (0.7 of
# HBM2), 10 us a kernel, 3 kernels a layer and pass; ids: tables are larger than its memory, so rows
# are found by 4 cores of its host and cross PCIe at 1.2e10 byte/s. Links: a server's 12.5e9 byte/s
# shared by its 48 cores or 8 GPUs. Shapes: Bo = 250 examples, a step is 1000.
function layer(name, kind, width, inputs, weights, ids) {
    L++
    nm[L] = name; kd[L] = kind; wd[L] = width; wt[L] = weights; nid[L] = ids
    at[name] = L
    n = split(inputs, part, " ")
    from[L] = 0
    for (i = 1; i <= n; i++) {
        last[at[part[i]]] = L
        from[L] += wd[at[part[i]]]
    }
}
function embedding(name, slots) { layer(name, "embedding", 10 * slots, "", 0, slots) }
function fc(name, width, input) {
    layer(name, "fc", width, input, (wd[at[input]] + 1) * width, 0)
}
function crossing(l, m, sum) {      # bytes before layer l, with the gradients
    sum = 0
    for (m = 1; m < l; m++)
        if (last[m] >= l) sum += 8 * wd[m]
    return Bo * sum
}
function pair(key, cpu, gpu) { printf "\"%s\": [%.9g, %.9g]", key, cpu, gpu }
function row(l, f, b, cpu, gpu, over, link_c, link_g, s_c, s_g, dense) {
    f = Bo * 6 * (kd[l] == "fc" ? wt[l] : from[l])          # forward, backward: 3 products
    b = Bo * 12 * (from[l] + wd[l])
    link_c = 12.5e9 / 48; link_g = 12.5e9 / 8
    over = 6 * 10e-6
    cpu = f / flops + b / bytes + Bo * nid[l] * id
    gpu = f / 7.8e12 + b / 6.3e11 + Bo * nid[l] * (id / 4 + 80 / 1.2e10)
    dense = 8 * wt[l] * Bo / 1000                           # reduced once a step
    s_c = dense / link_c + Bo * nid[l] * 96 / link_c        # ids: 8 bytes, rows both ways
    s_g = dense / link_g + Bo * nid[l] * 96 / link_g
    printf "%s{\"name\": \"%s\", \"type\": \"%s\", ", (l == 1 ? "" : ",") "\n  ", nm[l], kd[l]
    printf "\"input_bytes\": %d, \"weight_bytes\": %.10g, ", 4 * from[l],
        4 * (nid[l] ? 1000001 * 10 : wt[l])
    pair("oct", cpu, gpu + over); printf ", "
    pair("alpha", 0.98, gpu / (gpu + over)); printf ", "
    pair("sync", s_c, s_g); printf ", "
    pair("beta", (nid[l] > 0), (nid[l] > 0)); printf ", "
    pair("recv", crossing(l) / link_c, crossing(l) / link_g); printf ", "
    pair("send", crossing(l + 1) / link_c, crossing(l + 1) / link_g)
    printf "}"
}
BEGIN {
    Bo = 250
    if (net == "ctrdnn") {
        embedding("ids", 26); layer("nums", "dense_input", 13, "", 0, 0)
        layer("both", "concat", 273, "ids nums", 0, 0)
        fc("h1", 400, "both"); fc("h2", 400, "h1"); fc("h3", 400, "h2"); fc("out", 1, "h3")
        layer("loss", "logistic", 1, "out", 0, 0)
    } else if (net == "matchnet") {
        embedding("user", 12); fc("u1", 400, "user"); fc("u2", 400, "u1"); fc("u3", 50, "u2")
        embedding("item", 14); layer("nums", "dense_input", 13, "", 0, 0)
        layer("both", "concat", 153, "item nums", 0, 0)
        fc("i1", 400, "both"); fc("i2", 400, "i1"); fc("i3", 50, "i2")
        layer("near", "cosine", 1, "u3 i3", 0, 0); layer("loss", "hinge", 1, "near", 0, 0)
    } else if (net == "2emb") {
        embedding("big", 26); layer("nums", "dense_input", 13, "", 0, 0)
        layer("both", "concat", 273, "big nums", 0, 0)
        fc("h1", 400, "both"); fc("h2", 400, "h1"); fc("h3", 50, "h2")
        embedding("small", 5); fc("s1", 128, "small")
        layer("all", "concat", 178, "h3 s1", 0, 0); fc("out", 2, "all")
        layer("loss", "cross_entropy", 1, "out", 0, 0)
    } else if (net == "nce") {
        layer("ids", "embedding", 10, "", 0, 25); fc("h1", 64, "ids"); fc("h2", 10, "h1")
        layer("loss", "nce", 1, "h2", 0, 17)
    } else {
        print "networks.awk: net is ctrdnn, matchnet, 2emb or nce" >"/dev/stderr"
        exit 1
    }
    print "{\"format\": \"heterps-profile-1\", \"batch\": 250, \"examples\": 1e9, \"epochs\": 1,"
    print " \"throughput_limit\": " (limit == "" ? "\"max\"" : limit) ","
    print " \"types\": [{\"name\": \"cpu\", \"price_usd_hour\": 0.04, \"limit\": 480},"
    print "  {\"name\": \"gpu\", \"kind\": \"gpu\", \"price_usd_hour\": 2.42, \"limit\": 32}],"
    printf " \"layers\": ["
    for (l = 1; l <= L; l++) row(l)
    print "]}"
}
