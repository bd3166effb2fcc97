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
struct body {
    double at[3], mass;
    float colour[3];
    struct {
        short first, second;
    } tags[2];
    char name[5];
};
static struct particle p[60];
static struct body bodies[7];
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
    for (int i = 0; i < 7; i++) { /* numbers of several sizes */
        for (int k = 0; k < 3; k++) {
            bodies[i].at[k] += bodies[i].colour[k] * bodies[i].mass;
            bodies[i].colour[2 - k] = 0;
        }
        for (int k = 0; k < 2; k++) bodies[i].tags[k].second = bodies[i].tags[1 - k].first;
        bodies[i].name[i % 5] = bodies[6 - i].name[1];
    }
}
