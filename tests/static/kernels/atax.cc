// SPDX-License-Identifier: Apache-2.0
// y = A' (A x): vectors, a reference to an element, at().
#include <vector>
void kernel_atax(int m, int n, const std::vector<double> &A, const std::vector<double> &x,
                 std::vector<double> &y, std::vector<double> &tmp)
{
    for (auto i = 0; i < n; ++i) y[i] = 0.0;
    for (auto i = 0; i != m; ++i) {
        double &sum = tmp[i];
        sum = 0.0;
        for (int j = 0; j < n; ++j) sum = sum + A[i * n + j] * x.at(j);
        for (int j = 0; j < n; ++j) y[j] = y[j] + A[i * n + j] * sum;
    }
}
