// SPDX-License-Identifier: Apache-2.0
// Bytes of a file to import, unpacked on the way if the file is packed with gzip, zstd, xz or bzip2, or is a page that has a
// memory snapshot in it (told by its first bytes, not by its name).
#pragma once

#include "model/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace fourwalls::importers {

/// A stream of bytes. One thread at a time.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    /// Up to `size` bytes; 0 only at the end. Errors: Io.
    virtual Result<std::size_t> read(char* to, std::size_t size) = 0;
    /// Bytes of the file taken so far, for progress; may be read by another thread.
    virtual std::int64_t position() const = 0;
    /// After the end: why the stream ended before the file said so ("the gzip stream is cut"), or empty.
    virtual std::string damage() const { return {}; }
    /// After the end: bytes behind the last packed member that are neither packed nor padding; they were not read.
    virtual std::int64_t bytesBehind() const { return 0; }
};

enum class Unpacking { All, None };

/// Opens a regular file. Errors: NotFound, Io (directory, device, no permission).
Result<std::unique_ptr<ByteSource>> openByteSource(const std::string& path, Unpacking unpacking = Unpacking::All);

/// The next bytes, up to `size`; fewer only at the end.
Result<std::string> firstBytes(ByteSource& source, std::size_t size);

/// A source of bytes in memory, at most `piece` per read.
std::unique_ptr<ByteSource> memorySource(std::string bytes, std::size_t piece);

/// Size of a file [bytes]; 0 if it cannot be read.
std::int64_t fileBytes(const std::string& path);

} // namespace fourwalls::importers
