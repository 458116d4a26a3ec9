// SPDX-License-Identifier: Apache-2.0
// The metadata that PyTorch writes with a collective operation, on the operator and since 2023 on the kernel.
#pragma once

#include "model/import/chrome/chrome_event.h"
#include "model/import/common/collective_detail.h"

#include <optional>

namespace fourwalls::importers {

/// Absent if the event carries no such metadata.
std::optional<CollectiveDetail> collectiveDetail(const ChromeEvent& event);

/// What a request says; absent: nothing, or it only waits. kind: of its name.
std::optional<CollectiveDetail> requestDetail(RequestKind kind, const ChromeEvent& event);

} // namespace fourwalls::importers
