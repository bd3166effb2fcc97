/* Extents and pointers in a struct; an array of structs; arrays in structs. */
struct grid {
    int n, m;
    double *u, *v;
    double scale;
};
struct particle {
    double x, y, z;
    int kind;
};
struct cell {
    double f[9];
};
static struct particle p[60];
static struct cell cells[20][30];
void members(struct grid *g)
{
    for (int i = 0; i < g->n; i++)
        for (int j = 0; j < g->m; j++) g->u[i * g->m + j] = g->v[i * g->m + j] * g->scale;
    for (int i = 0; i < 60; i++) {
        p[i].x += p[i].y * p[i].z;
        p[i].kind++;
    }
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 30; j++)
            for (int k = 1; k < 9; k++) cells[i][j].f[k] = cells[i][j].f[k - 1];
}
