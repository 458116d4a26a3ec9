// SPDX-License-Identifier: Apache-2.0
// Pages of PyTorch's memory viewer (torch.cuda._memory_viz trace_plot and segment_plot, MemoryViz.js): the snapshot that
// they show is in them, as text in base 64.
#pragma once

#include "model/import/common/byte_source.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace fourwalls::importers {

/// How far a page is looked at for its snapshot [bytes].
inline constexpr std::size_t kMemoryPageStart = 4096;

/// Where in a page the text of its snapshot begins; absent: it is no such page. beginning: of the file.
std::optional<std::size_t> snapshotInPage(std::string_view beginning);

/// The snapshot's bytes. text: from where they begin, in base 64 up to a quotation mark. Where it ends before, or has other
/// characters, damage() says so.
std::unique_ptr<ByteSource> decodedPage(std::unique_ptr<ByteSource> text);

} // namespace fourwalls::importers
