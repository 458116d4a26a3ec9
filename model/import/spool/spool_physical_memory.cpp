// SPDX-License-Identifier: Apache-2.0
// The calls replayed in the order of their times.
#include "model/import/spool/spool_physical_memory.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_map>

namespace fourwalls::importers {

bool PhysicalMemory::add(const collect::VirtualMemory& operation)
{
    const auto at = spoolTime(operation.time);
    if (!at || *at == 0 || operation.size > kMostMemoryBytes) return false;
    m_operations.push_back(operation);
    return true;
}

void PhysicalMemory::finish(std::vector<SpoolMemory>& memory)
{
    using enum collect::VirtualMemoryOperation;
    struct Piece {
        SpoolMemory given; ///< as it will be given back
        std::int64_t mappings = 0;
        bool released = false, back = false;
    };
    struct Mapping {
        std::size_t piece;
        std::uint64_t bytes;
    };
    std::vector<Piece> pieces;
    std::unordered_map<std::uint64_t, std::size_t> byHandle; // the newest of that handle
    std::map<std::uint64_t, Mapping> byAddress;
    std::unordered_map<std::uint64_t, std::uint64_t> uses; // of a handle
    std::stable_sort(m_operations.begin(), m_operations.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
    const auto giveBack = [&](Piece& piece, const collect::VirtualMemory& by) {
        if (piece.back || !piece.released || piece.mappings > 0) return;
        piece.back = true;
        piece.given.time = *spoolTime(by.time);
        piece.given.correlation = by.correlation;
        memory.push_back(piece.given);
    };
    const auto unmap = [&](std::map<std::uint64_t, Mapping>::iterator mapping, const collect::VirtualMemory& by) {
        Piece& piece = pieces[mapping->second.piece];
        --piece.mappings;
        giveBack(piece, by);
        return byAddress.erase(mapping);
    };
    for (const collect::VirtualMemory& each : m_operations) {
        switch (static_cast<collect::VirtualMemoryOperation>(each.operation)) {
        case Create: {
            if (each.device < 0) break;
            // The driver may give a handle again while its former memory is still mapped.
            const std::uint64_t use = uses[each.handle]++;
            SpoolMemory obtained{*spoolTime(each.time),
                                 each.handle + (use << 52),
                                 static_cast<std::int64_t>(each.size),
                                 static_cast<std::uint32_t>(each.device),
                                 each.correlation,
                                 true,
                                 true,
                                 false};
            memory.push_back(obtained);
            obtained.allocates = false;
            byHandle[each.handle] = pieces.size();
            pieces.push_back({obtained, 0, false, false});
            break;
        }
        case Release:
            if (const auto found = byHandle.find(each.handle); found != byHandle.end()) {
                pieces[found->second].released = true;
                giveBack(pieces[found->second], each);
            }
            break;
        case Map:
            if (const auto found = byHandle.find(each.handle); found != byHandle.end()) {
                if (const auto old = byAddress.find(each.address); old != byAddress.end()) unmap(old, each);
                byAddress.emplace(each.address, Mapping{found->second, each.size});
                ++pieces[found->second].mappings;
            }
            break;
        case Unmap: {
            // A range may cover several mappings.
            const std::uint64_t end = each.address + std::max<std::uint64_t>(1, each.size);
            for (auto mapping = byAddress.lower_bound(each.address);
                 mapping != byAddress.end() && mapping->first < end;)
                mapping = unmap(mapping, each);
            break;
        }
        }
    }
    m_operations = {};
}

} // namespace fourwalls::importers
