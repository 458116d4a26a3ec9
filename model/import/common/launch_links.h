// SPDX-License-Identifier: Apache-2.0
// Who launched what: correlation ids to API calls, API calls to the operators around them. The ids that files carry
// from kernels to operators are not used: in many PyTorch versions they come from another counter and hit the wrong
// operator. The innermost operator on the launching thread that covers the call's start is right in all of them.
#pragma once

#include "model/base/paged_array.h"
#include "model/base/sorted_rows.h"
#include "model/spec/device_datasheet.h"
#include "model/trace/vocabulary.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// What an operator tells about the work that it launches.
struct OperatorContext {
    Phase phase = Phase::None;                 ///< None: says nothing, what is around it counts
    bool named = false;                        ///< the phase is what a program called a range of its own
    bool autogradNode = false;                 ///< the backward pass runs on this thread
    double flops = 0;                          ///< of the operator's one execution
    bool flopsLater = false;                   ///< they come by setFlops()
    int products = 1;                          ///< kernels that share them: the backward of a convolution has two
    Arithmetic operands = Arithmetic::Unknown; ///< the type of its inputs
    int collective = -1;                       ///< the caller's own index of collective metadata

    /// The phase that an operator's or a range's name stands for, if it does.
    void tellPhase(std::string_view name);
};

/// An API call.
struct Launch {
    std::int64_t correlation = 0;
    std::int64_t at = 0; ///< its start [ns]
    std::int32_t lane = 0;
    std::int32_t flopsOperator = -1; ///< index of the operator that carries FLOPs
    std::int32_t collective = -1;
    Phase phase = Phase::None;
    bool outside = false; ///< of everything with a phase
};

class LaunchLinks {
public:
    LaunchLinks() : LaunchLinks(std::string()) {}
    /// folder: where what does not fit into memory goes (a few ten MB do); empty: the system's for temporary files.
    explicit LaunchLinks(const std::string& folder);

    void addLaunch(std::int64_t correlation, int lane, std::int64_t at);
    /// Returns the place of the operator's FLOPs for setFlops(), -1 if it has none.
    std::int32_t addOperator(int lane, std::int64_t begin, std::int64_t end, const OperatorContext& context);
    /// The work of that call is a copy that its caller has nothing to wait for; see waitsForNothing().
    void addFreeCopy(std::int64_t correlation);
    bool isFreeCopy(std::optional<std::int64_t> correlation) const;
    /// What was not known when the operator was added, of one product.
    void setFlops(std::int32_t flopsOperator, double flops)
    {
        m_flops[static_cast<std::size_t>(flopsOperator)].flops = flops;
    }

    /// Links launches to operators; call once, when all have been added. otherwise: the phase of launches outside
    /// of every operator with a phase, on threads that do not run the backward pass, too: where forward and backward are
    /// interleaved on one thread, what no node of the backward pass launched may be either, or a weight's gradient that was
    /// put off. Errors: Io if a temporary file cannot be written.
    Status resolve(Phase otherwise);

    /// The call with that correlation id, if there is one. Of several, the earliest.
    std::optional<Launch> find(std::optional<std::int64_t> correlation) const;

    /// The FLOPs of an operator, given out to as many matrix kernels that it launched as it has products.
    double takeFlops(std::int32_t flopsOperator);
    /// Whether it has FLOPs, given out or not.
    bool hasFlops(std::int32_t flopsOperator) const
    {
        return flopsOperator >= 0 && m_flops[static_cast<std::size_t>(flopsOperator)].flops > 0;
    }
    /// What that operator's inputs are.
    Arithmetic operandsOf(std::int32_t flopsOperator) const;
    /// Operators whose FLOPs nobody took.
    std::int64_t flopsLeft() const;

private:
    struct Operator {
        std::int64_t begin, end;
        std::int32_t lane;
        std::int32_t flops; ///< index into m_flops, or -1
        std::int32_t collective;
        Phase phase;
        bool node;  ///< of autograd, or inside one
        bool named; ///< as OperatorContext::named
    };
    struct ByLane {
        bool operator()(const Launch& a, const Launch& b) const;
        bool operator()(const Operator& a, const Operator& b) const;
    };
    struct ByCorrelation {
        bool operator()(const Launch& a, const Launch& b) const;
    };
    /// Behind a pointer, because rows point to their store.
    struct Tables {
        explicit Tables(const std::string& folder);
        ChunkStore chunks;
        SortedRows<Launch, ByLane> launches;    ///< until resolve()
        SortedRows<Operator, ByLane> operators; ///< until resolve()
        PagedArray<Launch> linked;              ///< by correlation
    };
    std::unique_ptr<Tables> m_tables;
    bool m_hasNodes = false;                 ///< of autograd
    std::set<int> m_backwardLanes;           ///< those on which such nodes launch work
    std::vector<std::int64_t> m_freeCopies;  ///< correlations; sorted by resolve()
    std::vector<std::int64_t> m_firstOfPage; ///< of m_tables->linked: the page's first correlation
    struct Products {
        double flops = 0; ///< of one product
        std::uint8_t count = 1, left = 1;
        Arithmetic operands = Arithmetic::Unknown;
    };
    std::vector<Products> m_flops;
};

} // namespace fourwalls::importers
