// SPDX-License-Identifier: Apache-2.0
// Which calls of the CUDA APIs are worth a record: not the queries that frameworks make thousands of times a step.
#pragma once

#include "profiler/collect/module/cupti_library.h"
#include "profiler/collect/spool_format.h"

#include <cstddef>
#include <cstdint>

namespace fourwalls::collect::module {

/// True for functions that only ask something of the host side: cudaGetDevice, cudaPeekAtLastError, ….
bool isQuery(const char* function);

class ApiFilter {
public:
    static constexpr std::size_t kMostFunctions = 2048;

    /// Looks all functions up by name.
    void learn(const CuptiLibrary& cupti);
    /// Tells CUPTI not to record the unwanted ones, where it can be told. To be called whenever the kinds of calls have
    /// been switched on: that overrides what was said about single functions.
    void apply(const CuptiLibrary& cupti) const;
    bool wanted(ApiDomain domain, std::uint32_t function) const
    {
        return function >= kMostFunctions || !m_unwanted[domain == ApiDomain::Runtime ? 1 : 0][function];
    }

private:
    bool m_unwanted[2][kMostFunctions] = {};
};

} // namespace fourwalls::collect::module
