// Of each row of 64 the 8 largest, equal ones by place, and their softmax in float64: a thread for each row. Outputs are
// the weights, then the places.

struct Chosen {
    int place[8];
    double weight[8];

    __device__ Chosen(const float* row)
    {
        unsigned long long taken = 0;
        double sum = 0.0;
        for (int j = 0; j < 8; ++j) {
            int best = -1;
            for (int c = 0; c < 64; ++c)
                if (!(taken >> c & 1) && (best < 0 || row[c] > row[best]))
                    best = c;
            taken |= 1ull << best;
            place[j] = best;
            weight[j] = exp((double)row[best] - (double)row[place[0]]);
            sum += weight[j];
        }
        for (int j = 0; j < 8; ++j)
            weight[j] /= sum;
    }
};

extern "C" __global__ void check_topk(const float* logits, const float* weights, const int* experts, long long rows,
                                      double relative, double absolute, Findings* findings)
{
    long long row = blockIdx.x * 256ll + threadIdx.x;
    if (row >= rows)
        return;
    Chosen chosen(logits + row * 64);
    Tally tally;
    for (int j = 0; j < 8; ++j) {
        long long at = row * 8 + j;
        tally.judge(weights[at], chosen.weight[j], absolute + relative * chosen.weight[j], at);
        tally.judge(experts[at], chosen.place[j], 0.0, rows * 8 + at);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_topk(const float* logits, long long rows, const Findings* findings,
                                        Explanation* explanation)
{
    long long index = findings->first, at = index % (rows * 8);
    Chosen chosen(logits + at / 8 * 64);
    *explanation = {(double)index, index < rows * 8 ? chosen.weight[at % 8] : chosen.place[at % 8]};
}
