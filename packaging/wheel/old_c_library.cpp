// SPDX-License-Identifier: Apache-2.0
// What the libraries inside the server package ask of the C library and only a newer one than the package's has.
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <sys/random.h>

/// Random bytes, for libarchive's names of temporaries and keys. Of C library 2.36; there is no program without them.
extern "C" __attribute__((visibility("hidden"))) void arc4random_buf(void* bytes, std::size_t count) noexcept
{
    auto* next = static_cast<unsigned char*>(bytes);
    while (count > 0) {
        const ssize_t got = getrandom(next, count, 0);
        if (got < 0 && errno != EINTR) std::abort();
        if (got <= 0) continue;
        next += got;
        count -= static_cast<std::size_t>(got);
    }
}
