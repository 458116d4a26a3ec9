// SPDX-License-Identifier: Apache-2.0
// Streams packed with zstd, xz or bzip2, unpacked on the way by libarchive. (gzip has a quicker way: gzip_member.h.)
#pragma once

#include "model/import/common/byte_source.h"

#include <memory>
#include <string_view>

namespace fourwalls::importers {

/// Whether bytes are the first ones (at least six) of such a stream.
bool isPackedStream(std::string_view beginning);

/// The unpacked bytes. packed: from its beginning. A stream that is cut or damaged ends there and says so (damage()).
std::unique_ptr<ByteSource> unpackStream(std::unique_ptr<ByteSource> packed);

} // namespace fourwalls::importers
