// SPDX-License-Identifier: Apache-2.0
// Walking folders and unpacking. Nothing of a member's name decides where its bytes go.
#include "model/import/common/input_files.h"

#include "model/import/common/archive_reader.h"
#include "model/import/common/byte_source.h"
#include "model/import/common/named_profiles.h"
#include "model/import/common/scratch_folder.h"
#include "model/trace/audit_counter.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

namespace fourwalls::importers {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLooked = 200'000; ///< looked at in one folder
constexpr std::size_t kMostFiles = 4096;     ///< taken of one folder or archive
constexpr std::size_t kNamesKept = 100;      ///< of what is left alone
constexpr std::size_t kCopyBytes = std::size_t{1} << 18;
/// An archive may unpack to so many times its size and so many bytes more. Profiles shrink to a thirtieth.
constexpr std::int64_t kMostUnpacking = 200, kAlwaysUnpacked = std::int64_t{1} << 28;
constexpr std::int64_t kLeftFree = std::int64_t{1} << 29; ///< of the disk

/// JSON that profilers write beside their trace, and that is none itself.
constexpr std::array<std::string_view, 6> kSideFiles{"communication.json",    "communication_matrix.json",
                                                     "profiler_info.json",    "profiler_metadata.json",
                                                     "cluster_analysis.json", "communication_group.json"};

bool isSideFile(const std::string& name)
{
    return std::find(kSideFiles.begin(), kSideFiles.end(), name) != kSideFiles.end() ||
           (name.starts_with("profiler_info_") && name.ends_with(".json"));
}

bool isHidden(const std::string& name)
{
    return name.empty() || name[0] == '.';
}

/// A name for messages, which are one line.
std::string printable(std::string name)
{
    for (char& c : name)
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '_';
    return name;
}

Error inputRefused(std::string what, const std::string& where, std::string hint)
{
    return {ErrorCode::Unsupported, std::move(what), where, std::move(hint)};
}

/// "https", "s3" and the like of an address; empty for a path.
std::string_view schemeOf(std::string_view path)
{
    const std::size_t at = path.find("://");
    if (at == std::string_view::npos || at == 0) return {};
    const std::string_view scheme = path.substr(0, at);
    const bool word = std::all_of(scheme.begin(), scheme.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+';
    });
    return word ? scheme : std::string_view();
}

class Inputs {
public:
    Inputs(InputKindOf kindOf, const ImportOptions& options) : m_kindOf(kindOf), m_options(options) {}

    Result<InputFiles> take(const std::vector<std::string>& given)
    {
        for (const std::string& path : given) FOURWALLS_TRY(takeNamed(path, path));
        return std::move(m_inputs);
    }

private:
    Status checkStop(const std::string& where) const
    {
        if (m_options.stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", where, ""};
        return {};
    }

    Status takeNamed(const std::string& path, const std::string& name)
    {
        if (path == "-") return takeStandardInput();
        std::error_code error;
        if (fs::is_directory(path, error)) return takeFolder(path);
        if (const auto parts = memberOf(path)) return takeArchive(parts->first, parts->first, parts->second);
        if (const auto scheme = schemeOf(path); !scheme.empty() && !fs::exists(path, error))
            return inputRefused("an address on the network, and only files are opened", path,
                                scheme == "https" || scheme == "http" ? "download it first: curl -LO '" + path + "'"
                                                                      : "download it first");
        FOURWALLS_TRY_ASSIGN(const auto source, openByteSource(path));
        FOURWALLS_TRY_ASSIGN(const std::string beginning, firstBytes(*source, kInputBeginning));
        if (isArchive(beginning)) return takeArchive(path, name, {});
        m_inputs.files.push_back({path, name, false});
        return {};
    }

    /// ARCHIVE//MEMBER: an archive is no folder, so no file has such a path.
    static std::optional<std::pair<std::string, std::string>> memberOf(const std::string& path)
    {
        std::error_code ignored;
        const std::size_t at = path.find("//", 1);
        if (at == std::string::npos || fs::exists(path, ignored)) return std::nullopt;
        const std::string archive = path.substr(0, at);
        if (!fs::is_regular_file(archive, ignored)) return std::nullopt;
        return std::pair{archive, path.substr(at + 2)};
    }

    Status takeFolder(const std::string& folder)
    {
        FOURWALLS_TRY_ASSIGN(const std::vector<std::string> inside, filesBelow(folder));
        std::vector<InputFile> profiles, reports;
        for (const std::string& path : inside) {
            FOURWALLS_TRY(checkStop(folder));
            const std::string name = fs::path(path).filename().string();
            const auto source = openByteSource(path);
            const auto beginning =
                source.ok() ? firstBytes(**source, kInputBeginning) : Result<std::string>(source.error());
            const bool side = isSideFile(name);
            const InputKind kind = side || !beginning.ok() ? InputKind::Other : m_kindOf(name, *beginning);
            if (kind == InputKind::Profile)
                profiles.push_back({path, path, true});
            else if (kind == InputKind::Report)
                reports.push_back({path, path, true});
            else if (side)
                m_inputs.leaveAlone(path);
            else
                passOver(path, name, beginning.ok() ? *beginning : std::string(),
                         beginning.ok() ? (*source)->damage() : beginning.error().what);
        }
        std::vector<InputFile>& taken = profiles.empty() ? reports : profiles;
        if (!profiles.empty())
            for (const InputFile& report : reports) m_inputs.leaveAlone(report.name);
        if (taken.empty())
            return inputRefused("a folder without profiles that can be imported" + whatWasLost(), folder,
                                "give the folder that holds the files of a run, or the files");
        if (taken.size() > kMostFiles) return tooMany("a folder", folder);
        for (InputFile& file : taken) m_inputs.files.push_back(std::move(file));
        return {};
    }

    Result<std::vector<std::string>> filesBelow(const std::string& folder)
    {
        std::vector<std::string> files;
        std::size_t looked = 0;
        std::error_code error;
        fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
        for (; !error && it != end; it.increment(error)) {
            FOURWALLS_TRY(checkStop(folder));
            if (++looked > kMostLooked)
                return inputRefused("a folder with more than " + std::to_string(kMostLooked) + " files", folder,
                                    "give the folder that holds the files of the run");
            std::error_code ignored;
            const fs::file_status status = it->symlink_status(ignored);
            if (isHidden(it->path().filename().string())) {
                if (fs::is_directory(status)) it.disable_recursion_pending();
            } else if (fs::is_regular_file(status)) {
                files.push_back(it->path().string());
            } else if (!fs::is_directory(status)) {
                m_inputs.leaveAlone(it->path().string());
            }
        }
        if (error) return Error{ErrorCode::Io, "cannot read the folder: " + error.message(), folder, ""};
        std::sort(files.begin(), files.end());
        return files;
    }

    Status takeStandardInput()
    {
        FOURWALLS_TRY_ASSIGN(ScratchFolder * folder, m_inputs.scratchFolder(m_options.scratchFolder));
        FOURWALLS_TRY_ASSIGN(const std::string path, folder->place("standard_input"));
        std::ofstream out(path, std::ios::binary);
        std::vector<char> buffer(kCopyBytes);
        for (;;) {
            FOURWALLS_TRY(checkStop("-"));
            const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
            if (got < 0 && errno == EINTR) continue;
            if (got < 0)
                return Error{ErrorCode::Io, std::string("cannot read: ") + std::strerror(errno), "standard input", ""};
            if (got == 0) break;
            out.write(buffer.data(), got);
        }
        out.close();
        if (!out) return Error{ErrorCode::Io, "standard input could not be kept", path, "make room on the disk"};
        return takeNamed(path, "standard input");
    }

    /// A file of a folder or archive that no importer takes: another file, or a profile that was lost.
    void passOver(const std::string& shown, const std::string& name, const std::string& beginning,
                  const std::string& damage)
    {
        const std::string loss = lossOf(name, beginning, beginning.size() < kInputBeginning, damage);
        if (loss.empty())
            m_inputs.leaveAlone(shown);
        else
            m_inputs.lose(shown, loss);
    }

    std::string whatWasLost() const { return m_inputs.lost.empty() ? std::string() : ": " + m_inputs.lost.front(); }

    static Error tooMany(const std::string& what, const std::string& where)
    {
        return inputRefused(what + " with more than " + std::to_string(kMostFiles) + " profiles", where,
                            "give the files of one run");
    }

    /// only: the one member that is wanted; empty: all.
    Status takeArchive(const std::string& path, const std::string& name, const std::string& only)
    {
        FOURWALLS_TRY_ASSIGN(const auto archive, ArchiveReader::open(path));
        FOURWALLS_TRY_ASSIGN(ScratchFolder * folder, m_inputs.scratchFolder(m_options.scratchFolder));
        m_checkpoint = false;
        m_room = kAlwaysUnpacked + kMostUnpacking * std::max<std::int64_t>(fileBytes(path), 1);
        const std::size_t before = m_inputs.files.size();
        while (const auto member = archive->next()) {
            FOURWALLS_TRY(checkStop(name));
            const std::string shown = name + "//" + printable(*member);
            const std::string file = fs::path(*member).filename().string();
            m_checkpoint = m_checkpoint || file == "data.pkl"; // as torch.save names it
            if (only.empty() ? isHidden(file) : *member != only) continue;
            if (only.empty() && isSideFile(file)) {
                m_inputs.leaveAlone(shown);
                continue;
            }
            if (m_inputs.files.size() - before >= kMostFiles) return tooMany("an archive", name);
            FOURWALLS_TRY(takeMember(*archive, *folder, name, *member, shown, only.empty()));
        }
        if (archive->hasTooMany())
            return inputRefused("an archive with more than " + std::to_string(ArchiveReader::kMostEntries) + " files",
                                name, "unpack it and give some of them");
        noteArchive(*archive, name);
        if (m_inputs.files.size() > before) return {};
        if (!only.empty())
            return Error{ErrorCode::NotFound, "no such file in the archive", name + "//" + printable(only),
                         "check the archive"};
        std::string why = whatWasLost();
        if (archive->encrypted() > 0) why = ": its files have a password";
        if (!archive->damage().empty()) why = ": " + archive->damage();
        if (m_checkpoint)
            return inputRefused("a checkpoint (torch.save), which holds weights and no profile", name,
                                "record one: torch.profiler.profile, or fourwalls-cli record -- COMMAND");
        return inputRefused("an archive without profiles that can be imported" + why, name,
                            "unpack it and look inside");
    }

    void noteArchive(const ArchiveReader& archive, const std::string& name)
    {
        if (!archive.damage().empty()) noteDamage(name + ": " + archive.damage() + "; what follows is lost");
        if (m_damage.count > 0) m_inputs.notes.push_back(std::exchange(m_damage, {}));
        if (archive.encrypted() > 0)
            m_inputs.notes.push_back(auditRecord(AuditCounter::ArchiveFilesWithPassword, archive.encrypted(), name));
        if (archive.links() > 0)
            m_inputs.notes.push_back(auditRecord(AuditCounter::ArchiveLinks, archive.links(), name + ": left alone"));
    }

    void noteDamage(std::string detail)
    {
        if (m_damage.count == 0) m_damage = auditRecord(AuditCounter::ArchiveDamaged, 0, std::move(detail));
        ++m_damage.count;
    }

    /// Unpacks a member if it is wanted.
    Status takeMember(ArchiveReader& archive, ScratchFolder& folder, const std::string& path, const std::string& member,
                      const std::string& shown, bool found)
    {
        std::string beginning(kInputBeginning, '\0');
        std::size_t size = 0;
        while (size < beginning.size()) {
            const std::size_t got = archive.read(beginning.data() + size, beginning.size() - size);
            if (got == 0) break;
            size += got;
        }
        beginning.resize(size);
        if (found) {
            const auto source = memorySource(beginning, kInputBeginning);
            FOURWALLS_TRY_ASSIGN(const std::string unpacked, firstBytes(*source, kInputBeginning));
            if (m_kindOf(member, unpacked) != InputKind::Profile) {
                // Of a longer member only the beginning was looked at: its packed stream seems cut.
                passOver(shown, member, unpacked, size < kInputBeginning ? source->damage() : std::string());
                return {};
            }
        }
        FOURWALLS_TRY_ASSIGN(const std::string to, folder.place(member));
        std::error_code error;
        const fs::space_info space = fs::space(folder.path(), error);
        std::int64_t free = error ? m_room : static_cast<std::int64_t>(space.available) - kLeftFree;
        std::ofstream out(to, std::ios::binary);
        std::vector<char> buffer(kCopyBytes);
        buffer.assign(beginning.begin(), beginning.end());
        while (size > 0) {
            FOURWALLS_TRY(checkStop(path));
            m_room -= static_cast<std::int64_t>(size);
            free -= static_cast<std::int64_t>(size);
            if (m_room < 0)
                return inputRefused("an archive that unpacks to more than " + std::to_string(kMostUnpacking) +
                                        " times its size",
                                    path, "unpack it yourself if you trust it");
            if (free < 0)
                return Error{ErrorCode::Io, "too little room on the disk to unpack the archive", path,
                             "write the trace to another disk"};
            out.write(buffer.data(), static_cast<std::streamsize>(size));
            buffer.resize(kCopyBytes);
            size = archive.read(buffer.data(), buffer.size());
        }
        out.close();
        if (!out) return Error{ErrorCode::Io, "the archive could not be unpacked", path, "make room on the disk"};
        if (!archive.damage().empty()) noteDamage(shown + ": " + archive.damage());
        m_inputs.files.push_back({to, shown, found});
        return {};
    }

    InputKindOf m_kindOf;
    const ImportOptions& m_options;
    InputFiles m_inputs;
    AuditRecord m_damage;      ///< of the archive being read
    bool m_checkpoint = false; ///< it is one of PyTorch
    std::int64_t m_room = 0;   ///< bytes that the archive may still unpack to
};

} // namespace

std::vector<std::string> InputFiles::paths() const
{
    std::vector<std::string> paths;
    paths.reserve(files.size());
    for (const InputFile& file : files) paths.push_back(file.path);
    return paths;
}

void InputFiles::leaveAlone(std::string name)
{
    ++leftAloneCount;
    if (leftAlone.size() < kNamesKept) leftAlone.push_back(printable(std::move(name)));
}

void InputFiles::lose(const std::string& name, const std::string& why)
{
    ++lostCount;
    if (lost.size() < kNamesKept) lost.push_back(printable(name + ": " + why));
}

Result<ScratchFolder*> InputFiles::scratchFolder(const std::string& within)
{
    if (!scratch) {
        FOURWALLS_TRY_ASSIGN(scratch, ScratchFolder::create(within));
    }
    return scratch.get();
}

Error InputFiles::named(Error error) const
{
    for (const InputFile& file : files) {
        if (file.path == file.name) continue;
        for (std::string* text : {&error.where, &error.what, &error.hint})
            for (std::size_t at = text->find(file.path); at != std::string::npos;
                 at = text->find(file.path, at + file.name.size()))
                text->replace(at, file.path.size(), file.name);
    }
    return error;
}

Result<InputFiles> inputFiles(const std::vector<std::string>& given, InputKindOf kindOf, const ImportOptions& options)
{
    return Inputs(kindOf, options).take(given);
}

} // namespace fourwalls::importers
