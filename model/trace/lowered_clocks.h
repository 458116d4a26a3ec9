// SPDX-License-Identifier: Apache-2.0
// Whether a device ran below its clock because of power or temperature, from the samples in a trace.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// Names of the counters: of the clock [Hz], and of the reasons for which it is lowered, as bits.
inline constexpr std::string_view kClockCounter = "sm_clock", kClockReasonsCounter = "throttle_reasons";

/// Those of NVML's reasons that cost time: power, temperature, hardware; not that the device has nothing to do (nvml.h,
/// nvmlClocksEventReasons).
std::uint64_t costlyClockReasons(std::uint64_t reasons);
/// "power cap, temperature (software)"; empty: none that costs time.
std::string clockReasonsText(std::uint64_t reasons);

struct LoweredClocks {
    double share = 0;                ///< of the sampled time, mean over the sampled ranks
    double gain = 0;                 ///< of that time: what the highest sampled clock instead would save at most
    double clock = 0, fullClock = 0; ///< mean while it is lowered, and the highest of all samples [Hz]
    std::uint64_t reasons = 0;       ///< all that came
    std::int64_t samples = 0;        ///< of all ranks
    std::vector<RankId> ranks;       ///< with lowered clocks
    std::optional<RankId> most;      ///< the one with most of it, and its longest stretch
    TimeRange longest;
};

/// Over the whole trace, as samples are rarer than steps. Absent: no reasons or no clocks were sampled, or none was lowered.
/// A sample holds until the next one of its rank, the last one counts nothing. Errors: those of the queries.
Result<std::optional<LoweredClocks>> loweredClocks(TraceQuery& trace);

} // namespace fourwalls
