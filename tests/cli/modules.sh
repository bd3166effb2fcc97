# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Modules (CUDA, MPI) that are not there, are no shared objects, or are of another version of fathom.
fathom gen cyclic --keys 10 --references 100 -o trace.u64 --quiet
unset OMPI_COMM_WORLD_SIZE PMIX_RANK PMI_SIZE PMI_RANK
mkdir parts
export FATHOM_PARTS=parts
both() {
    try 'fathom analyze --engine gpu trace.u64 2>&1 | sed "s/loaded: .*/loaded: …/"'
    try 'fathom analyze --mpi trace.u64 2>&1 | sed "s/loaded: .*/loaded: …/"'
}
both
echo nothing | tee parts/fathom-cuda.so >parts/fathom-openmpi.so
both
# Without the symbol, and with the number of another interface.
echo 'int nothing;' | cc -shared -x c - -o parts/fathom-cuda.so
cp parts/fathom-cuda.so parts/fathom-openmpi.so
both
echo 'unsigned fathom_gpu_module = 999, fm_mpi = 999;' | cc -shared -x c - -o parts/fathom-cuda.so
cp parts/fathom-cuda.so parts/fathom-openmpi.so
both
