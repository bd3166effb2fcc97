// std::vector, std::array, range for, std::min, a class with operator().
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>
class Matrix
{
  public:
    Matrix(std::size_t rows, std::size_t columns) : columns_(columns), data_(rows * columns) {}
    double &operator()(std::size_t i, std::size_t j) { return data_[i * columns_ + j]; }
    double at(std::size_t i, std::size_t j) const { return data_[i * columns_ + j]; }
    std::size_t columns() const { return columns_; }

  private:
    std::size_t columns_;
    std::vector<double> data_;
};
// --function containers
void containers(std::vector<double> &v, const std::vector<float> &w, std::array<std::array<double, 4>, 6> &a,
                Matrix &m, int n)
{
    for (auto &x : v) x = 0.0;
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += w[i];
    for (int i = 0; i < 6; i++)
        for (double &x : a[i]) x *= std::sqrt(v[i]);
    Matrix local(n, 8);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < std::min(i, 8); j++) {
            double &here = m(i, j);
            here = local(j, i) + m.at(j, i);
            local(i, j) = here;
        }
}
