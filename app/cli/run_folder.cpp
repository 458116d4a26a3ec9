// SPDX-License-Identifier: Apache-2.0
// See run_folder.h.
#include "app/cli/run_folder.h"

#include "app/cli/output_file.h"
#include "model/import/import_registry.h"
#include "model/store/trace_file.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace fourwalls::cli {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t kMostRunFiles = 5000;
constexpr int kDeepestRuns = 3; ///< folders in folders: TensorBoard keeps one for each run
constexpr std::uintmax_t kLargestLog = std::uintmax_t{1} << 31;

std::string tagsPath(const std::string& folder)
{
    return (fs::path(folder) / "runs.tags.json").string();
}

bool isOurs(const fs::path& path)
{
    return path.extension() == ".fourwalls";
}

/// What may be a log by its name: a folder may hold anything else as well.
bool mayBeLog(const fs::path& path)
{
    const std::string name = path.filename().string(), end = path.extension().string();
    return name.find("tfevents") != std::string::npos || end == ".log" || end == ".txt" || end == ".jsonl" ||
           name == "trainer_state.json" || end == ".out";
}

Result<std::vector<fs::path>> filesOf(const std::string& folder, const std::stop_token& stop)
{
    std::error_code failure;
    if (!fs::is_directory(folder, failure))
        return Error{ErrorCode::NotFound, "is no folder", folder, "a folder with traces or training logs"};
    std::vector<fs::path> files;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, failure);
    for (; !failure && at != fs::recursive_directory_iterator(); at.increment(failure)) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", folder, ""};
        const fs::path& path = at->path();
        const bool isHidden = path.filename().string().starts_with('.');
        if (at->is_directory(failure)) {
            if (isHidden || at.depth() >= kDeepestRuns) at.disable_recursion_pending();
            continue;
        }
        if (isHidden || !at->is_regular_file(failure) || !(isOurs(path) || mayBeLog(path))) continue;
        if (files.size() == kMostRunFiles)
            return Error{ErrorCode::Unsupported, "has more than " + std::to_string(kMostRunFiles) + " runs", folder,
                         "a folder with fewer"};
        files.push_back(path);
    }
    if (failure) return Error{ErrorCode::Io, failure.message(), folder, "a folder that can be read"};
    std::sort(files.begin(), files.end());
    return files;
}

Result<compare::RunCurves> readLog(const std::string& path, const std::stop_token& stop)
{
    std::error_code failure;
    if (fs::file_size(path, failure) > kLargestLog || failure)
        return Error{ErrorCode::Unsupported, "is too large for a training log", path, "fourwalls-cli import"};
    importers::ImportOptions options;
    options.stop = stop;
    FOURWALLS_TRY_ASSIGN(const auto listing, importers::listImport({path}, options));
    for (const auto& file : listing.files)
        if (file.format != "TensorBoard event file" && file.format != "training log")
            return Error{ErrorCode::Unsupported, "is no training log", path, ""};
    FOURWALLS_TRY_ASSIGN(const auto import, importers::openImport({path}, options));
    InMemoryTrace trace(import->header());
    FOURWALLS_TRY(import->write(trace, options));
    FOURWALLS_TRY(trace.finish(import->closing()));
    InMemoryTraceQuery query(trace.data());
    return compare::readRunCurves(query, stop);
}

Result<compare::RunCurves> readOne(const fs::path& path, const std::stop_token& stop)
{
    if (!isOurs(path)) return readLog(path.string(), stop);
    FOURWALLS_TRY_ASSIGN(const auto trace, store::openTrace(path.string()));
    return compare::readRunCurves(*trace, stop);
}

} // namespace

Result<RunFolder> readRunFolder(const std::string& folder, const std::function<void(double)>& progress,
                                const std::stop_token& stop)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<fs::path> files, filesOf(folder, stop));
    FOURWALLS_TRY_ASSIGN(const RunTags tags, readRunTags(folder));
    RunFolder found;
    for (std::size_t i = 0; i < files.size(); ++i) {
        progress(static_cast<double>(i) / static_cast<double>(files.size()));
        const std::string file = files[i].lexically_relative(folder).string();
        auto curves = readOne(files[i], stop);
        if (!curves && curves.error().code == ErrorCode::Cancelled) return curves.error();
        if (!curves || curves->points.empty()) {
            found.leftOut.emplace_back(file, curves ? "has no training steps" : curves.error().what);
            continue;
        }
        FolderRun run{file, std::move(*curves)};
        fs::path name(file);
        run.curves.name = isOurs(name) ? name.replace_extension().string() : file;
        if (const auto own = tags.find(file); own != tags.end()) run.curves.tags = own->second;
        found.runs.push_back(std::move(run));
    }
    return found;
}

Result<RunTags> readRunTags(const std::string& folder)
{
    std::ifstream file(tagsPath(folder), std::ios::binary);
    RunTags tags;
    if (!file) return tags;
    const json object = json::parse(file, nullptr, false);
    const Error damaged{ErrorCode::Format, "is no list of tags by file", tagsPath(folder), "repair or remove it"};
    if (!object.is_object()) return damaged;
    for (const auto& [name, list] : object.items()) {
        if (!list.is_array()) return damaged;
        for (const json& tag : list) {
            if (!tag.is_string()) return damaged;
            tags[name].push_back(tag.get<std::string>());
        }
    }
    return tags;
}

Status writeRunTags(const std::string& folder, const RunTags& tags)
{
    FOURWALLS_TRY_ASSIGN(PendingOutput pending, PendingOutput::create(tagsPath(folder), OutputKind::Other));
    json object = json::object();
    for (const auto& [name, list] : tags)
        if (!list.empty()) object[name] = list;
    std::ofstream file(pending.temporaryPath(), std::ios::binary);
    file << object.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
    file.close();
    if (!file) return Error{ErrorCode::Io, "cannot be written", tagsPath(folder), "a folder that can be written"};
    return pending.commit();
}

} // namespace fourwalls::cli
