// SPDX-License-Identifier: Apache-2.0
// Outputs that appear complete or not at all: written beside their place under another name, then renamed; and the
// old file of that name, which stays until then.
#pragma once

#include "model/base/result.h"

#include <string>
#include <vector>

namespace fourwalls::cli {

/// A trace takes only the place of a trace (or of an empty file), and nothing else takes the place of one.
enum class OutputKind { Trace, Other };

/// A file or folder in the making. What was not committed is removed, after a kill by the next one of that name.
class PendingOutput {
public:
    /// path: where the output shall appear; behind a link, what it points to. read: files that the output is made from.
    /// Errors: Io if nothing can be created there, or if something stands there that is no file, one that is read, or
    /// one of another kind.
    static Result<PendingOutput> create(const std::string& path, OutputKind kind,
                                        const std::vector<std::string>& read = {});

    PendingOutput(PendingOutput&& other) noexcept;
    PendingOutput& operator=(PendingOutput&&) = delete;
    ~PendingOutput();

    /// Where to write until commit; in the same folder as the final place.
    const std::string& temporaryPath() const { return m_temporary; }

    /// Moves the output to its place, replacing a file there (a folder only if it is empty). Errors: Io.
    Status commit();

private:
    PendingOutput(std::string path, std::string temporary) : m_path(std::move(path)), m_temporary(std::move(temporary))
    {}

    std::string m_path, m_temporary;
};

/// Keeps the file that is about to be replaced under a second name until something better has taken its place.
class KeptFile {
public:
    /// path: a file with a journal-free content, or nothing. Where the file system has no second names nothing is kept.
    explicit KeptFile(const std::string& path);
    KeptFile(const KeptFile&) = delete;
    KeptFile& operator=(const KeptFile&) = delete;
    ~KeptFile() { letGo(); }

    /// Puts the kept file back under its name; false if there was none.
    bool restore();
    /// The replacement is good: the old file goes.
    void letGo();

private:
    std::string m_path, m_kept;
};

} // namespace fourwalls::cli
