/* Remainders, shifts, quotients and masks in subscripts; switches of sign. */
static double A[200], B[200], C[16];
void whole(int n)
{
    for (int i = 0; i < n; i++) {
        A[i / 2] += B[(i + 3) % 10];
        A[i >> 1] = C[i & 15];
        A[(i << 1) + 1] = B[n - 1 - i];
        B[-(-i)] = C[(unsigned)i % 7u];
    }
}
