// SPDX-License-Identifier: Apache-2.0
// See packed_documents.h.
#include "model/spec/packed_documents.h"

#include "model/base/random.h"

#include <algorithm>
#include <numeric>

namespace fourwalls {

namespace {

/// Calls document(tokens) for each of a sequence.
template <class Take>
void visitDocuments(const std::vector<DocumentLength>& lengths, std::int64_t tokens, std::uint64_t seed,
                    std::uint64_t number, Take document)
{
    std::vector<std::uint64_t> upTo; // counts of the lengths so far
    for (const DocumentLength& each : lengths)
        upTo.push_back((upTo.empty() ? 0 : upTo.back()) + static_cast<std::uint64_t>(each.count));
    const RandomStream random(seed, mix64(number) ^ fnvHash("packed documents"));
    std::int64_t left = tokens;
    for (std::uint64_t i = 0; left > 0; ++i) {
        std::int64_t length = left;
        if (!lengths.empty()) {
            const std::uint64_t pick = lengths.size() > 1 ? random.below(i, upTo.back()) : 0;
            const auto found = std::upper_bound(upTo.begin(), upTo.end(), pick);
            length = lengths[static_cast<std::size_t>(found - upTo.begin())].tokens;
        }
        length = std::min(length, left);
        document(length);
        left -= length;
    }
}

} // namespace

std::vector<std::int64_t> packedDocuments(const std::vector<DocumentLength>& lengths, std::int64_t tokens,
                                          std::uint64_t seed, std::uint64_t number)
{
    std::vector<std::int64_t> documents;
    visitDocuments(lengths, tokens, seed, number, [&](std::int64_t length) { documents.push_back(length); });
    return documents;
}

std::vector<double> attendedKeys(const std::vector<DocumentLength>& lengths, std::int64_t tokens, std::uint64_t seed)
{
    constexpr double kMostDrawn = 1 << 18, kFewest = 64, kMost = 4096; // documents, sequences
    if (lengths.empty() || tokens < 1) return {static_cast<double>(tokens)};
    double all = 0, sum = 0, ofSquares = 0;
    int shortest = lengths.front().tokens;
    for (const DocumentLength& each : lengths) {
        const double count = each.count, length = std::min<double>(each.tokens, static_cast<double>(tokens));
        all += count;
        sum += count * length;
        ofSquares += count * length * length;
        shortest = std::min(shortest, each.tokens);
    }
    // What resolve refuses may still come with a trace.
    if (shortest < 1 || tokens / shortest > kMostDocuments || !(sum > 0)) return {sum > 0 ? ofSquares / sum : 1};
    const double documents = std::max(1.0, static_cast<double>(tokens) * all / sum);
    const auto sequences =
        lengths.size() > 1 ? static_cast<std::int64_t>(std::clamp(kMostDrawn / documents, kFewest, kMost)) : 1;
    std::vector<double> keys;
    keys.reserve(static_cast<std::size_t>(sequences));
    for (std::int64_t i = 0; i < sequences; ++i) {
        double squares = 0;
        visitDocuments(lengths, tokens, seed, static_cast<std::uint64_t>(i), [&](std::int64_t length) {
            squares += static_cast<double>(length) * static_cast<double>(length);
        });
        keys.push_back(squares / static_cast<double>(tokens));
    }
    return keys;
}

double meanAttendedKeys(const std::vector<DocumentLength>& lengths, std::int64_t tokens, std::uint64_t seed)
{
    const std::vector<double> keys = attendedKeys(lengths, tokens, seed);
    return std::accumulate(keys.begin(), keys.end(), 0.0) / static_cast<double>(keys.size());
}

} // namespace fourwalls
