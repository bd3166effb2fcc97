/* SPDX-License-Identifier: Apache-2.0 */
/* A module for Python: total(N, ROUNDS) makes N stores of 8 bytes, and N * ROUNDS loads. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static double numbers[1 << 16] __attribute__((aligned(64)));

static PyObject *total(PyObject *module, PyObject *arguments)
{
    (void)module;
    long count, rounds;
    if (!PyArg_ParseTuple(arguments, "ll", &count, &rounds)) return NULL;
    volatile double *at = numbers;
    for (long i = 0; i < count; i++) at[i] = (double)i;
    double sum = 0;
    for (long k = 0; k < rounds; k++)
        for (long i = 0; i < count; i++) sum += at[i];
    return PyFloat_FromDouble(sum);
}

static PyMethodDef functions[] = {{"total", total, METH_VARARGS, "sum"}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_extension(void);
PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
