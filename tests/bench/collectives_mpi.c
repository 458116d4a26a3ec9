// SPDX-License-Identifier: Apache-2.0
// The all-reduce of an MPI library with the sizes of bench_collectives, for comparison. Not part of the build:
//   mpicc -O2 tests/bench/collectives_mpi.c -o /tmp/collectives_mpi && mpirun -n 4 /tmp/collectives_mpi [megabytes=64]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int byValue(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const long most = (argc > 1 ? atol(argv[1]) : 64) << 20;
    if (rank == 0) printf("%10s %5s  %9s\n", "bytes", "ranks", "MPI [us]");
    for (long bytes = 1024; bytes <= most; bytes *= 16) {
        long repeats = (256L << 20) / (bytes + 1);
        repeats = repeats < 7 ? 7 : repeats > 300 ? 300 : repeats;
        float* data = calloc((size_t)bytes / 4, sizeof *data);
        double* times = calloc((size_t)repeats, sizeof *times);
        for (long i = -2; i < repeats; ++i) {
            const double begin = MPI_Wtime();
            MPI_Allreduce(MPI_IN_PLACE, data, (int)(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            if (i >= 0) times[i] = (MPI_Wtime() - begin) * 1e6;
        }
        qsort(times, (size_t)repeats, sizeof *times, byValue);
        if (rank == 0) printf("%10ld %5d  %9.1f\n", bytes, ranks, times[repeats / 2]);
        free(times);
        free(data);
    }
    MPI_Finalize();
    return 0;
}
