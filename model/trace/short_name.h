// SPDX-License-Identifier: Apache-2.0
// Names that fit on a bar and into a table and still tell one operator from another.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// What distinguishes an operator, without return type, namespaces and arguments:
/// "train.py(180): main" is "main · train.py:180"; "<built-in method relu of type object at 0x7f>" is "relu · built-in";
/// a kernel keeps its functor and type ("elementwise · add<float>"), CUTLASS's its inner name, NCCL's its operation.
/// detail: OpInfo::detail; of a communication kernel it begins with what was asked for ("all_reduce 23.4 MB; …"), and that
/// counts before the kernel's name. Never empty for a name that is not.
std::string shortName(std::string_view name, std::string_view detail = {});

/// Of the rows of one table, in their order: different names never read the same. Where the short ones would, what
/// differs in the whole names follows.
std::vector<std::string> shortNames(std::span<const std::string> names);

} // namespace fourwalls
