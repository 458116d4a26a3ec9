// SPDX-License-Identifier: Apache-2.0
// What each kernel or operator takes in two traces, matched by name and shape, from the sums that are stored with a trace.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::compare {

/// One trace's part, per rank and measured step.
struct OperatorTime {
    double count = 0;
    Duration time;
    Duration longest; ///< of a single execution
};

enum class OperatorMatch {
    Shape, ///< same name and same shape
    Name,  ///< same name; its shapes are not the same in both
    Alone  ///< only one of the traces has it
};

struct ComparedOperator {
    std::string name;
    std::string shape; ///< OpInfo::detail; empty where shapes were put together
    SliceKind kind = SliceKind::Kernel;
    OperatorMatch match = OperatorMatch::Shape;
    std::optional<OperatorTime> a, b;

    Duration difference() const ///< b - a, what is absent taken as nothing
    {
        return (b ? b->time : Duration{}) - (a ? a->time : Duration{});
    }
    std::optional<double> percent() const ///< 100 (b - a) / a; absent where a trace lacks it or a is 0
    {
        if (!a || !b || a->time.ns == 0) return std::nullopt;
        return 100.0 * static_cast<double>((b->time - a->time).ns) / static_cast<double>(a->time.ns);
    }
};

/// Work of the devices where a trace has any (kernels, collectives, copies), else its operators. Both traces are asked for
/// the same. By the size of the difference, largest first. Errors: those of the queries; Cancelled.
Result<std::vector<ComparedOperator>> compareOperators(TraceQuery& a, TraceQuery& b, const std::stop_token& stop = {});

} // namespace fourwalls::compare
