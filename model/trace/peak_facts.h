// SPDX-License-Identifier: Apache-2.0
// What the FLOPs of a trace may be compared with: the peak of its device in the arithmetic that ran, and why there may be
// none.
#pragma once

#include "model/spec/device_datasheet.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// Why a trace has no MFU. None: it has one.
enum class NoMfu : std::uint8_t {
    None = 0,
    NoStep,            ///< no measured step with time in it
    NoFlops,           ///< no operator says how much it computes
    NotLinked,         ///< operators say how much they compute, but not which kernels did it
    FewFlops,          ///< FLOPs are known for too little of the time in matrix products
    NoDevice,          ///< nothing ran on a device, whatever one the file names
    UnknownDevice,     ///< no data sheet of that name, or the trace does not name the device
    DifferentDevices,  ///< ranks on devices with different peaks
    UnknownArithmetic, ///< the kernels' names do not say what they multiply
    NoRate,            ///< the data sheet has no rate for that arithmetic
    AboveRoof,         ///< kernels are faster than the peak: it is not the peak of what ran
};
/// "no FLOPs", …: stable words for files and scripts.
std::string_view name(NoMfu reason);

/// A kernel that is faster than the roof it should stand under.
struct RoofBreach {
    std::string op;
    double times = 0; ///< its rate over its roof
    double share = 0; ///< of the compute time, of all such kernels together
};

/// Kernels may be this much faster than their roof: clocks rise above those of data sheets.
inline constexpr double kRoofTolerance = 1.1;
/// Kernels above their roof are tolerated up to this share of the compute time.
inline constexpr double kToleratedBreach = 0.01;
/// MFU needs the FLOPs of this share of the time in matrix products.
inline constexpr double kLeastFlopsKnown = 0.9;

struct PeakFacts {
    std::optional<double> peak;                  ///< of one device in `arithmetic`, dense [FLOP/s]
    Arithmetic arithmetic = Arithmetic::Unknown; ///< that most of the known FLOPs ran in
    std::string device;                          ///< "NVIDIA H100 80GB HBM3"; empty: unknown, or different ones
    std::string source;                          ///< "datasheet", "matrix-product sweep", …; empty without a peak
    std::optional<DeviceDatasheet> sheet;        ///< of imported traces; each kernel has the roof of its own arithmetic
    NoMfu absent = NoMfu::None;                  ///< as far as peak and operators tell
    std::optional<double> flopsKnown;  ///< share of the compute time in operators with known FLOPs; absent: no compute
    std::optional<double> matrixKnown; ///< of the time in matrix products alone; absent: there are none
    double nothingKnown = 0;           ///< share of the compute time with neither FLOPs nor bytes
    std::optional<RoofBreach> breach;  ///< the kernels above their roof; op: the one that takes most time
    bool limited = false;              ///< the trace has more operators than were looked at

    /// What one device could do of this operator [FLOP/s]; absent: unknown.
    std::optional<double> roofOf(const OpInfo& op) const;
    /// "tf32, NVIDIA H100 80GB HBM3, datasheet"; empty without a peak.
    std::string peakWords() const;
};

/// summaries, ops: totals per operator and what they are, in equal order. infos: null entries are passed over.
PeakFacts peakFacts(const TraceInfo& info, const std::vector<OpSummary>& summaries,
                    const std::vector<std::shared_ptr<const OpInfo>>& ops);
/// Cost: the stored operator totals. Errors: those of the queries.
Result<PeakFacts> peakFacts(TraceQuery& trace);

/// Whether the trace names a device, or requests to one, and has nothing that it did: an operator's time is that of
/// launching it, and no rate can be told.
bool hasLaunchesOnly(const TraceQuery& trace);

/// What the device of one rank could do of an operator [FLOP/s], in the operator's own arithmetic; absent: unknown.
std::optional<double> roofOf(const TraceInfo& info, RankId rank, const OpInfo& op);

/// Whether nothing in an imported trace ran on an accelerator: Python between operators is then no idle device.
bool isHostOnly(const TraceQuery& trace);

} // namespace fourwalls
