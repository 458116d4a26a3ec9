// SPDX-License-Identifier: Apache-2.0
// Every cause is a function over the facts of a case: it adds a finding, or says why it cannot know, or does nothing. Those
// that explain others are asked first.
#pragma once

#include "model/base/result.h"
#include "model/diagnose/case_facts.h"

namespace fourwalls::diagnose {

// rank_causes.cpp
void findThrottling(CaseFacts& facts);
void findSlowRanks(CaseFacts& facts);

// pass_causes.cpp
void findSlowStage(CaseFacts& facts);
void findSequenceImbalance(CaseFacts& facts);
void findExpertImbalance(CaseFacts& facts);

// host_causes.cpp
void findDataLoading(CaseFacts& facts);
void findHostPauses(CaseFacts& facts);
void findWarmUp(CaseFacts& facts);
void findHostBound(CaseFacts& facts);

// link_causes.cpp
void findSlowLinks(CaseFacts& facts);

// transfer_causes.cpp
void findWaiting(CaseFacts& facts);
void findExposedCommunication(CaseFacts& facts);

// device_causes.cpp
void findCopies(CaseFacts& facts);
void findBubble(CaseFacts& facts);
void findSmallKernels(CaseFacts& facts);
Status findLoweredClocks(CaseFacts& facts);

// step_causes.cpp
void findBadSteps(CaseFacts& facts);
/// And failures of the job. Errors: those of jobTime.
Status findStalls(CaseFacts& facts);

// memory_causes.cpp
Status findMemory(CaseFacts& facts);

} // namespace fourwalls::diagnose
