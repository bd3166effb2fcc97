/* Containers that change their contents in every iteration. */
#include <utility>
#include <vector>
void swapped(int steps, int n, std::vector<double> &from, std::vector<double> &to)
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++) to[i] = from[i - 1] + from[i + 1];
        std::swap(from, to);
    }
}
