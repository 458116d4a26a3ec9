// SPDX-License-Identifier: Apache-2.0
// What the name and the text of an XLA operation say: whether it computes, copies, communicates or only holds others.
#pragma once

#include "model/import/common/collective_detail.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fourwalls::importers {

enum class HloWork : std::uint8_t { Compute, Communication, Copy, Control };

/// name: "all-reduce.3", "%fusion.12 = f32[8]{0} fusion(…)". category: what XLA says of it ("convolution fusion"), or
/// empty. Control: loops, branches and calls, whose operations are listed beside them.
HloWork hloWork(std::string_view name, std::string_view category);

/// Operation, payload and size of the group of a communication as its text tells:
/// "%all-reduce.3 = f32[1024]{0} all-reduce(…), replica_groups={{0,1},{2,3}}".
CollectiveDetail hloCollective(std::string_view text);

} // namespace fourwalls::importers
