// SPDX-License-Identifier: Apache-2.0
// A private folder for what had to be unpacked or converted. It is removed with its owner; folders of programs that were
// killed are removed by the next one.
#pragma once

#include "model/base/result.h"

#include <cstddef>
#include <memory>
#include <string>

namespace fourwalls::importers {

class ScratchFolder {
public:
    /// within: where; empty: the system's folder for temporary files. Errors: Io.
    static Result<std::shared_ptr<ScratchFolder>> create(const std::string& within);
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::string& path() const { return m_path; }

    /// A new path in here for a member of that name: its last three parts are kept, since they may name a rank, without
    /// what could lead out of this folder. Errors: Io.
    Result<std::string> place(const std::string& member);

private:
    explicit ScratchFolder(std::string path) : m_path(std::move(path)) {}
    std::string m_path;
    std::size_t m_places = 0;
};

} // namespace fourwalls::importers
