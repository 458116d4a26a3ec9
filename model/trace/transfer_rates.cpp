// SPDX-License-Identifier: Apache-2.0
// See transfer_rates.h.
#include "model/trace/transfer_rates.h"

#include "model/trace/collective_timing.h"

namespace fourwalls {

bool hasRate(const TraceInfo& info, const JoinedOperation& operation)
{
    return operation.payloadBytes && *operation.payloadBytes > 0 && operation.transfer().ns > 0 &&
           collectiveTiming(info, operation.group, operation.operation) == CollectiveTiming::Separated &&
           groupCoverage(info, operation.group).members != std::size_t{1};
}

TransferRates transferRates(const TraceInfo& info, const CommunicationStep& step)
{
    TransferRates rates;
    rates.inStep = static_cast<std::int64_t>(step.operations.size());
    rates.inTrace = step.operationsInTrace;
    std::int64_t alone = 0, requests = 0, together = 0;
    for (const JoinedOperation& operation : step.operations) {
        if (operation.payloadBytes) ++rates.withBytes;
        if (hasRate(info, operation)) ++rates.rated;
        const GroupCoverage coverage = groupCoverage(info, operation.group);
        const CollectiveTiming timing = collectiveTiming(info, operation.group, operation.operation);
        if (coverage.members == std::size_t{1}) {
            ++alone;
        } else if (timing == CollectiveTiming::RequestsOnly) {
            ++requests;
        } else if (timing == CollectiveTiming::WaitAndTransfer) {
            if (++together == 1 || coverage.present < rates.present) {
                rates.present = coverage.present;
                rates.members = coverage.members;
            }
        }
    }
    if (rates.rated > 0) return rates;
    const auto all = rates.inStep;
    if (info.counts.collectives == 0)
        rates.why = NoRates::NoCollectives;
    else if (all == 0)
        rates.why = NoRates::NotInStep;
    else if (alone == all)
        rates.why = NoRates::OneRankGroups;
    else if (requests > 0 && requests + alone == all)
        rates.why = NoRates::RequestsOnly;
    else if (together > 0)
        rates.why = NoRates::SomeRanks;
    else if (rates.withBytes == 0)
        rates.why = NoRates::UnknownBytes;
    else
        rates.why = NoRates::NoTime;
    return rates;
}

} // namespace fourwalls
