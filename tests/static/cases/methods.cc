/* A method as the region: --function Grid::step. Its object is what a pointer from outside points to. */
#include <vector>
class Grid {
    int nx_, ny_;
    double dt_;
    std::vector<double> u_, v_;
    double w_[32];
    int idx(int i, int j) const { return i * ny_ + j; }
    double &at(int i, int j) { return u_[idx(i, j)]; }

  public:
    void step(int times);
};
void Grid::step(int times)
{
    for (int t = 0; t < times; t++)
        for (int i = 1; i < nx_ - 1; i++)
            for (int j = 1; j < this->ny_ - 1; j++) {
                w_[j] = dt_ + at(i - 1, j);
                v_[idx(i, j)] = this->at(i + 1, j) + 1;
            }
}
