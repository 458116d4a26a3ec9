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
    std::uint64_t all = 0;
    for (const DocumentLength& each : lengths) all += static_cast<std::uint64_t>(each.count);
    const RandomStream random(seed, mix64(number) ^ fnvHash("packed documents"));
    std::int64_t left = tokens;
    for (std::uint64_t i = 0; left > 0; ++i) {
        std::int64_t length = left;
        std::uint64_t pick = lengths.size() > 1 ? random.below(i, all) : 0;
        for (const DocumentLength& each : lengths) {
            length = each.tokens;
            if (pick < static_cast<std::uint64_t>(each.count)) break;
            pick -= static_cast<std::uint64_t>(each.count);
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
    constexpr std::int64_t kMostDrawn = 1 << 20, kFewest = 64, kMost = 4096; // documents, sequences
    std::int64_t shortest = tokens;
    for (const DocumentLength& each : lengths) shortest = std::min<std::int64_t>(shortest, each.tokens);
    const std::int64_t documents = std::max<std::int64_t>(1, tokens / std::max<std::int64_t>(1, shortest));
    const std::int64_t sequences = lengths.size() > 1 ? std::clamp(kMostDrawn / documents, kFewest, kMost) : 1;
    std::vector<double> keys;
    keys.reserve(static_cast<std::size_t>(sequences));
    for (std::int64_t i = 0; i < sequences; ++i) {
        double squares = 0;
        visitDocuments(lengths, tokens, seed, static_cast<std::uint64_t>(i), [&](std::int64_t length) {
            squares += static_cast<double>(length) * static_cast<double>(length);
        });
        keys.push_back(squares / static_cast<double>(std::max<std::int64_t>(1, tokens)));
    }
    return keys;
}

double meanAttendedKeys(const std::vector<DocumentLength>& lengths, std::int64_t tokens, std::uint64_t seed)
{
    const std::vector<double> keys = attendedKeys(lengths, tokens, seed);
    return std::accumulate(keys.begin(), keys.end(), 0.0) / static_cast<double>(keys.size());
}

} // namespace fourwalls
