// SPDX-License-Identifier: Apache-2.0
// C = alpha A A' + beta C, the lower triangle: std::min in bounds, arrays in a struct.
#include <algorithm>
struct Problem {
    int n, m;
    double *A, *C;
};
void kernel_syrk(int n, int m, double alpha, double beta, double *C, double *A)
{
    Problem p{n, m, A, C};
    for (int i = 0; i < p.n; ++i) {
        const int end = std::min(i + 1, p.n);
        for (int j = 0; j < end; ++j) p.C[i * p.n + j] *= beta;
        for (int k = 0; k < p.m; ++k)
            for (int j = 0; j < std::min(i + 1, p.n); ++j)
                p.C[i * p.n + j] += alpha * p.A[i * p.m + k] * p.A[j * p.m + k];
    }
}
