// SPDX-License-Identifier: Apache-2.0
#include "model/base/thread_priority.h"

#ifdef __linux__
#include <sys/resource.h>
#endif

namespace fourwalls {

void giveWay()
{
#ifdef __linux__
    constexpr int kNice = 10;
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, kNice)); // of the thread, on Linux
#endif
}

} // namespace fourwalls
