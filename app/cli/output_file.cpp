// SPDX-License-Identifier: Apache-2.0
// Temporary names and renames.
#include "app/cli/output_file.h"

#include "model/base/process_mark.h"
#include "model/store/trace_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace fourwalls::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPartialMark = ".partial-";
constexpr const char* kPreviousMark = ".previous-";

/// A name for this process, which keeps two commands with the same output apart.
std::string besides(const fs::path& target, const std::string& mark)
{
    return (target.parent_path() / ("." + target.filename().string() + mark + processMark())).string();
}

std::string folderOfOutput(const fs::path& target)
{
    return target.has_parent_path() ? target.parent_path().string() : ".";
}

Status checkKind(const fs::path& target, OutputKind kind, const std::string& where)
{
    std::error_code failure;
    if (!fs::is_regular_file(target, failure) || fs::file_size(target, failure) == 0) return {};
    const bool trace = store::looksLikeTrace(target.string());
    if (kind == OutputKind::Trace && !trace)
        return Error{ErrorCode::Io, "something that is not a trace already has this name", where, "another name"};
    if (kind == OutputKind::Other && trace)
        return Error{ErrorCode::Io, "a trace already has this name", where, "another name"};
    return {};
}

} // namespace

Result<PendingOutput> PendingOutput::create(const std::string& path, OutputKind kind,
                                            const std::vector<std::string>& read)
{
    if (path.empty()) return Error{ErrorCode::InvalidArgument, "the name is empty", "-o", "-o FILE"};
    fs::path target(path);
    std::error_code failure;
    const std::string where = "output '" + path + "'";
    if (fs::is_symlink(target, failure)) {
        const fs::path named = fs::canonical(target, failure);
        if (!failure) target = named;
    }
    if (fs::is_other(target, failure))
        return Error{ErrorCode::Io, "a device or pipe cannot be replaced by a file", where, "a file's name"};
    for (const std::string& each : read)
        if (fs::equivalent(each, target, failure) && !failure)
            return Error{ErrorCode::Io, "is what is read", where, "another name"};
    if (target.filename().empty() || fs::is_directory(target, failure)) {
        if (target.filename().empty() || !fs::is_empty(target, failure))
            return Error{ErrorCode::Io, "there is a folder of that name", where, "another name"};
    }
    const fs::path folder = folderOfOutput(target);
    if (!fs::is_directory(folder, failure))
        return Error{ErrorCode::Io, "its folder does not exist", where, "mkdir -p " + folder.string()};
    FOURWALLS_TRY(checkKind(target, kind, where));
    // What processes that are gone left of any output.
    removeAbandoned(folder.string(), kPartialMark);
    const std::string temporary = besides(folder / target.filename(), kPartialMark);
    fs::remove_all(temporary, failure);
    // Said now, and not after the work.
    const int probe = ::open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (probe < 0)
        return Error{ErrorCode::Io, std::string("cannot be created: ") + std::strerror(errno), where,
                     "another folder, or its permissions"};
    ::close(probe);
    fs::remove(temporary, failure);
    return PendingOutput(target.string(), temporary);
}

PendingOutput::PendingOutput(PendingOutput&& other) noexcept
    : m_path(std::move(other.m_path))
    , m_temporary(std::exchange(other.m_temporary, {}))
{}

PendingOutput::~PendingOutput()
{
    if (m_temporary.empty()) return;
    removeTemporary(m_temporary);
}

Status PendingOutput::commit()
{
    std::error_code failure;
    fs::rename(m_temporary, m_path, failure);
    if (failure)
        return Error{ErrorCode::Io, "cannot be put in place: " + failure.message(), "output '" + m_path + "'",
                     "check permissions and free space"};
    m_temporary.clear();
    return {};
}

KeptFile::KeptFile(const std::string& path) : m_path(path)
{
    std::error_code failure;
    if (!fs::is_regular_file(path, failure)) return;
    const fs::path target(path);
    removeAbandoned(folderOfOutput(target), "." + target.filename().string() + kPreviousMark);
    const std::string kept = besides(target, kPreviousMark);
    fs::remove(kept, failure);
    fs::create_hard_link(path, kept, failure);
    if (!failure) m_kept = kept;
}

bool KeptFile::restore()
{
    if (m_kept.empty()) return false;
    std::error_code failure;
    fs::rename(m_kept, m_path, failure);
    if (!failure) m_kept.clear();
    return !failure;
}

void KeptFile::letGo()
{
    if (m_kept.empty()) return;
    std::error_code ignored; // nothing can be done about it here
    fs::remove(m_kept, ignored);
    m_kept.clear();
}

} // namespace fourwalls::cli
