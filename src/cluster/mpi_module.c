/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_module.c - see mpi_module.h. */
#include "cluster/mpi_module.h"

#include "base/error.h"
#include "base/parts.h"

#include <limits.h>
#include <stdlib.h>

typedef struct known_mpi {
    const char *name, *file;
    const char *signs[3]; /* variables that its processes find in their environment */
    const char *package;
} known_mpi;

static const known_mpi known[] = {
    {"Open MPI", "fathom-openmpi.so", {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"}, "libopenmpi-dev"},
    {"MPICH", "fathom-mpich.so", {"PMI_SIZE", "PMI_RANK"}, "libmpich-dev"},
};
enum { KNOWN = sizeof known / sizeof *known };

/* The one that started this process; NULL: none did. */
static const known_mpi *mpi_announced(void)
{
    for (size_t i = 0; i < KNOWN; i++)
        for (size_t s = 0; s < 3 && known[i].signs[s]; s++)
            if (getenv(known[i].signs[s])) return &known[i];
    return NULL;
}

static fm_status mpi_missing(const known_mpi *mpi, fm_error *error)
{
    if (!mpi)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                       "this fathom was built without MPI: install one (Debian package libopenmpi-dev or "
                       "libmpich-dev) and build fathom again");
    return fm_fail(
        error, FM_E_UNSUPPORTED, NULL,
        "this fathom has no module for %s, which started it: install its headers (Debian package %s) "
        "and build fathom again",
        mpi->name, mpi->package);
}

static fm_status mpi_load(const char *path, fm_transport **transport, fm_error *error)
{
    /* Global: parts that Open MPI loads by itself look for its symbols. */
    const fm_mpi_module *module = fm_part_load(path, FM_MPI_SYMBOL, FM_MPI_INTERFACE, true, error);
    if (!module) return FM_E_UNSUPPORTED;
    fm_status status = module->open(transport);
    if (status != FM_OK) return fm_fail(error, status, path, "MPI cannot be started");
    return FM_OK;
}

fm_status fm_mpi_join(fm_transport **transport, fm_error *error)
{
    char path[PATH_MAX];
    const known_mpi *started = mpi_announced();
    *transport = NULL;
    for (size_t i = 0; i < KNOWN; i++)
        if ((!started || started == &known[i]) && fm_part_find(NULL, known[i].file, path, sizeof path))
            return mpi_load(path, transport, error);
    return mpi_missing(started, error);
}
