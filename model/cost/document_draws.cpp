// SPDX-License-Identifier: Apache-2.0
// See document_draws.h.
#include "model/cost/document_draws.h"

#include "model/base/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fourwalls::cost {

void DocumentDraws::draw(const std::vector<DocumentLength>& lengths, std::int64_t tokens, std::uint64_t seed)
{
    if (lengths == m_lengths && tokens == m_tokens && seed == m_seed) return;
    m_lengths = lengths;
    m_tokens = tokens;
    m_seed = seed;
    m_works.clear();
    m_passes.clear();
    m_attended = 0;
    if (lengths.empty()) return;
    const std::vector<double> keys = attendedKeys(lengths, tokens, seed);
    m_attended = std::accumulate(keys.begin(), keys.end(), 0.0) / static_cast<double>(keys.size());
    m_works.reserve(keys.size());
    for (const double each : keys) m_works.push_back(static_cast<float>(each / m_attended));
}

double DocumentDraws::drawnPasses(const Shape& shape) const
{
    const auto [waiting, meeting, microbatches, stages, chunks, samples] = shape;
    // The spread of a mean of many is that of a mean of fewer, by the root of their numbers.
    constexpr std::int64_t kMostReplicas = 1 << 14, kMostSamples = 64, kMostDrawn = 1 << 20, kFewDrawn = 1 << 18;
    const std::int64_t replicas = std::min<std::int64_t>(waiting, kMostReplicas);
    const std::int64_t each = std::min(samples, kMostSamples);
    const std::int64_t passes = std::clamp<std::int64_t>(kMostDrawn / (replicas * each), 1, microbatches);
    const double narrower = std::sqrt(static_cast<double>(each) / static_cast<double>(samples));
    const double fewer = std::sqrt(static_cast<double>(microbatches) / static_cast<double>(passes));
    const std::int64_t sequences = replicas * each * passes;
    const std::int64_t steps = std::clamp<std::int64_t>(kFewDrawn / sequences, sequences > kFewDrawn ? 1 : 4, 4096);
    const RandomStream random = RandomStream::named(m_seed, "drawn steps");
    std::uint64_t drawn = 0;
    const auto more = [&] { // of a micro-batch than the mean's
        double sum = 0;
        for (std::int64_t i = 0; i < each; ++i) sum += m_works[random.below(drawn++, m_works.size())];
        return (sum / static_cast<double>(each) - 1) * narrower;
    };
    const double behind = static_cast<double>(stages - 1) / chunks;
    std::vector<double> slowest;
    double excess = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
        double longest = -1e300, all = 0;
        for (std::int64_t first = 0; first < replicas; first += meeting) {
            slowest.assign(static_cast<std::size_t>(passes), -1.0);
            const std::int64_t end = std::min(replicas, first + meeting);
            for (std::int64_t replica = first; replica < end; ++replica)
                for (double& pass : slowest) {
                    const double own = more();
                    all += own;
                    pass = std::max(pass, own);
                }
            const double sum = std::accumulate(slowest.begin(), slowest.end(), 0.0);
            longest = std::max(longest, sum * (meeting > 1 ? fewer * fewer : fewer) +
                                            behind * *std::max_element(slowest.begin(), slowest.end()));
        }
        // Against the mean of what was drawn here, which is not quite 0.
        const double mean = all / static_cast<double>(replicas) / static_cast<double>(passes);
        excess += longest - mean * ((meeting > 1 ? fewer * fewer : fewer) * static_cast<double>(passes) + behind);
    }
    return std::max(0.0, excess / static_cast<double>(steps));
}

double DocumentDraws::unevenPasses(const ParallelPlan& plan, std::int64_t samples, const Replicas& replicas)
{
    if (m_works.size() < 2) return 0; // all sequences are the same
    const Shape shape{std::max(1, replicas.waiting),
                      std::clamp(replicas.meeting, 1, std::max(1, replicas.waiting)),
                      plan.microbatches,
                      plan.pp,
                      std::max(1, plan.schedule == PipelineSchedule::ZeroBubbleV ? 2 : plan.vpp),
                      std::max<std::int64_t>(1, samples)};
    const auto found = m_passes.find(shape);
    if (found != m_passes.end()) return found->second;
    return m_passes[shape] = drawnPasses(shape);
}

} // namespace fourwalls::cost
