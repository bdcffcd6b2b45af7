/* dev_verbs.h - the operations of a backend as its files define them, in the order of its table.
 * Read once by each backend's own header, which says how it names them: HPS_DEV_VERB(verb). The
 * meaning of each is in dev.h. */
void HPS_DEV_VERB(fc_forward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                              const float *w, const float *b, struct hps_tensor y, float *pre);
void HPS_DEV_VERB(fc_backward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                               const float *w, struct hps_tensor y, const float *pre,
                               struct hps_tensor dy, struct hps_tensor dx, bool add, float *dw,
                               float *db);
double HPS_DEV_VERB(gemm_s)(struct hps_dev *dev, int m, int n, int k, int repeat);

void HPS_DEV_VERB(copy)(struct hps_dev *dev, int B, int width, const float *x, size_t ldx,
                        float *y, size_t ldy, bool add);
void HPS_DEV_VERB(scale)(struct hps_dev *dev, int B, float by, struct hps_tensor x,
                         struct hps_tensor y);
void HPS_DEV_VERB(dropout)(struct hps_dev *dev, int B, int width, float p, uint64_t key,
                           const long long *example, const float *x, size_t ldx, float *y,
                           size_t ldy, bool add);
void HPS_DEV_VERB(logistic)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                            float weight, float *score, double *loss_sum, struct hps_tensor dx,
                            bool add);
void HPS_DEV_VERB(cross_entropy)(struct hps_dev *dev, int B, struct hps_tensor x,
                                 const float *label, float weight, float *score, double *loss_sum,
                                 struct hps_tensor dx);
void HPS_DEV_VERB(squared)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                           float weight, float *score, double *loss_sum, struct hps_tensor dx);
void HPS_DEV_VERB(hinge)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                         float margin, float weight, float *score, double *loss_sum,
                         struct hps_tensor dx);
void HPS_DEV_VERB(unit)(struct hps_dev *dev, int B, struct hps_tensor x, float *y, float *norm);
void HPS_DEV_VERB(unit_back)(struct hps_dev *dev, int B, int width, float *y, float *norm,
                             float *dy);
void HPS_DEV_VERB(pairs)(struct hps_dev *dev, const struct hps_pairs *pairs, float weight,
                         float *score, double *loss_sum, float *du, float *dall);
void HPS_DEV_VERB(nce)(struct hps_dev *dev, int B, struct hps_tensor x, int K, float *e,
                       float weight, float *score, double *loss_sum, float *dx);
void HPS_DEV_VERB(norm2)(struct hps_dev *dev, size_t n, const float *x, double *sum);

void HPS_DEV_VERB(act_forward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                               struct hps_tensor y);
void HPS_DEV_VERB(act_backward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                                struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx,
                                bool add);
void HPS_DEV_VERB(gate_forward)(struct hps_dev *dev, int B, struct hps_tensor a,
                                struct hps_tensor b, struct hps_tensor x, struct hps_tensor y);
void HPS_DEV_VERB(gate_backward)(struct hps_dev *dev, int B, struct hps_tensor a,
                                 struct hps_tensor b, struct hps_tensor dy, struct hps_tensor da,
                                 bool add);
void HPS_DEV_VERB(cosine_forward)(struct hps_dev *dev, int B, struct hps_tensor a,
                                  struct hps_tensor b, struct hps_tensor y, float *keep);
void HPS_DEV_VERB(cosine_backward)(struct hps_dev *dev, int B, struct hps_tensor a,
                                   struct hps_tensor b, struct hps_tensor y, float *keep,
                                   struct hps_tensor dy, struct hps_tensor da, bool add_a,
                                   struct hps_tensor db, bool add_b);
void HPS_DEV_VERB(softmax_forward)(struct hps_dev *dev, int B, struct hps_tensor x,
                                   struct hps_tensor y);
void HPS_DEV_VERB(softmax_backward)(struct hps_dev *dev, int B, struct hps_tensor y,
                                    struct hps_tensor dy, struct hps_tensor dx, bool add);
void HPS_DEV_VERB(row_norm_forward)(struct hps_dev *dev, int B, struct hps_tensor x,
                                    const float *gain, const float *shift, float eps,
                                    struct hps_tensor y, float *keep);
void HPS_DEV_VERB(row_norm_backward)(struct hps_dev *dev, int B, struct hps_tensor x,
                                     const float *gain, float *keep, struct hps_tensor dy,
                                     struct hps_tensor dx, bool add, float *dgain, float *dshift);
void HPS_DEV_VERB(moments)(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor z,
                           double *sums);
void HPS_DEV_VERB(norm_forward)(struct hps_dev *dev, const struct hps_norm *norm,
                                const double *sums, float *running, float *p);
void HPS_DEV_VERB(norm_gradients)(struct hps_dev *dev, const struct hps_norm *norm, double *sums,
                                  float *dgain, float *dshift);
void HPS_DEV_VERB(norm_backward)(struct hps_dev *dev, const struct hps_norm *norm,
                                 const double *sums, float *p, float *r, float *q);
void HPS_DEV_VERB(blend)(struct hps_dev *dev, int B, const float *p, struct hps_tensor x,
                         const float *m, const float *r, const float *q, struct hps_tensor z,
                         struct hps_tensor y, bool add);
void HPS_DEV_VERB(reduce)(struct hps_dev *dev, int k, size_t n, const float *part, float *to);
void HPS_DEV_VERB(reduce_doubles)(struct hps_dev *dev, int k, size_t n, const double *part,
                                double *to);
void HPS_DEV_VERB(dots_forward)(struct hps_dev *dev, int B, int dim, bool self, int nx,
                                const struct hps_tensor *x, struct hps_tensor y);
void HPS_DEV_VERB(dots_backward)(struct hps_dev *dev, int B, int dim, bool self, int nx,
                                 const struct hps_tensor *x, struct hps_tensor dy,
                                 const struct hps_tensor *dx, const bool *add);
void HPS_DEV_VERB(fm_forward)(struct hps_dev *dev, int B, int dim, int nx,
                              const struct hps_tensor *x, struct hps_tensor y, float *sums);
void HPS_DEV_VERB(fm_backward)(struct hps_dev *dev, int B, int dim, int nx,
                               const struct hps_tensor *x, float *sums, struct hps_tensor dy,
                               const struct hps_tensor *dx, const bool *add);
void HPS_DEV_VERB(attend_forward)(struct hps_dev *dev, const struct hps_attend *net,
                                  const struct hps_bag *bag, const float *param,
                                  const float *rows, struct hps_tensor c, struct hps_tensor y);
void HPS_DEV_VERB(attend_backward)(struct hps_dev *dev, const struct hps_attend *net,
                                   const struct hps_bag *bag, const float *param,
                                   const float *rows, struct hps_tensor c, struct hps_tensor dy,
                                   float *grad, struct hps_tensor dc, bool add, float *rows_grad,
                                   size_t nrow);

void HPS_DEV_VERB(bag_forward)(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                               enum hps_pool_kind pool, enum hps_combine combine,
                               const float *rows, struct hps_tensor y);
void HPS_DEV_VERB(bag_backward)(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                                enum hps_pool_kind pool, enum hps_combine combine,
                                struct hps_tensor dy, float *rows_grad, size_t nrow, bool add);

void HPS_DEV_VERB(update)(struct hps_dev *dev, const struct hps_rule *rule, size_t n,
                          float *param, float *grad, float *state);
void HPS_DEV_VERB(rows_apply)(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                              size_t stride, int dim, size_t n, const int *at,
                              const struct hps_row_sums *grad);
void HPS_DEV_VERB(rows_gather)(struct hps_dev *dev, const float *table, size_t stride, int dim,
                               size_t n, const int *at, float *out);
void HPS_DEV_VERB(rows_move)(struct hps_dev *dev, size_t stride, size_t n, const int *from_at,
                             const float *from, const int *to_at, float *to);
void HPS_DEV_VERB(rows_sum)(struct hps_dev *dev, int dim, size_t n,
                            const struct hps_row_sums *sums, float *to);
