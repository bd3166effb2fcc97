// SPDX-License-Identifier: Apache-2.0
// x1 = x1 + A y1, x2 = x2 + A' y2: a struct with a reference, member functions that call each other.
#include <cstddef>
#include <vector>
struct Square {
    std::vector<double> &elements;
    int n;
    double at(int row, int column) const
    {
        return elements[static_cast<std::size_t>(row) * n + column];
    }
    double transposed(int row, int column) const
    {
        return at(column, row);
    }
};
void kernel_mvt(int n, std::vector<double> &x1, std::vector<double> &x2, const std::vector<double> &y1,
                const std::vector<double> &y2, std::vector<double> &a)
{
    const Square A{a, n};
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) x1[i] = x1[i] + A.at(i, j) * y1[j];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) x2[i] = x2[i] + A.transposed(i, j) * y2[j];
}
