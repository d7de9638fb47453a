// O = softmax(Q · Kᵀ / √d) · V of each head in float64, by a secret random projection: with a vector v of random signs,
// a row of O times v must be the row's shares times (V · v), as check_matmul.cu explains.
//
// So the second product costs nothing, and a thread needs three numbers for each row: the largest score of its keys, the
// sum of its shares, and their sum with V · v. The file in front of this one says what the elements are.

constexpr int ROWS = 8;     // query rows of a block, which share what it loads of K
constexpr int WIDEST = 128; // the largest head

// The backend draws `bits` from {0, 1}.
__device__ double sign(double bit) { return 2.0 * bit - 1.0; }

// How many keys a row sees: with `causal` those up to row + n_k - n_q.
__device__ long long keys_of(long long row, long long n_q, long long n_k, long long causal)
{
    return causal ? max(min(n_k, row + n_k - n_q + 1), 0ll) : n_k;
}

// w = V · v: a thread for each key of each head.
extern "C" __global__ void project_values(const Element* V, const double* bits, double* w, long long heads, long long n_k,
                                          long long d)
{
    long long key = blockIdx.x * 256ll + threadIdx.x;
    if (key >= heads * n_k)
        return;
    double sum = 0.0;
    for (long long c = 0; c < d; ++c)
        sum += number(V[key * d + c]) * sign(bits[c]);
    w[key] = sum;
}

// The shares' sums of 8 rows: one block for each 8 rows of a head. `first` is the first bad row of all heads.
extern "C" __global__ void __launch_bounds__(256)
    check_attention(const Element* Q, const Element* K, const Element* O, const double* bits, const double* w, long long n_q,
                    long long n_k, long long d, long long causal, double relative, double absolute, Findings* findings)
{
    __shared__ double q[ROWS][WIDEST];
    long long groups = (n_q + ROWS - 1) / ROWS, head = blockIdx.x / groups, first = blockIdx.x % groups * ROWS;
    for (int i = threadIdx.x; i < ROWS * d; i += 256) {
        long long row = first + i / d;
        q[i / d][i % d] = row < n_q ? number(Q[(head * n_q + row) * d + i % d]) / sqrt((double)d) : 0.0;
    }
    __syncthreads();  // q is read by all

    double largest[ROWS], sum[ROWS], product[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        largest[r] = -INFINITE;
        sum[r] = product[r] = 0.0;
    }
    for (long long key = threadIdx.x; key < n_k; key += 256) {
        double score[ROWS] = {};
        for (long long c = 0; c < d; ++c) {
            double k = number(K[(head * n_k + key) * d + c]);
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                score[r] += q[r][c] * k;
        }
        double value = w[head * n_k + key];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (key >= keys_of(first + r, n_q, n_k, causal))
                continue;
            // One exponential: of the old sums' factor where this score is the largest so far, else of its own share.
            double above = score[r] - largest[r], less = exp(-fabs(above));
            double old = above > 0.0 ? less : 1.0, share = above > 0.0 ? 1.0 : less;
            largest[r] = fmax(largest[r], score[r]);
            sum[r] = sum[r] * old + share;
            product[r] = product[r] * old + share * value;
        }
    }

    // Indexed by a loop that is not unrolled, so in local memory; the loop above keeps its own in registers.
    double thread_largest[ROWS], thread_sum[ROWS], thread_product[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        thread_largest[r] = largest[r];
        thread_sum[r] = sum[r];
        thread_product[r] = product[r];
    }

    Tally tally;
#pragma unroll 1
    for (int r = 0; r < ROWS; ++r) {
        double top = block_max(thread_largest[r]);
        double factor = thread_largest[r] > -INFINITE ? exp(thread_largest[r] - top) : 0.0;
        double shares = block_sum(thread_sum[r] * factor), products = block_sum(thread_product[r] * factor);
        double got = 0.0, squares = 0.0;
        if (threadIdx.x < d && first + r < n_q) {
            double o = number(O[(head * n_q + first + r) * d + threadIdx.x]);
            double allowed = absolute + relative * fabs(o);
            got = o * sign(bits[threadIdx.x]);
            squares = allowed * allowed;
        }
        got = block_sum(got);
        squares = block_sum(squares);
        if (threadIdx.x == 0 && first + r < n_q)
            tally.judge(got, shares > 0.0 ? products / shares : 0.0, 4.0 * sqrt(squares), head * n_q + first + r);
    }
    tally.merge(findings);
}

__device__ double score_of(const Element* q, const Element* k, long long d)
{
    double sum = 0.0;
    for (long long c = 0; c < d; ++c)
        sum += number(q[c]) * number(k[c]);
    return sum / sqrt((double)d);
}

// The first element of the first bad row that is outside its tolerance. A row may be bad as a whole without one, by
// many small errors: then its first element is shown.
extern "C" __global__ void explain_attention(const Element* Q, const Element* K, const Element* V, const Element* O,
                                             long long n_q, long long n_k, long long d, long long causal, double relative,
                                             double absolute, const Findings* findings, Explanation* explanation)
{
    long long row = findings->first, head = row / n_q, keys = keys_of(row % n_q, n_q, n_k, causal);
    const Element *q = Q + row * d, *k = K + head * n_k * d, *v = V + head * n_k * d;
    double top = -INFINITE, shares = 0.0;
    for (long long key = threadIdx.x; key < keys; key += 256)
        top = fmax(top, score_of(q, k + key * d, d));
    top = block_max(top);
    for (long long key = threadIdx.x; key < keys; key += 256)
        shares += exp(score_of(q, k + key * d, d) - top);
    shares = block_sum(shares);

    for (long long c = 0, shown = -1; c < d; ++c) {
        double sum = 0.0;
        for (long long key = threadIdx.x; key < keys; key += 256)
            sum += exp(score_of(q, k + key * d, d) - top) * number(v[key * d + c]);
        double expected = block_sum(sum) / (keys ? shares : 1.0);
        bool bad = !within(number(O[row * d + c]), expected, absolute + relative * fabs(expected));
        if (threadIdx.x == 0 && (c == 0 || (bad && shown < 0))) {
            *explanation = {(double)(row * d + c), expected};
            shown = bad ? c : -1;
        }
    }
}
