// SPDX-License-Identifier: Apache-2.0
// C = alpha A B + beta C: vectors, and a view of them with operator().
#include <cstddef>
#include <vector>
template <typename T> class View
{
  public:
    View(std::vector<T> &data, std::size_t columns) : data_(data), columns_(columns)
    {
    }
    T &operator()(std::size_t row, std::size_t column)
    {
        return data_[row * columns_ + column];
    }

  private:
    std::vector<T> &data_;
    std::size_t columns_;
};
void kernel_gemm(int ni, int nj, int nk, double alpha, double beta, std::vector<double> &c,
                 std::vector<double> &a, std::vector<double> &b)
{
    View<double> C(c, nj), A(a, nk), B(b, nj);
    for (int i = 0; i < ni; ++i) {
        for (int j = 0; j < nj; ++j) C(i, j) *= beta;
        for (int k = 0; k < nk; ++k)
            for (int j = 0; j < nj; ++j) C(i, j) += alpha * A(i, k) * B(k, j);
    }
}
