#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the analysis of one trace gets faster with ranks of an MPI job: wall time of `fathom analyze` on one core against
`mpirun -np P fathom analyze --mpi`, the same trace, all of it in the page cache; results are compared byte by byte.

    bench/bench_cluster.py [--ranks 1,2,4,8,16] [--threads N] [--bound BLOCKS] [--engine exact,parda] [--repeat N] [--fathom FATHOM]
                           [--mpirun "mpirun.openmpi --oversubscribe"] TRACE

Make a trace with `fathom gen zipf --keys 1M --references 1G -o trace.u64`. Prints Markdown."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser()
parser.add_argument("--ranks", default="1,2,4,8,16")
parser.add_argument("--threads", default="1")
parser.add_argument("--bound")
parser.add_argument("--engine", default="exact")
parser.add_argument("--repeat", type=int, default=1)
parser.add_argument("--fathom", default=os.path.join(here, "../build/fathom"))
parser.add_argument("--mpirun", default="mpirun.openmpi --oversubscribe --bind-to none")
parser.add_argument("trace")
arguments = parser.parse_args()
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
bound = ["--bound", arguments.bound] if arguments.bound else []


def timed(command, result):
    best = None
    for _ in range(arguments.repeat):
        begin = time.monotonic()
        done = subprocess.run([*command, "-q", "--json", result, "--force"], stdout=subprocess.DEVNULL, env=environment)
        seconds = time.monotonic() - begin
        if done.returncode != 0:
            sys.exit(f"bench_cluster.py: {' '.join(command)}: exit code {done.returncode}")
        best = seconds if best is None else min(best, seconds)
    return best


def contents(name):
    with open(name, "rb") as file:
        return file.read().replace(b'"parda"', b'"exact"')


with tempfile.TemporaryDirectory() as work:
    one, many = os.path.join(work, "one.json"), os.path.join(work, "many.json")
    subprocess.run(["cat", arguments.trace], stdout=subprocess.DEVNULL, check=True)
    alone = timed([arguments.fathom, "analyze", "--threads", "1", *bound, arguments.trace], one)
    print(f"| engine | ranks | seconds | times one core{', bound ' + arguments.bound if arguments.bound else ''} |\n"
          f"|---|---:|---:|---:|\n| exact, no MPI | - | {alone:.2f} | 1 |", flush=True)
    for engine in arguments.engine.split(","):
        for ranks in arguments.ranks.split(","):
            seconds = timed([*arguments.mpirun.split(), "-np", ranks, arguments.fathom, "analyze", "--mpi", "--engine", engine,
                             "--threads", arguments.threads, *bound, arguments.trace], many)
            if contents(one) != contents(many):
                sys.exit(f"bench_cluster.py: {ranks} ranks found something else than one process")
            print(f"| {engine} | {ranks} | {seconds:.2f} | {alone / seconds:.2f} |", flush=True)
