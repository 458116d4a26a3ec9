// SPDX-License-Identifier: Apache-2.0
// Names of the program's threads as the operating system knows them (pthread_setname_np, prctl): PyTorch names its
// threads there and nowhere else, and "pt_autograd_0" is what tells the backward pass.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fourwalls::collect::module {

/// The thread has a name that the program gave through NVTX: that one stays.
void keepThreadName(std::uint32_t thread);

/// Looks for new and changed names. Of the sampler's thread alone.
class ThreadNames {
public:
    /// Makes a Thread definition of each name that is new since the last call and not the process's own.
    void look();

private:
    struct Seen {
        std::uint32_t thread;
        char name[16]; ///< as the kernel keeps it: 15 characters and a zero
    };
    bool isNew(std::uint32_t thread, const char* name);

    static constexpr std::size_t kMost = 4096; ///< threads whose names are told; later ones stay numbers
    Seen m_seen[kMost] = {};
    std::size_t m_count = 0;
};

} // namespace fourwalls::collect::module
