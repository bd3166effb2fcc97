// SPDX-License-Identifier: Apache-2.0
// Means of five neighbours in the plane: a template of a function, called twice.
template <typename Plane> static void sweep(int n, const Plane &from, Plane &to)
{
    for (int i = 1; i < n - 1; ++i)
        for (int j = 1; j < n - 1; ++j)
            to(i, j) = 0.2 * (from(i, j) + from(i, j - 1) + from(i, j + 1) + from(i + 1, j) + from(i - 1, j));
}
struct Plane {
    double *data;
    int columns;
    double &operator()(int i, int j)
    {
        return data[i * columns + j];
    }
    double operator()(int i, int j) const
    {
        return data[i * columns + j];
    }
};
void kernel_jacobi_2d(int tsteps, int n, double *a, double *b)
{
    Plane A = {a, n}, B{b, n};
    for (int t = 0; t < tsteps; ++t) {
        sweep(n, A, B);
        sweep(n, B, A);
    }
}
