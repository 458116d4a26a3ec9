// SPDX-License-Identifier: Apache-2.0
// What workers and parameter servers agree on: who is who, how parameters are cut over servers, and what they say to
// each other. The workers are the plan's data-parallel ranks; the servers are the ranks behind them.
#pragma once

#include "model/spec/parallel_plan.h"
#include "profiler/engine/nn/parameter.h"

#include <cstdint>
#include <vector>

namespace fourwalls::engine {

/// All ranks of a run: the plan's and its servers.
int ranksOf(const ParallelPlan& plan);
/// A plan whose ranks are all of these, to set up their world with; only its world group means anything.
ParallelPlan worldOf(const ParallelPlan& plan);
bool isServer(const ParallelPlan& plan, RankId rank);

/// A worker's messages begin with a header of I32: {kind, then rows per table (PullRows, PushRows)}. What follows:
/// - PullWeights: nothing. Answer: the server's share of the weights, then its version {version} of F64.
/// - PullRows: the numbers of the rows, table by table. Answer: the rows.
/// - PushRows: the gradients of the rows of the PullRows before it.
/// - PushGradients: {loss, sum of squares of all of the worker's gradients, version pulled} of F64, then the gradients
///   of the server's share. Answer, after the update: {mean loss, norm before clipping, staleness, version} of F64.
/// - Done: nothing, no answer.
enum class ServerMessage : std::int32_t { PullWeights, PullRows, PushRows, PushGradients, Done };

/// All parameters of a network one behind the other, cut into equal shares, one per server.
struct ServerLayout {
    struct Entry {
        Parameter* parameter = nullptr;
        std::int64_t first = 0; ///< element
    };
    /// A stretch of one parameter within a share.
    struct Stretch {
        Parameter* parameter = nullptr;
        std::int64_t first = 0; ///< element of the parameter
        std::int64_t place = 0; ///< element of the share
        std::int64_t count = 0;
    };

    ServerLayout(const ParameterList& parameters, int servers);

    std::vector<Entry> entries;
    std::int64_t elements = 0; ///< padded: a multiple of the number of servers
    std::int64_t share = 0;    ///< elements per server

    std::vector<Stretch> stretchesOf(int server) const;
};

/// Elements [first, first + count) of a tensor, as one row of them.
Tensor stretch(const Tensor& tensor, std::int64_t first, std::int64_t count);

} // namespace fourwalls::engine
