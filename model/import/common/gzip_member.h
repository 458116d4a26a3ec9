// SPDX-License-Identifier: Apache-2.0
// Unpacking of gzip, piece by piece, by the library of this processor.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace fourwalls::importers {

/// One member of a gzip file. By ISA-L, which is three times as fast as zlib on x86-64, and by zlib on ARM, where ISA-L's
/// inflate refuses some sound files for their checksum (intel/isa-l issue 316, open in 2025) and is no faster.
class GzipMember {
public:
    enum class Outcome { More, Ended, Damaged, ChecksumWrong };

    GzipMember();
    ~GzipMember();

    /// The next bytes begin a member.
    void restart();
    /// Unpacks from `in` to `out`; both become what is left of them. More: one of them ran out.
    Outcome unpack(std::span<char>& in, std::span<char>& out);

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace fourwalls::importers
