// SPDX-License-Identifier: Apache-2.0
// A program on a GPU without Python: 1000 kernels, then status 3. check_on_gpu.sh bundle makes it.
#include <cstdio>

__global__ void addOne(float* x)
{
    x[threadIdx.x] += 1;
}

int main()
{
    float* x = nullptr;
    cudaMalloc(&x, 4096);
    for (int i = 0; i < 1000; ++i) addOne<<<1, 256>>>(x);
    std::puts(cudaGetErrorString(cudaDeviceSynchronize()));
    return 3;
}
