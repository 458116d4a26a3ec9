/* SPDX-License-Identifier: Apache-2.0
 * An NVML whose GPU answers a few times and then no more, as one that has fallen off the bus: the recorder must neither
 * wait for it at the end nor disturb the job. Under the library's name, in a folder of its own. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static atomic_int answers = 5;

static int answer(void)
{
    if (atomic_fetch_sub(&answers, 1) > 0) return 0;
    while (1) pause();
}

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device)
{
    *device = (void*)uuid;
    return strncmp(uuid, "GPU-", 4) != 0;
}

int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* megahertz)
{
    (void)device;
    (void)clock;
    *megahertz = 1000;
    return answer();
}
