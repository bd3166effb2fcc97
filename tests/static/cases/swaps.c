/* Pointers that change places in every iteration. */
struct field {
    double *now, *next;
};
static double one[40], two[40], flat[9][7], turned[9][7];
void swaps(int steps, int n)
{
    double *from = one, *to = two, *t;
    for (int k = 0; k < steps; k++) {
        for (int i = 1; i < n - 1; i++) to[i] = from[i - 1] + from[i] + from[i + 1];
        t = from;
        from = to;
        to = t;
    }
    double(*a)[7] = flat, (*b)[7] = turned;
    int left = steps;
    while (left > 0) {
        for (int i = 0; i < 9; i++)
            for (int j = 0; j < 7; j++) a[i][j] = b[8 - i][j] * left;
        double(*other)[7] = a;
        left--;
        a = b;
        b = other;
    }
    struct field f = {one + 2, two};
    for (int k = steps; k > 1; k--) {
        double *row = f.next;
        row[k] = f.now[k];
        double *first = f.now;
        f.now = f.next, f.next = first;
    }
}
