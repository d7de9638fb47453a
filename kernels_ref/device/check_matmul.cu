// C = A · B by a secret random projection (Freivalds): with a vector v of random signs, C·v must be A·(B·v).
//
// That takes 2(mn + nk + mk) operations instead of 2mnk. An error in one element of a row changes that row's product by
// the whole error, whatever v is; errors that cancel for one v do not for the next, and v is drawn after the launch.
// If every element is within its tolerance t, the row's products differ by at most Σ ±t, which stays below
// 4 · √(Σ t²) with a probability of 1 - 2·exp(-8) even if each error were as large as its tolerance (Hoeffding).
//
// A is row-major, shape (m, k), and so is C, shape (m, n). The file joined in front of this one, matmul_half.cuh and its
// like, says what the elements are (Element, Output), how one becomes a double (number) and where B keeps its
// elements (place_in_b: row by row or column by column). Sums of float64 are exact for integers up to 2^53.

// The backend draws `bits` from {0, 1}.
__device__ double sign(double bit) { return 2.0 * bit - 1.0; }

// w = B·v: one block a row of B, shape (k, n).
extern "C" __global__ void project(const Element* B, const double* bits, double* w, long long n, long long k)
{
    double sum = 0.0;
    for (long long j = threadIdx.x; j < n; j += 256)
        sum += number(B[place_in_b(blockIdx.x, j, n, k)]) * sign(bits[j]);
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        w[blockIdx.x] = sum;
}

// A·w against C·v: one block a row of A and of C. `first` is the first bad row.
extern "C" __global__ void check_projection(const Element* A, const Output* C, const double* bits, const double* w, long long n,
                                            long long k, double relative, double absolute, Findings* findings)
{
    double expected = 0.0, got = 0.0, squares = 0.0;
    for (long long l = threadIdx.x; l < k; l += 256)
        expected += number(A[blockIdx.x * k + l]) * w[l];
    for (long long j = threadIdx.x; j < n; j += 256) {
        double c = C[blockIdx.x * n + j];
        double allowed = absolute + relative * fabs(c);
        got += c * sign(bits[j]);
        squares += allowed * allowed;
    }
    expected = block_sum(expected);
    got = block_sum(got);
    squares = block_sum(squares);
    if (threadIdx.x != 0)
        return;
    Tally tally;
    tally.judge(got, expected, 4.0 * sqrt(squares), blockIdx.x);
    tally.merge(findings);
}

__device__ double element(const Element* A, const Element* B, long long row, long long col, long long n, long long k)
{
    double sum = 0.0;
    for (long long l = 0; l < k; ++l)
        sum += number(A[row * k + l]) * number(B[place_in_b(l, col, n, k)]);
    return sum;
}

// The first element of the first bad row that is outside its tolerance. A row may be bad as a whole without one, by
// many small errors: then its first element is shown.
extern "C" __global__ void explain_projection(const Element* A, const Element* B, const Output* C, long long n, long long k,
                                              double relative, double absolute, const Findings* findings,
                                              Explanation* explanation)
{
    long long row = findings->first;
    double nearest = (double)n;
    for (long long col = threadIdx.x; col < n; col += 256) {
        double expected = element(A, B, row, col, n, k);
        if (!within(C[row * n + col], expected, absolute + relative * fabs(expected)))
            nearest = fmin(nearest, (double)col);
    }
    nearest = -block_max(-nearest);
    long long col = nearest < n ? (long long)nearest : 0;
    if (threadIdx.x == 0)
        *explanation = {(double)(row * n + col), element(A, B, row, col, n, k)};
}
